"""Which memory a statement of withdrawal means: decisions as a table, without a bank."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from builders import make_unit
from table import every_row

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.tempr.retain.retraction.candidates import can_see, precedes
from hindsight_integrations.tempr.retain.retraction.matching import Match, Outcome, match
from hindsight_integrations.tempr.retain.retraction.similarity import (
    FACTS,
    VERBATIM,
    Bar,
    Candidate,
    Statement,
)
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.part_whole import names_one_of_a_list, part_of
from hindsight_integrations.text.stems import numbers
from hindsight_integrations.text.withdrawal_cues import withdrawals

SCALE = Thresholds(semantic_link=0.7, channel_floor=0.3, duplicate=0.92)
USER = frozenset({"user"})


def vector(angle: float) -> Vector:
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


def candidate(
    unit_id: str,
    text: str,
    cosine: float = 0.8,
    *,
    record: Record | None = None,
    hours: float = 0,
    **fields: Any,
) -> Candidate:
    unit = replace(make_unit(unit_id, text, hours=hours), records=(record,) if record else ())
    fields.setdefault("vector", vector(sum(map(ord, unit_id))))
    return Candidate(unit, cosine, people=USER, **fields)


def decide(text: str, *candidates: Candidate, record: Record | None = None, bar: Bar = FACTS) -> Match:
    by = replace(make_unit("by", "User takes something back.", hours=9), records=(record,) if record else ())
    names = frozenset(name for item in candidates for name in item.names)
    return match(Statement(text, by, names, USER), candidates, SCALE, bar)


def ids(found: Match) -> list[str]:
    return [unit.id for unit in found.units]


BONOBO = candidate(
    "bonobo", "User has been really into the music artist Bonobo lately.", names=frozenset({"bonobo"})
)
DENTIST = candidate("dentist", "User has a dentist appointment on Tuesday.", names=frozenset({"dentist"}))


def test_the_clear_best_is_closed() -> None:
    """Withdrawing one liking closes that memory and leaves the others."""
    found = decide("User likes the music artist Bonobo", BONOBO, replace(DENTIST, cosine=0.5))
    assert (found.outcome, ids(found)) == (Outcome.CLOSES, ["bonobo"])
    assert 0 < found.scores[0] <= 1


def test_what_fits_nothing_closes_nothing() -> None:
    """A statement about something never remembered changes nothing."""
    assert decide("User owns a sailing boat", BONOBO, DENTIST).outcome == Outcome.NOTHING
    assert decide("User likes Bonobo").outcome == Outcome.NOTHING


def test_too_close_to_call_closes_nothing_and_says_so() -> None:
    """Two different appointments that fit alike are both kept, and both are named."""
    other = replace(DENTIST.unit, id="dentist2", text="User has a dentist appointment on Friday.")
    rival = replace(DENTIST, unit=other, cosine=0.79, vector=vector(2.0))
    found = decide("User has a dentist appointment", DENTIST, rival)
    assert (found.outcome, set(ids(found))) == (Outcome.AMBIGUOUS, {"dentist", "dentist2"})


def test_the_same_thing_said_twice_closes_together() -> None:
    """A liking mentioned in nearly the same words on two days is gone on both."""
    again = replace(BONOBO, unit=replace(BONOBO.unit, id="again"), cosine=0.79)
    found = decide("User likes the music artist Bonobo", BONOBO, again)
    assert (found.outcome, set(ids(found))) == (Outcome.CLOSES, {"bonobo", "again"})


def test_a_to_do_mentioned_twice_in_other_words_closes_together() -> None:
    """Both mentions of one recorded to-do are done when it is done."""
    milk = Record(RecordKind.TASK, "Buy milk")
    one = candidate("one", "User needs to buy milk today.", record=milk)
    two = candidate("two", "User must still buy milk on the way home.", 0.79, record=milk)
    found = decide(
        "Buying milk is on User's to-do list", one, two, record=Record(RecordKind.TASK, "Buy milk (done)")
    )
    assert (found.outcome, set(ids(found))) == (Outcome.CLOSES, {"one", "two"})


def test_two_expenses_of_one_price_are_two() -> None:
    """Taking back one of two equal coffees cannot tell which, so neither is closed."""
    price = Record(RecordKind.EXPENSE, Decimal("3.41"), "coffee", "USD")
    one = candidate("one", "User spent $3.41 on coffee.", record=price, vector=vector(0))
    two = candidate("two", "User spent $3.41 on coffee.", record=price, vector=vector(0))
    assert decide("User spent $3.41 on coffee", one, two).outcome == Outcome.AMBIGUOUS


def test_other_numbers_are_other_items() -> None:
    """Taking back the coffee of $3.41 leaves the one of $7.35."""
    other = candidate("other", "User spent $7.35 on coffee.", 0.95)
    assert decide("User spent $3.41 on coffee", other).outcome == Outcome.NOTHING


def test_another_person_is_not_meant() -> None:
    """What Bob no longer likes, Alice still does."""
    alice = replace(candidate("a", "Alice likes hiking."), people=frozenset({"alice"}))
    by = make_unit("by", "Bob no longer likes hiking.", hours=9)
    statement = Statement("Bob likes hiking", by, people=frozenset({"bob"}))
    assert match(statement, [alice], SCALE, FACTS).outcome == Outcome.NOTHING


def test_what_was_closed_before_shields_the_next_best() -> None:
    """Saying twice that the groceries are bought does not close another errand the second time."""
    done = candidate("done", "User needs to buy groceries.", 0.9, closed=True, names=frozenset({"groceries"}))
    other = candidate("other", "User needs to buy a birthday present.", 0.72, names=frozenset({"present"}))
    assert decide("Buying groceries is on User's to-do list", done, other).outcome == Outcome.NOTHING


def test_an_item_added_again_is_what_is_meant() -> None:
    """Done, added again, done again: the second completion closes the second mention, not the first completion."""
    first = candidate("first", "User needs to exercise.", 0.88, closed=True, closed_by=frozenset({"done"}))
    done = candidate("done", "User no longer needs to exercise.", 0.84, hours=1)
    second = candidate("second", "User really needs to exercise today.", 0.8, hours=2)
    found = decide("User needs to exercise", first, done, second)
    assert (found.outcome, ids(found)) == (Outcome.CLOSES, ["second"])


def test_a_chain_closes_the_middle_link() -> None:
    """Replaced once and replaced again: the second statement closes the replacement, not what it had replaced."""
    first = candidate(
        "a", "User lives in Paris.", 0.85, closed=True, closed_by=frozenset({"b"}), names=frozenset({"paris"})
    )
    second = candidate("b", "User moved from Paris to Berlin.", 0.82, names=frozenset({"paris", "berlin"}))
    by = make_unit("c", "User moved to Rome.", hours=9)
    statement = Statement("User lives in Berlin", by, frozenset({"rome", "berlin"}), USER)
    found = match(statement, [first, second], SCALE, FACTS)
    assert (found.outcome, ids(found)) == (Outcome.CLOSES, ["b"])


EMAIL = "User drafted an email to the board about the budget. Recipients: Ann Lee and Bo Chen. Key points: travel costs; hiring."


@every_row(
    ("text", "statement", "outcome"),
    [
        (EMAIL, "Bo Chen is a recipient of the budget email", Outcome.AMENDS),
        (EMAIL, "The budget email includes the key point 'travel costs'", Outcome.AMENDS),
        (EMAIL, "User drafted an email to the board about the budget", Outcome.CLOSES),
        ("User likes jazz, blues and rock.", "User likes blues", Outcome.AMENDS),
        (
            "The kids cannot wait for the summer break, and the family is thinking about going camping in June.",
            "The family is only thinking about going camping in June",
            Outcome.AMENDS,
        ),
        ("User likes jazz, and how it swings.", "User likes jazz", Outcome.CLOSES),
        (
            "User needs to buy milk; it is on the to-do list.",
            "Buying milk is on User's to-do list",
            Outcome.CLOSES,
        ),
    ],
)
def test_a_part_taken_back_leaves_the_rest(text: str, statement: str, outcome: Outcome) -> None:
    """One recipient, one key point, one of several likings is an amendment; the whole thing is a closing."""
    found = decide(statement, candidate("u", text, 0.85))
    assert (found.outcome, ids(found)) == (outcome, ["u"])


def test_verbatim_needs_a_closer_match() -> None:
    """What a model's own statement may close, a guess from cue words may not."""
    half = candidate("u", "User paints in the garage.", 0.9)
    assert decide("User paints a lot", half).outcome == Outcome.CLOSES
    assert decide("User paints a lot", half, bar=VERBATIM).outcome == Outcome.NOTHING


def test_nothing_mentioned_later_and_nothing_of_the_same_messages_is_meant() -> None:
    """An old document that arrives late closes nothing newer, and a fact does not close its own sister."""
    by = replace(make_unit("by", hours=5), sources=("m1",), thread="t")
    assert precedes(replace(make_unit("old", hours=4), sources=("m0",), thread="t"), by)
    assert not precedes(replace(make_unit("new", hours=6), sources=("m0",), thread="t"), by)
    assert not precedes(replace(make_unit("sister", hours=5), sources=("m1", "m2"), thread="t"), by)
    assert not precedes(by, by)


def test_nobody_withdraws_what_they_cannot_see() -> None:
    """A memory tagged for one user is not closed by another user's words."""
    by = make_unit("by", tags=("alice",))
    assert can_see(by, make_unit("open"))
    assert can_see(by, make_unit("own", tags=("alice", "work")))
    assert not can_see(by, make_unit("other", tags=("bob",)))


@every_row(
    ("message", "expected"),
    [
        ("I used to love trail running, but I'm not really into it anymore.", ["user: love trail running"]),
        ("I actually finished buying groceries, so you can remove that.", ["user: buying groceries"]),
        ("I just booked my flight for vacation.", ["user: booked my flight for vacation"]),
        (
            "Please remove 'Head of Engineering' from the recipients.",
            ["user: 'Head of Engineering' is part of the recipients"],
        ),
        ("I don't play the violin anymore.", ["user: play the violin"]),
        ("The picnic on Sunday is cancelled.", ["user: The picnic on Sunday"]),
        ("I rescheduled my dentist appointment to Friday.", ["user: my dentist appointment"]),
        ("Let's take the train instead of the night bus.", ["user: the night bus"]),
        ("I just moved it to next Tuesday.", []),
        ("I need to remove some information from the email.", []),
        ("I like plums and walk to work.", []),
    ],
)
def test_cues_say_what_is_taken_back(message: str, expected: list[str]) -> None:
    """Without a model "no longer", "finished" or "cancelled" still name what no longer holds."""
    assert withdrawals(message, "user", [ENGLISH]) == expected


def test_words_are_compared_without_inflection_and_numbers_without_commas() -> None:
    """ "Optimizing" is "optimize", and 8,000 steps are 8000."""
    assert len({ENGLISH.stem(word) for word in ("optimize", "optimizes", "optimized", "optimizing")}) == 1
    assert numbers("8,000 steps in 2025 for $3.40", ENGLISH) == {"8000", "3.4"}


def test_grammar_inside_a_quoted_title_is_not_read() -> None:
    """A title with "includes" in it is one name."""
    found = part_of("The notes 'What the plan includes' include 'hiring'", ENGLISH)
    assert found is not None
    assert found.part == {"hire"}
    assert part_of("User likes jazz", ENGLISH) is None
    assert not names_one_of_a_list(frozenset({"jazz"}), "User likes jazz.", ENGLISH)


GROCERIES = candidate(
    "milk", "User needs to buy oat milk.", 0.75, record=Record(RecordKind.TASK, "Buy oat milk")
)
ROWING = candidate(
    "rowing", "User is really into rowing these days.", 0.75, record=Record(RecordKind.PREFERENCE, "rowing")
)


@every_row(
    ("statement", "of"),
    [
        ("buying oat milk as an open item on the user's to-do list", GROCERIES),
        ("the open to-do 'Buy oat milk'", GROCERIES),
        ("the oat milk still having to be bought by the user", GROCERIES),
        ("User has the personal task 'Buy oat milk' on their to-do list", GROCERIES),
        ("the user's need to buy oat milk", GROCERIES),
        ("the user's liking for rowing", ROWING),
        ("rowing as one of the user's hobbies", ROWING),
        ("the user's preference for rowing as a sport", ROWING),
    ],
)
def test_how_a_model_words_it_costs_nothing(statement: str, of: Candidate) -> None:
    """Noun phrases and completions close what a full sentence would have closed."""
    found = decide(statement, of, candidate("other", "User rents a garage in Hull.", 0.6))
    assert (found.outcome, ids(found)) == (Outcome.CLOSES, [of.unit.id])


def test_a_dislike_is_not_taken_back_with_a_liking() -> None:
    """Who no longer likes action films may go on disliking films with too much action."""
    dislike = candidate(
        "d",
        "User dislikes films that are all action.",
        0.9,
        record=Record(RecordKind.PREFERENCE, "action films"),
    )
    assert decide("the user's liking for action films", dislike).outcome == Outcome.NOTHING
    assert decide("the user's dislike of films that are all action", dislike).outcome == Outcome.CLOSES


def test_a_longer_name_is_another_thing() -> None:
    """The room Elm is not Elm West, and Nordholm Energy is not Nordholm Bank."""
    elm = candidate("elm", "User booked the room Elm.", 0.8)
    west = candidate("west", "User booked the room Elm West.", 0.82)
    assert ids(decide("the booking of the room Elm", elm, west)) == ["elm"]
    shares = candidate("shares", "User owns shares of Nordholm Bank.", 0.85)
    assert decide("shares of Nordholm Energy", shares).outcome == Outcome.NOTHING


def test_the_sisters_wish_is_not_the_users() -> None:
    """What somebody around the user no longer does, the user still does, and the other way about."""
    own = candidate("own", "User wants to learn sailing.", 0.85)
    sisters = candidate("sisters", "The user's sister wants to learn sailing.", 0.85)
    assert ids(decide("the sister's plan to learn sailing", own, sisters)) == ["sisters"]
    assert ids(decide("the user's plan to learn sailing", own, sisters)) == ["own"]
    assert decide("Farah's plan to learn sailing", own).outcome == Outcome.NOTHING


def test_an_echo_of_the_assistant_falls_with_its_item() -> None:
    """That the assistant put the task on the list is no rival of the task, and goes with it."""
    said = "I put 'buy oat milk' on the user's to-do list."
    echo = candidate("echo", said, 0.8)
    echo = replace(echo, unit=replace(echo.unit, fact_type=FactType.EXPERIENCE))
    found = decide("buying oat milk as an open task", GROCERIES, echo)
    assert (found.outcome, set(ids(found))) == (Outcome.CLOSES, {"milk", "echo"})


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("'Bo Chen' as a recipient of the budget email", Outcome.AMENDS),
        ("the key point 'travel costs' in the budget email", Outcome.AMENDS),
    ],
)
def test_a_part_named_by_a_noun_phrase_is_a_part(statement: str, outcome: Outcome) -> None:
    """The email stays, without the recipient or the point, also where its only record is its length in pages."""
    email = candidate("u", EMAIL, 0.85, record=Record(RecordKind.QUANTITY, Decimal(2), "email"))
    assert decide(statement, email).outcome == outcome


def test_one_of_two_is_a_part() -> None:
    """As in: who no longer rows still swims."""
    both = candidate("u", "User likes swimming and rowing.", 0.85)
    assert decide("the user's liking for rowing", both).outcome == Outcome.AMENDS
