"""Questions over records: what they want is recognised for sure or not at all, in English, German and Spanish."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from table import every_row

from hindsight_integrations.model.record_answers import Bound, RecordOperation, RecordQuestion, Standing
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import Granule, LocalDates, Weekday
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.record_questions import record_question

NOW = datetime(2025, 6, 7, 20, tzinfo=UTC)  # a Saturday
EXPENSE, QUANTITY = RecordKind.EXPENSE, RecordKind.QUANTITY
O = RecordOperation  # noqa: E741


def category(kind: RecordKind, name: str, *units: str) -> RecordCategory:
    return RecordCategory(kind, name, (name,), 5, units)


BANK = [
    *(category(EXPENSE, name, "EUR") for name in ("coffee", "lunch", "groceries", "rent", "books")),
    category(QUANTITY, "steps", "steps"),
    category(QUANTITY, "running", "km", "mi"),
    category(QUANTITY, "sleep", "h"),
    category(QUANTITY, "weight", "kg"),
    category(QUANTITY, "pages", "pages"),
    category(RecordKind.INCOME, "salary", "EUR"),
    category(RecordKind.EVENT, "concert"),
]


def understood(
    text: str,
    *,
    moment: datetime = NOW,
    categories: list[RecordCategory] | None = None,
    week_starts: Weekday = Weekday.MONDAY,
) -> RecordQuestion | None:
    return record_question(
        text,
        moment,
        dates=LocalDates(UTC, week_starts=week_starts),
        languages=tuple(LANGUAGES.values()),
        categories=BANK if categories is None else categories,
    )


RECOGNISED = [
    # English
    ("How much did I spend on coffee in May?", O.TOTAL, EXPENSE, ("coffee",)),
    ("What is my total food spending this week?", O.TOTAL, EXPENSE, ("coffee", "lunch", "groceries")),
    ("how much have i paid for books this month", O.TOTAL, EXPENSE, ("books",)),
    ("What did I spend on lunch yesterday?", O.TOTAL, EXPENSE, ("lunch",)),
    ("How much did I spend in May?", O.TOTAL, EXPENSE, ()),
    ("How many euros did I spend on lunch in May?", O.TOTAL, EXPENSE, ("lunch",)),
    ("How many total steps have I taken this week?", O.TOTAL, QUANTITY, ("steps",)),
    ("Could you tell me how many kilometres I ran in May?", O.TOTAL, QUANTITY, ("running",)),
    ("How far did I run last week?", O.TOTAL, QUANTITY, ("running",)),
    ("How long did I sleep this week?", O.TOTAL, QUANTITY, ("sleep",)),
    ("How many pages did I read in May?", O.TOTAL, QUANTITY, ("pages",)),
    ("What was my step count yesterday?", O.TOTAL, QUANTITY, ("steps",)),
    ("How much did I earn in May?", O.TOTAL, RecordKind.INCOME, ()),
    ("coffee total may", O.TOTAL, EXPENSE, ("coffee",)),
    ("How many coffees did I buy last week?", O.COUNT, EXPENSE, ("coffee",)),
    ("How often did I buy coffee in May?", O.COUNT, EXPENSE, ("coffee",)),
    ("How many runs did I do in May?", O.COUNT, QUANTITY, ("running",)),
    ("How many tasks do I have?", O.COUNT, RecordKind.TASK, ()),
    ("What's my average daily step count this month?", O.AVERAGE, QUANTITY, ("steps",)),
    ("On average, how many steps do I walk per day?", O.AVERAGE, QUANTITY, ("steps",)),
    ("What do I spend on average per coffee?", O.AVERAGE, EXPENSE, ("coffee",)),
    ("When did I last buy coffee?", O.LATEST, EXPENSE, ("coffee",)),
    ("How much was my last coffee?", O.LATEST, EXPENSE, ("coffee",)),
    ("What was my most recent lunch purchase?", O.LATEST, EXPENSE, ("lunch",)),
    ("List my coffee purchases this week.", O.LIST, EXPENSE, ("coffee",)),
    ("What did I buy on Monday?", O.LIST, EXPENSE, ()),
    ("What's still open on my to-do list?", O.LIST, RecordKind.TASK, ()),
    ("Which day this week did I walk the most steps?", O.MOST, QUANTITY, ("steps",)),
    ("Which week of May had the highest coffee spending?", O.MOST, EXPENSE, ("coffee",)),
    ("On which day in May did I spend the least on coffee?", O.LEAST, EXPENSE, ("coffee",)),
    ("What is the most I spent on coffee in a day?", O.MOST, EXPENSE, ("coffee",)),
    ("Am I meeting my coffee budget goal?", O.GOAL, EXPENSE, ("coffee",)),
    ("Am I meeting my daily step goal?", O.GOAL, QUANTITY, ("steps",)),
    ("Did I stay within my coffee budget last week?", O.GOAL, EXPENSE, ("coffee",)),
    ("How many days in May did I reach my step goal?", O.PERIODS, QUANTITY, ("steps",)),
    ("In how many weeks did I go over my coffee budget?", O.PERIODS, EXPENSE, ("coffee",)),
    ("On how many days did I walk more than 10,000 steps in May?", O.PERIODS, QUANTITY, ("steps",)),
    ("how much for rent in may", O.TOTAL, EXPENSE, ("rent",)),
    ("steps yesterday?", O.TOTAL, QUANTITY, ("steps",)),
    ("How many cups of coffee did I buy this week?", O.COUNT, EXPENSE, ("coffee",)),
    ("Which runs did I do in May?", O.LIST, QUANTITY, ("running",)),
    ("Which week in May was the most expensive?", O.MOST, EXPENSE, ()),
    ("Did my coffee spending exceed my budget this week?", O.GOAL, EXPENSE, ("coffee",)),
    ("How often did I miss my step goal in May?", O.PERIODS, QUANTITY, ("steps",)),
    ("On how many days did I run at least 5 km in May?", O.PERIODS, QUANTITY, ("running",)),
    # German
    ("Wie viele Schritte bin ich im Mai insgesamt gelaufen?", O.TOTAL, QUANTITY, ("steps",)),
    ("Wie viel hat mein letzter Kaffee gekostet?", O.LATEST, EXPENSE, ("coffee",)),
    ("Wofür habe ich am Montag Geld ausgegeben?", O.LIST, EXPENSE, ()),
    ("Wie viel habe ich im Durchschnitt für ein Mittagessen bezahlt?", O.AVERAGE, EXPENSE, ("lunch",)),
    ("Wie viel habe ich diese Woche für Kaffee ausgegeben?", O.TOTAL, EXPENSE, ("coffee",)),
    ("Wie hoch waren meine Lebensmittelausgaben im Mai?", O.TOTAL, EXPENSE, ("groceries",)),
    ("Wie viele Schritte bin ich diese Woche gegangen?", O.TOTAL, QUANTITY, ("steps",)),
    ("Wie viele Kilometer bin ich im Mai gelaufen?", O.TOTAL, QUANTITY, ("running",)),
    ("Kannst du mir bitte sagen, wie viel ich im Mai für Miete bezahlt habe?", O.TOTAL, EXPENSE, ("rent",)),
    ("Wie oft habe ich im Mai Kaffee gekauft?", O.COUNT, EXPENSE, ("coffee",)),
    ("Wie viele Schritte mache ich im Schnitt pro Tag?", O.AVERAGE, QUANTITY, ("steps",)),
    ("Wann habe ich zuletzt Kaffee gekauft?", O.LATEST, EXPENSE, ("coffee",)),
    ("Liste alle Ausgaben für Bücher im Mai auf.", O.LIST, EXPENSE, ("books",)),
    ("Was steht auf meiner Aufgabenliste?", O.LIST, RecordKind.TASK, ()),
    ("An welchem Tag im Mai habe ich am meisten für Kaffee ausgegeben?", O.MOST, EXPENSE, ("coffee",)),
    ("In welcher Woche bin ich am weitesten gelaufen?", O.MOST, QUANTITY, ("running",)),
    ("Halte ich mein Kaffeebudget ein?", O.GOAL, EXPENSE, ("coffee",)),
    ("Habe ich mein Schrittziel gestern erreicht?", O.GOAL, QUANTITY, ("steps",)),
    ("An wie vielen Tagen im Mai habe ich mein Schrittziel verfehlt?", O.PERIODS, QUANTITY, ("steps",)),
    # Spanish
    ("¿Cuánto gasté en café esta semana?", O.TOTAL, EXPENSE, ("coffee",)),
    ("¿Cuántos pasos di ayer?", O.TOTAL, QUANTITY, ("steps",)),
    ("¿Cuántas veces compré café en mayo?", O.COUNT, EXPENSE, ("coffee",)),
    ("¿En qué día gasté más en café esta semana?", O.MOST, EXPENSE, ("coffee",)),
    ("¿He cumplido mi objetivo de pasos?", O.GOAL, QUANTITY, ("steps",)),
    ("¿En cuántos días de mayo alcancé mi objetivo de pasos?", O.PERIODS, QUANTITY, ("steps",)),
]


@every_row(("text", "operation", "kind", "categories"), RECOGNISED)
def test_a_question_is_understood(
    text: str, operation: RecordOperation, kind: RecordKind, categories: tuple[str, ...]
) -> None:
    found = understood(text)
    assert found is not None
    assert (found.operation, found.kind, found.categories) == (operation, kind, categories)


DECLINED = [
    # what is not, would be, should be, will be
    "How much should I spend on coffee?",
    "How much do I have to spend on coffee?",
    "How much would I save without coffee?",
    "How much will I spend on coffee next week?",
    "How much do I spend on coffee?",
    "How many coffees did I not buy in May?",
    "Would I have met my step goal without Monday?",
    # somebody else, several, compared
    "How much did Anna spend on coffee?",
    "How much did we spend on coffee in May?",
    "How much did I spend on coffee and lunch?",
    "How much more did I spend on coffee than on lunch?",
    "How much did I spend on coffee on Monday and Tuesday?",
    "How much did I spend on coffee in May compared to April?",
    "How much did I spend on coffee and how many steps did I walk?",
    "How much did I spend on coffee in May? And on lunch?",
    # other questions with the words
    "Why did I spend so much on coffee this week?",
    "How much of my coffee budget is left?",
    "How many steps short of my goal am I?",
    "What is my coffee budget?",
    "What did I spend the most on?",
    "Did I buy coffee on Monday?",
    "How much does a coffee cost?",
    "How much coffee did I buy?",
    "How many tasks did I complete?",
    "How many days in a row did I reach my step goal?",
    "How many days did I go without coffee in May?",
    "Which weekday do I usually spend the most?",
    "I spent a lot on coffee this week.",
    "I wish I knew how much I spent on coffee",
    "What is my average coffee, and is it too high?",
    "How much did it cost?",
    "How much did I spend it on?",
    "Which books did I buy?",
    "What is my average spending on lunch?",
    "How many steps did I walk on an average Monday?",
    "How many steps do I still have today?",
    "How often do I meet my step goal?",
    "What is the average price of coffee?",
    "coffee this week?",
    "How much is my rent?",
    "How much was the rent?",
    "how much for coffee",
    "What is my coffee spending?",
    "How much did each coffee cost this week?",
    "coffee total",
    # what the bank has nothing of, what adds up to nothing, what is not of whole days
    "How much did I spend on a coffee machine?",
    "How much did I spend on gifts?",
    "How many miles did I swim?",
    "How much did I weigh on Monday?",
    "How much did I spend on coffee this morning?",
    "How far did I sleep?",
    # German
    "Warum habe ich so viel für Kaffee ausgegeben?",
    "Wie viel hat meine Frau für Kaffee ausgegeben?",
    "Wie viel sollte ich für Kaffee ausgeben?",
    "Wie viel gebe ich für Kaffee aus?",
    "Wie viel habe ich für Kaffee und Bücher ausgegeben?",
    "Wie viel von meinem Kaffeebudget ist noch übrig?",
    "Wie viel mehr habe ich im Mai für Kaffee ausgegeben als im April?",
    "Habe ich am Montag Kaffee gekauft?",
    "Wie viele Schritte fehlen mir bis zum Ziel?",
    "Schaffe ich mein Schrittziel noch?",
    "Wie viele Schritte habe ich noch?",
    "Wie viel hat das gekostet?",
    "Was kostet mich Kaffee?",
    "Wie hoch ist die Miete?",
    # Spanish
    "¿Cuánto debería gastar en café?",
    "¿Cuánto gastó Ana en café?",
    "¿Por qué gasté tanto en café?",
]


@every_row("text", DECLINED)
def test_what_is_not_sure_is_declined(text: str) -> None:
    assert understood(text) is None


def test_a_week_lies_as_weeks_begin() -> None:
    monday = understood("How much did I spend on coffee this week?")
    sunday = understood("How much did I spend on coffee this week?", week_starts=Weekday.SUNDAY)
    assert monday is not None
    assert monday.window is not None
    assert sunday is not None
    assert sunday.window is not None
    assert (monday.window.start.date(), monday.window.end.date()) == (date(2025, 6, 2), date(2025, 6, 9))
    assert (sunday.window.start.date(), sunday.window.end.date()) == (date(2025, 6, 1), date(2025, 6, 8))


def test_on_a_sunday_a_week_from_sunday_has_just_begun() -> None:
    sunday = datetime(2025, 6, 8, 9, tzinfo=UTC)
    this = understood("How many steps did I walk this week?", moment=sunday, week_starts=Weekday.SUNDAY)
    last = understood("How many steps did I walk last week?", moment=sunday, week_starts=Weekday.SUNDAY)
    assert this is not None
    assert this.window is not None
    assert this.window.start.date() == date(2025, 6, 8)
    assert last is not None
    assert last.window is not None
    assert last.window.start.date() == date(2025, 6, 1)


def test_a_number_in_the_question_is_its_target() -> None:
    found = understood("An wie vielen Tagen im Mai bin ich mindestens 10.000 Schritte gegangen?")
    assert found is not None
    assert found.target is not None
    assert (found.target.value, found.target.bound) == (Decimal(10_000), Bound.AT_LEAST)
    assert (found.period, found.standing) == (Granule.DAY, Standing.MET)


def test_a_thousand_and_one_thousandth_are_not_guessed() -> None:
    found = understood("On how many days did I run more than 1,5 km?")
    assert found is None or (found.target is not None and found.target.value == Decimal("1.5"))


def test_two_categories_that_fit_are_none() -> None:
    both = [*BANK, category(EXPENSE, "Kaffee", "EUR")]
    assert understood("How much did I spend on coffee in May?", categories=both) is None


def test_what_may_belong_to_food_and_may_not_leaves_food_open() -> None:
    odd = [*BANK, category(EXPENSE, "Brandt & Sons", "EUR")]
    assert understood("What is my total food spending this week?", categories=odd) is None


def test_a_category_of_the_bank_in_another_language_is_found() -> None:
    german = [category(EXPENSE, "Lebensmittel", "EUR"), category(EXPENSE, "Zahnarztrechnung", "EUR")]
    for text, name in (
        ("How much did I spend on groceries in May?", "Lebensmittel"),
        ("Was habe ich im Mai für Zahnarztrechnungen bezahlt?", "Zahnarztrechnung"),
    ):
        found = understood(text, categories=german)
        assert found is not None
        assert found.categories == (name,)


@every_row(
    "text",
    ["", "?", " ", "€", "how much", "wie viel", "¿cuánto?", "How many how many", "list " * 70, "\u0130" * 20],
)
def test_odd_texts_are_declined(text: str) -> None:
    assert understood(text) is None
