"""Sums of extreme values are exact or omitted."""

from __future__ import annotations

from decimal import Decimal

from table import every_row

from hindsight_integrations.model.aggregates import exact_sum


@every_row(
    ("values", "total"),
    [
        ([], "0"),
        (["0.1", "0.2"], "0.3"),
        (["-5", "3"], "-2"),
        (["1e30", "0.10", "2"], "1000000000000000000000000000002.10"),
        (["1e30", "-1e30", "0.01"], "0.01"),
        (["1e400", "0.1"], None),
    ],
)
def test_no_digit_of_a_sum_is_lost(values: list[str], total: str | None) -> None:
    """A huge value and cents keep the cents; if that takes hundreds of digits there is no sum."""
    found = exact_sum([Decimal(value) for value in values])
    assert found == (None if total is None else Decimal(total))
