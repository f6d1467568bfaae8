"""Timestamps in the formats of chat exports."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.language.dates import parse_timestamp
from hindsight_integrations.model.time import DateOrder
from hindsight_integrations.validation.limits import checked_moment

WRITTEN = [
    ("2023-05-08T13:56:04+02:00", None, "2023-05-08T13:56:04+02:00"),
    ("2023-05-30 21:48:05 UTC", None, "2023-05-30T21:48:05+00:00"),
    ("1:56 pm on 8 May, 2023", None, "2023-05-08T13:56:00"),
    ("12:05 am on 8 May, 2023", None, "2023-05-08T00:05:00"),
    ("May 8, 2023 1:56 PM", None, "2023-05-08T13:56:00"),
    ("Monday, May 8, 2023 at 1:56 PM", None, "2023-05-08T13:56:00"),
    ("Tue, 30 May 2023 21:48:00 +0000", None, "2023-05-30T21:48:00+00:00"),
    ("8. Mai 2023 um 13:56 Uhr", None, "2023-05-08T13:56:00"),
    ("2023/05/30 (Tue) 21:48", None, "2023-05-30T21:48:00"),
    ("2023/05/08(月) 13:56", None, "2023-05-08T13:56:00"),
    ("[12/31/23, 9:41:05 PM]", None, "2023-12-31T21:41:05"),
    ("[12/31/23, 9:41:05\u202fPM]", None, "2023-12-31T21:41:05"),
    ("12/31/23, 9:41 PM - ", None, "2023-12-31T21:41:00"),
    ("20 Nov 2026 3pm", None, "2026-11-20T15:00:00"),
    ("12 pm on 20 November 2026", None, "2026-11-20T12:00:00"),
    ("2026-11-20 10:00 PST", None, "2026-11-20T10:00:00-08:00"),
    ("2026-11-20 10:00 America/New_York", None, "2026-11-20T10:00:00-05:00"),
    ("2026-11-20T10:00+01:00[Europe/Berlin]", None, "2026-11-20T10:00:00+01:00"),
    ("FRI 20 Nov 2026 10:00", None, "2026-11-20T10:00:00"),
    ("31/12/2023", None, "2023-12-31T00:00:00"),
    ("12/31/2023", None, "2023-12-31T00:00:00"),
    ("31/12/2023", DateOrder.MDY, "2023-12-31T00:00:00"),
    ("5/5/2023 1:02 AM", None, "2023-05-05T01:02:00"),
    ("08.05.23, 13:56", DateOrder.DMY, "2023-05-08T13:56:00"),
    ("05/08/2023 1:56 PM", DateOrder.MDY, "2023-05-08T13:56:00"),
    ("23.05.08 13:56", DateOrder.YMD, "2023-05-08T13:56:00"),
    ("\u200e[31.12.23, 21:41:05]", DateOrder.DMY, "2023-12-31T21:41:05"),
]  # fmt: skip
AMBIGUOUS = ["05/06/2023", "08.05.23, 13:56", "[05/06/23, 9:41:05 PM]", "31/12/23"]
UNREADABLE = [
    "soon",
    "2026-11-20 10:00 CST",
    "2026-11-20 10:00 Nowhere/Land",
    "10:30",
    "May 2023",
    "31 February 2023",
    "13:30 pm on 8 May, 2023",
    "1.2.3.4",
    "Sat 8:05",
    "",
]


@every_row(("text", "order", "moment"), WRITTEN)
def test_exported_timestamps_are_read(text: str, order: DateOrder | None, moment: str) -> None:
    """An exported timestamp is parsed to its time, with its zone if it has one."""
    found = parse_timestamp(text, date_order=order)
    assert found is not None
    assert found.isoformat() == moment


@every_row("text", AMBIGUOUS)
def test_an_ambiguous_order_is_never_guessed(text: str) -> None:
    """An ambiguous order raises an error that names the setting."""
    assert parse_timestamp(text, date_order=None) is None
    with pytest.raises(InvalidRequest, match="date_order"):
        checked_moment(text, "timestamp")
    assert checked_moment(text, "timestamp", date_order=DateOrder.DMY) is not None


@every_row("text", UNREADABLE)
def test_what_names_no_moment_is_refused(text: str) -> None:
    """Partial or impossible dates and other numbers are rejected in any order."""
    assert not any(parse_timestamp(text, date_order=order) for order in (None, *DateOrder))
    with pytest.raises(InvalidRequest, match="cannot be read as a time"):
        checked_moment(text, "timestamp")


@given(st.text(max_size=120))
def test_arbitrary_text_never_raises(text: str) -> None:
    """Any string gives a time or None."""
    parse_timestamp(text, date_order=DateOrder.DMY)


@given(st.datetimes().filter(lambda moment: moment.year > 1000), st.sampled_from(DateOrder))
def test_what_is_written_in_an_order_is_read_in_it(moment: datetime, order: DateOrder) -> None:
    """A date written in an order is read back in that order; without the order it is the same or None."""
    figures = {"d": f"{moment:%d}", "m": f"{moment:%m}", "y": f"{moment:%Y}"}
    text = f"{'/'.join(figures[part] for part in order.value)}, {moment:%H:%M}"
    written = moment.replace(second=0, microsecond=0)
    assert parse_timestamp(text, date_order=order) == written
    assert parse_timestamp(text) in {None, written}
