"""Exact arithmetic over records: one value, with everything that entered it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.model.exact_sums import WIDE, total
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.text.records import unit_of
from hindsight_integrations.text.units import converted, same_measure


def aggregate(entries: Sequence[RecordEntry], how: Aggregation, *, other: bool = True) -> Aggregate:
    """One value over records, in Decimal arithmetic.

    Values in several units that measure the same ("km" and "mi") are converted exactly into the one that most of them
    have, the first in time where several do.

    Args:
        entries: the records, in order of time.
        how: sum, count, mean, min, max or last.
        other: records of kind OTHER enter as well.

    Raises:
        InvalidRequest: numbers that measure different things would be added or compared.
    """
    meant = [entry for entry in entries if other or entry.record.kind != RecordKind.OTHER]
    value: Decimal | str | None
    unit = ""
    converted: tuple[str, ...] = ()
    if how == Aggregation.COUNT:
        entered, value = meant, Decimal(len(meant))
    elif how == Aggregation.LAST:
        entered = meant[-1:]
        value = entered[0].record.value if entered else None
        unit = unit_of(entered[0].record) if entered else ""
    else:
        entered = [entry for entry in meant if isinstance(entry.record.value, Decimal)]
        with localcontext(WIDE):
            unit, converted, values = _in_one_unit(entered)
            value = COMPUTE[how](values)
        meant = entered
    used = {id(entry) for entry in meant}  # two records may be equal
    return Aggregate(
        value,
        unit,
        memories_of(entered),
        memories_of([entry for entry in entries if id(entry) not in used]),
        tuple(sorted({entry.record.stated or entry.record.category for entry in entered} - {""})),
        converted,
    )


def memories_of(entries: Sequence[RecordEntry]) -> tuple[MemoryUnit, ...]:
    """The memories the records stand in, each once, in order."""
    return tuple({entry.memory.id: entry.memory for entry in entries}.values())


def _in_one_unit(entries: Sequence[RecordEntry]) -> tuple[str, tuple[str, ...], list[Decimal]]:
    """The unit most of the numbers have, the units that were converted into it, and the numbers in it."""
    units = [unit_of(entry.record) for entry in entries]
    counted = Counter(units)
    wanted = max(counted, key=lambda unit: counted[unit], default="")
    if len({same_measure(unit) for unit in counted}) > 1:
        raise InvalidRequest(
            "records",
            f"their values are in {', '.join(sorted(unit or '(no unit)' for unit in counted))}",
            f"Pass unit={wanted!r} or another of them, or narrow kind or category.",
        )
    values = [
        converted(entry.record.value, unit, wanted)
        for entry, unit in zip(entries, units, strict=True)
        if isinstance(entry.record.value, Decimal)
    ]
    return wanted, tuple(sorted(counted.keys() - {wanted})), values


def mean(values: Sequence[Decimal]) -> Decimal | None:
    """The arithmetic mean; None of none."""
    return total(values) / len(values) if values else None


COMPUTE: Mapping[Aggregation, Callable[[Sequence[Decimal]], Decimal | None]] = {
    Aggregation.SUM: total,
    Aggregation.MEAN: mean,
    Aggregation.MIN: lambda values: min(values, default=None),
    Aggregation.MAX: lambda values: max(values, default=None),
}
