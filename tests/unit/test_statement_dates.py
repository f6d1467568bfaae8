"""The time of an event without a year: with a past-tense verb in the past, else in the future; in doubt there is none."""

from __future__ import annotations

from datetime import UTC, datetime

from table import every_row

from hindsight_integrations.language.dates import event_time
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.time import LocalDates

SAID = datetime(2025, 11, 26, 10, tzinfo=UTC)  # a Wednesday

ROWS = [
    ("en", "I have a dentist appointment on December 3.", "2025-12-03"),
    ("en", "Dentist on December 3 at 9.", "2025-12-03"),
    ("en", "My flight leaves on 2 December at 7:15.", "2025-12-02"),
    ("en", "The concert is on January 15.", "2026-01-15"),
    ("en", "Please book a table for Friday.", "2025-11-28"),
    ("en", "December 3: pick up the cake.", "2025-12-03"),
    ("en", "My appointment is on the 28th.", "2025-11-28"),
    ("en", "I was told that the meeting is on Friday.", "2025-11-28"),
    ("en", "I met Anna on 5 December.", "2024-12-05"),
    ("en", "We went to Rome in December.", "2024-12-01"),
    ("en", "On Saturday we hiked up the hill.", "2025-11-22"),
    ("en", "The party on Saturday was great.", "2025-11-22"),
    ("en", "My mother turned 70 on March 3.", "2025-03-03"),
    ("en", "Yesterday I bought a kayak.", "2025-11-25"),
    ("en", "The exam: 2025-12-05.", "2025-12-05"),
    ("en", "I bought a dress for the wedding on December 3.", None),
    ("en", "I booked a table for Friday.", "2025-11-28"),
    ("en", "Coffee on Monday: 4.20.", None),
    ("en", "I get paid on the 25th.", None),
    ("en", "I play tennis on Tuesdays.", None),
    ("de", "Zahnarzt am 3. Dezember.", "2025-12-03"),
    ("de", "Die Prüfung ist am Freitag.", "2025-11-28"),
    ("de", "Ich habe Anna am 3. Dezember getroffen.", "2024-12-03"),
    ("de", "Am Montag war ich beim Arzt.", "2025-11-24"),
    ("de", "Der Vertrag endete am 31. Juli.", "2025-07-31"),
    ("es", "Dentista el 3 de diciembre.", "2025-12-03"),
    ("es", "El concierto es el 15 de enero.", "2026-01-15"),
    ("es", "Vi a Ana el lunes.", "2025-11-24"),
    ("es", "Fui a Roma en diciembre.", "2024-12-01"),
    ("es", "Reservé una mesa para el viernes.", None),
]


@every_row(("language", "statement", "day"), ROWS)
def test_a_statement_is_dated_by_its_verb(language: str, statement: str, day: str | None) -> None:
    found = event_time(statement, SAID, LocalDates(UTC), [LANGUAGES[language]])
    assert (found and f"{found.start:%Y-%m-%d}") == day
