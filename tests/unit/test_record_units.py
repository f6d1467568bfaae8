"""Units and amounts of records: one spelling per unit, and parsing of numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.records import canonical_amount, canonical_record
from hindsight_integrations.language.units import canonical_unit, factor, same_measure
from hindsight_integrations.model.records import plural, singular_key


@every_row(
    ("written", "unit"),
    [
        ("", ""),
        ("USD", "USD"),
        ("usd", "USD"),
        ("$", "USD"),
        ("US dollars", "USD"),
        ("Dollars", "USD"),
        ("€", "EUR"),
        ("Euro", "EUR"),
        ("libras esterlinas", "GBP"),
        ("Schweizer Franken", "CHF"),
        ("CA$", "CAD"),
        ("pesos", "pesos"),  # of whom?
        ("cup", "cups"),  # no Cuban peso
        ("pound", "lb"),
        ("lbs", "lb"),
        ("kilometers", "km"),
        ("Kilometer", "km"),
        ("kilómetros", "km"),
        ("KM", "km"),
        ("miles", "mi"),
        ("minutes", "min"),
        ("mins", "min"),
        ("Stunden", "h"),
        ("hrs", "h"),
        ("L", "l"),
        ("days", "day"),
        ("months", "month"),
        ("square meters", "m²"),
        ("m2", "m²"),
        ("kilocalories", "kcal"),
        ("calories", "calories"),  # thousands in most cases
        ("percent", "%"),
        ("mph", "mi/h"),
        ("kilometers per hour", "km/h"),
        ("step", "steps"),
        ("Steps", "steps"),
        ("pages", "pages"),
        ("rep", "reps"),
        ("story point", "story points"),
        ("points", "points"),  # no typographic ones
        ("glass of water", "glasses of water"),
        ("Schritte", "Schritte"),
        ("XP", "XP"),
        ("bpm", "bpm"),
        ("USD per week", "USD/week"),
        ("USD/week (maximum)", "USD/week"),
        ("USD/week on coffee", "USD/week"),
        ("dollars a month", "USD/month"),
        ("weekly USD", "USD/week"),
        ("steps per day", "steps/day"),
        ("step/day", "steps/day"),
        ("minutes daily", "min/day"),
    ],
)
def test_a_unit_has_one_spelling(written: str, unit: str) -> None:
    """ISO 4217 for money, a symbol for physical units, the plural for counts, "/" for "per"."""
    assert canonical_unit(written) == unit
    assert canonical_unit(unit) == unit


@given(st.text(max_size=20))
@example("a a/day")
@example("on on")
def test_a_unit_read_once_reads_the_same_again(written: str) -> None:
    """A unit in the bank's spelling is unchanged."""
    unit = canonical_unit(written)
    assert canonical_unit(unit) == unit


def test_a_pound_is_money_where_money_is_meant() -> None:
    """An expense of 12 pounds is GBP; a weight of 12 pounds is lb."""
    spent = canonical_record("expense", "lunch", Decimal(12), "pounds")
    weighed = canonical_record("weight", "", Decimal(12), "pounds")
    assert (spent.unit, weighed.unit) == ("GBP", "lb")


@every_row(
    ("value", "unit", "number", "canonical"),
    [
        ("$3.41", "", "3.41", "USD"),
        ("3,41 EUR", "", "3.41", "EUR"),
        ("EUR 3.41", "", "3.41", "EUR"),
        ("1,200", "steps", "1200", "steps"),
        ("1,200.50 €", "", "1200.50", "EUR"),
        ("1.200,50 €", "", "1200.50", "EUR"),
        ("1.200", "km", "1.2", "km"),
        ("0,125", "kg", "0.125", "kg"),
        ("12 500 km", "", "12500", "km"),
        ("8k", "steps", "8000", "steps"),
        ("8k steps", "", "8000", "steps"),
        ("$575k", "", "575000", "USD"),
        ("1.2M EUR", "", "1200000", "EUR"),
        ("-$5", "", "-5", "USD"),
        ("$-5", "USD", "-5", "USD"),
        ("$20", "CAD", "20", "CAD"),
        ("30 minutes", "min", "30", "min"),
        ("12 m", "", "12", "m"),
        ("$30 per week", "", "30", "USD/week"),
        ("$30", "USD/week (maximum)", "30", "USD/week"),
        ("8,000 steps per day", "", "8000", "steps/day"),
    ],
)
def test_a_number_written_as_text_is_a_number(value: str, unit: str, number: str, canonical: str) -> None:
    """Amounts can be added up to the last digit, however they are written."""
    assert canonical_amount(value, unit) == (Decimal(number), canonical)


@every_row(
    ("value", "unit"),
    [
        ("3 USD or 2.80 EUR", ""),
        ("3.41 USD", "EUR"),
        ("20 USD", "CAD"),
        ("8-10", "h"),
        ("120/80", ""),
        ("~5", "km"),
        ("about $8", ""),
        ("5k", ""),
        ("5k", "km"),
        ("5 km", "mi"),
        ("5 km run", ""),
        ("free", ""),
        ("1.2.3", ""),
    ],
)
def test_what_is_no_single_amount_stays_text(value: str, unit: str) -> None:
    """Two currencies, a range and approximate amounts are not guessed, so no sum is wrong."""
    assert canonical_amount(value, unit) == (value, unit)


@given(value=st.decimals(allow_nan=False, allow_infinity=False), unit=st.text(max_size=12))
def test_a_number_is_never_touched(value: Decimal, unit: str) -> None:
    """A number from the model is stored digit by digit."""
    assert canonical_amount(value, unit)[0] == value


def test_words_that_hold_a_number_are_no_amount() -> None:
    """A preference or a task is text, whatever numbers it contains."""
    assert canonical_record("preference", "film", "7 Samurai", "").value == "7 Samurai"


@every_row("piece", ["/", "(", ")", " per ", " on ", "1,", "9", " ", "$", "km/h"])
def test_endless_words_cost_no_time_and_no_error(piece: str) -> None:
    """Whatever a model writes as a unit or an amount is parsed or stays unchanged."""
    endless = piece * 5_000
    assert canonical_record("quantity", "", endless, endless).value == endless
    assert canonical_unit(canonical_unit(piece * 50)) == canonical_unit(piece * 50)


def test_what_a_unit_is_for_is_the_category() -> None:
    """A goal in "USD/week on coffee" has the category coffee."""
    goal = canonical_record("goal", "", Decimal(30), "USD/week on coffee")
    assert (goal.category, goal.unit) == ("coffee", "USD/week")


@every_row(
    ("unit", "wanted", "exactly"),
    [
        ("mi", "km", Fraction("1.609344")),
        ("h", "min", Fraction(60)),
        ("lb", "kg", Fraction("0.45359237")),
        ("year", "month", Fraction(12)),
        ("mi/h", "km/h", Fraction("1.609344")),
        ("m³", "l", Fraction(1000)),
    ],
)
def test_units_are_converted_exactly(unit: str, wanted: str, exactly: Fraction) -> None:
    """A mile is exactly 1.609344 kilometres."""
    assert same_measure(unit) == same_measure(wanted)
    assert factor(unit, wanted) == exactly
    assert factor(wanted, unit) == 1 / exactly


@every_row(
    ("one", "other"),
    [
        ("USD", "EUR"),
        ("steps", "km"),
        ("day", "month"),
        ("USD/week", "USD/month"),
        ("°C", "°F"),
        ("calories", "kcal"),
    ],
)
def test_what_has_no_fixed_ratio_is_not_converted(one: str, other: str) -> None:
    """Two currencies, months and days, and temperatures are not converted: adding them would be wrong."""
    assert same_measure(one) != same_measure(other)


@given(st.text(alphabet="abcdefghijklmnoprstuvwxyz", min_size=4, max_size=10))
def test_a_word_and_its_plural_compare_alike(word: str) -> None:
    """Singular and plural of an unknown word have one key."""
    if not word.endswith(("s", "i", "u")):
        assert singular_key(plural(word)) == singular_key(word)
