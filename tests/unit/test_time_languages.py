"""Another language is another file: the commonest forms of German, read by the same grammar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from table import every_row
from time_expressions import rules_of

from hindsight_integrations.language.times.finding import find_event_time, find_window

TIME_RULES = rules_of("de")

JUNE = datetime(2024, 6, 12, 10, 15, tzinfo=UTC)  # a Wednesday

ROWS = [
    ("Was habe ich gestern gemacht?", "2024-06-11", "2024-06-11"),
    ("Was haben wir vorgestern besprochen?", "2024-06-10", "2024-06-10"),
    ("Wen habe ich letzte Woche getroffen?", "2024-06-03", "2024-06-09"),
    ("Was war letzten Monat?", "2024-05-01", "2024-05-31"),
    ("Was habe ich im letzten Jahr gekauft?", "2023-01-01", "2023-12-31"),
    ("Wer kam vor drei Tagen?", "2024-06-09", "2024-06-09"),
    ("Was geschah vor zwei Wochen?", "2024-05-27", "2024-06-02"),
    ("Was lief vor ein paar Monaten?", "2024-01-12", "2024-04-12"),
    ("Was war im Mai?", "2024-05-01", "2024-05-31"),
    ("Wer zog im Juni 2023 um?", "2023-06-01", "2023-06-30"),
    ("Was war 2019?", "2019-01-01", "2019-12-31"),
    ("Was geschah im Jahr 2019?", "2019-01-01", "2019-12-31"),
    ("Was habe ich seit März gelernt?", "2024-03-01", "2024-06-12"),
    ("Was galt vor 2020?", "0001-01-01", "2019-12-31"),
    ("Was kam nach dem 3. Mai 2023?", "2023-05-04", "9999-12-31"),
    ("Was lief zwischen März und Mai 2024?", "2024-03-01", "2024-05-31"),
    ("Was haben wir im Sommer 2022 gebaut?", "2022-06-01", "2022-08-31"),
    ("Wohin fuhren wir letzten Sommer?", "2023-06-01", "2023-08-31"),
    ("Was haben wir am letzten Wochenende getan?", "2024-06-08", "2024-06-09"),
    ("Was kam am 8.5.2023?", "2023-05-08", "2023-05-08"),
    ("Was war am 13. Juli 2023?", "2023-07-13", "2023-07-13"),
    ("Was geschah am Montag?", "2024-06-10", "2024-06-10"),
    ("Was wird am Freitag passieren?", "2024-06-14", "2024-06-14"),
    ("Wo war ich Anfang 2023?", "2023-01-01", "2023-03-31"),
    ("Was war Ende Mai?", "2024-05-21", "2024-05-31"),
    ("Wer kam an Weihnachten 2023?", "2023-12-25", "2023-12-25"),
    ("Was haben wir in den letzten 30 Tagen verkauft?", "2024-05-13", "2024-06-12"),
    ("Was mochte man in den 90ern?", "1990-01-01", "1999-12-31"),
    ("Was taten wir zwei Wochen vor Weihnachten 2023?", "2023-12-11", "2023-12-17"),
    ("Was war vom 3. bis 5. Mai 2023?", "2023-05-03", "2023-05-05"),
    ("Wo war ich von 2015 bis 2018?", "2015-01-01", "2018-12-31"),
    ("Was war im dritten Quartal 2023?", "2023-07-01", "2023-09-30"),
    ("Was gilt bis Ende 2022?", "0001-01-01", "2022-12-31"),
]
NO_TIMES = [
    "Was macht sie jeden Montag?",
    "Wie heißt das Lied September?",
    "Kennst du August?",
    "Wie viele der 2000 Leute kamen?",
    "Was war am 31. Februar 2020?",
    "Did the battery last 3 days?",
]


@every_row(("text", "first", "last"), ROWS)
def test_german_questions(text: str, first: str, last: str) -> None:
    """A German question is restricted to the days it names."""
    window = find_window(text, JUNE, rules=TIME_RULES)
    assert window is not None
    end = window.interval.end - timedelta(microseconds=1)
    assert (window.interval.start.date().isoformat(), end.date().isoformat()) == (first, last)


@every_row("text", NO_TIMES)
def test_german_questions_without_a_time(text: str) -> None:
    """Habits, names, quantities and impossible dates are not times in German either."""
    assert find_window(text, JUNE, rules=TIME_RULES) is None


def test_a_part_of_the_day_is_hours() -> None:
    """Yesterday evening is from 17 to 24 o'clock."""
    window = find_window("Was aß ich gestern Abend?", JUNE, rules=TIME_RULES)
    assert window is not None
    assert window.interval.start == datetime(2024, 6, 11, 17, tzinfo=UTC)


def test_statements_date_their_event_in_german() -> None:
    """The event of a German statement is dated by its words."""
    window = find_event_time("Gestern habe ich Tomaten gepflanzt.", JUNE, rules=TIME_RULES)
    assert window is not None
    assert window.interval.start == datetime(2024, 6, 11, tzinfo=UTC)
