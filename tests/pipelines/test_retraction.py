"""Retraction as a user meets it: what was withdrawn is not recalled as true, is not lost, and can be brought back."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ledger_support import commit

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.backends.tokens.tiktoken import default_token_counter
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.sync import MemoryBank

EMAIL = "User drafted an email to the board about the budget. Recipients: Ann Lee and Bo Chen. Key points: travel; hiring."


def say(
    bank: MemoryBank,
    day: int,
    what: str,
    *,
    invalidates: tuple[str, ...] = (),
    takes_back: str = "",
    **options: Any,
) -> RetainResult:
    """Retain one message of a day in May with one extracted fact, which may take a part of what the first one said back."""
    message = {"role": "user", "content": what, "id": f"d{day}"}
    changes = [{"sources": ["d1"], "change": "part", "part": takes_back}] if takes_back else []
    fact = {"what": what, "sources": [f"d{day}"], "invalidates": list(invalidates), "changes": changes}
    return bank.retain([message], timestamp=f"2024-05-{day:02d}T10:00", facts=[fact], **options)


def recalled(bank: MemoryBank, query: str, **options: Any) -> dict[str, RecalledUnit]:
    return {item.unit.text.split(" | ")[0]: item for item in bank.recall(query, **options).units}


HOME, MOVED = "User lives in Paris near the canal", "User left Paris and settled in Berlin"


def test_what_was_replaced_is_history(real: Hindsight) -> None:
    """After a move the old home is not recalled, unless asked for history or for an earlier day."""
    bank = real.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    result = say(bank, 5, MOVED, invalidates=("User lives in Paris near the canal",))
    assert [(done.unit_id, done.by_unit) for done in result.closed] == [(old, result.unit_ids[0])]
    assert set(recalled(bank, "Paris home")) == {MOVED}
    history = recalled(bank, "Paris home", include_invalidated=True)
    assert {text: item.valid for text, item in history.items()} == {HOME: False, MOVED: True}
    assert set(recalled(bank, "Paris home", as_of="2024-05-03")) == {HOME}
    assert set(recalled(bank, "Paris home", as_of="2024-05-05T10:00")) == {MOVED}


def test_the_log_says_who_closed_it_and_why(light: Hindsight) -> None:
    """The history of a memory names the stating memory, its time and its words."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    (new,) = say(bank, 5, MOVED, invalidates=(HOME,)).unit_ids
    (event,) = bank.history(old)
    assert (event.kind, event.by_unit, event.reason) == (ValidityKind.CLOSED, new, HOME)
    assert event.effective_at == datetime(2024, 5, 5, 10, tzinfo=UTC)
    assert bank.history("nobody") == ()


def test_a_closing_can_be_undone(light: Hindsight) -> None:
    """A wrongly closed memory is recalled again after restore; restoring twice changes nothing."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    say(bank, 5, MOVED, invalidates=(HOME,))
    assert [bank.restore(old), bank.restore(old)] == [True, False]
    assert HOME in recalled(bank, "Paris home")
    assert [event.kind for event in bank.history(old)] == [ValidityKind.CLOSED, ValidityKind.RESTORED]
    with pytest.raises(InvalidRequest, match="nobody"):
        bank.restore("nobody")


def test_an_item_added_again_lives_again(light: Hindsight) -> None:
    """A to-do done and added again in the very words is recalled; done again, it is gone again."""
    bank = light.bank("alice")
    task, done = "User needs to optimize the database queries", "User optimized all of the database queries"
    say(bank, 1, task)
    say(bank, 2, done, invalidates=(task,))
    assert task not in recalled(bank, "database queries")
    (again,) = say(bank, 3, task).unit_ids
    assert recalled(bank, "database queries")[task].unit.id == again
    assert [item.unit_id for item in say(bank, 4, done, invalidates=(task,)).closed] == [again]
    assert task not in recalled(bank, "database queries")


def test_a_chain_leaves_only_its_end(light: Hindsight) -> None:
    """Replaced twice, only the latest is valid; in between, what was valid in between."""
    bank = light.bank("alice")
    car, bus, bike = (
        "User drives a red car to work",
        "User rides the yellow bus to work",
        "User cycles to work",
    )
    say(bank, 1, car)
    say(bank, 3, bus, invalidates=(car,))
    say(bank, 5, bike, invalidates=(bus,))
    assert set(recalled(bank, "to work")) == {bike}
    assert set(recalled(bank, "to work", as_of="2024-05-04")) == {bus}


def test_a_chain_within_one_retain(light: Hindsight) -> None:
    """Three messages retained at once that replace each other leave the last one."""
    bank = light.bank("alice")
    car, bus, bike = (
        "User drives a red car to work",
        "User rides the yellow bus to work",
        "User cycles to work",
    )
    messages = [
        {"role": "user", "content": text, "id": f"m{n}", "timestamp": f"2024-05-0{n}"}
        for n, text in enumerate((car, bus, bike), 1)
    ]
    facts = [
        {"what": car, "sources": ["m1"]},
        {"what": bus, "sources": ["m2"], "invalidates": [car]},
        {"what": bike, "sources": ["m3"], "invalidates": [bus]},
    ]
    result = bank.retain(messages, facts=facts)
    assert [done.unit_id for done in result.closed] == list(result.unit_ids[:2])
    assert set(recalled(bank, "to work")) == {bike}


def test_an_old_document_closes_nothing_newer(light: Hindsight) -> None:
    """A message of May 2 retained late does not withdraw what was said on May 5."""
    bank = light.bank("alice")
    say(bank, 5, HOME)
    assert say(bank, 2, MOVED, invalidates=(HOME,)).closed == ()
    assert HOME in recalled(bank, "Paris home")


def test_what_is_ambiguous_is_reported_and_kept(light: Hindsight) -> None:
    """Two dentist appointments and a bare "the dentist appointment is off" close neither."""
    bank = light.bank("alice")
    first = say(bank, 1, "User has a dentist appointment with Doctor Abel").unit_ids
    second = say(bank, 2, "User has a dentist appointment with Doctor Baker").unit_ids
    result = say(bank, 3, "User called it off", invalidates=("User has a dentist appointment",))
    assert (result.closed, len(result.ambiguous)) == ((), 1)
    assert set(result.ambiguous[0].candidates) == {*first, *second}
    assert len(recalled(bank, "dentist appointment doctor")) == 2


IN_COPY = "User drafted an email to the board about the budget: it goes to Ann Lee with Bo Chen in copy. Key points: travel."
TAKEN_BACK = "Bo Chen is a recipient of the budget email"


@pytest.mark.parametrize(
    ("text", "served"),
    [
        (EMAIL, EMAIL.replace(" and Bo Chen", "")),
        (IN_COPY, f"{IN_COPY} [Partly withdrawn later: {TAKEN_BACK}]"),
    ],
    ids=["cut out", "noted"],
)
def test_a_unit_is_never_served_with_what_was_taken_back_of_it(
    real: Hindsight, text: str, served: str
) -> None:
    """An email of which one recipient was removed lacks it, or says so, at every budget it fits, and only from the removal on."""
    bank = real.bank("alice")
    (email,) = say(bank, 1, text).unit_ids
    removal = "User removed Bo Chen from the email; Ann Lee stays"
    result = say(bank, 3, removal, takes_back=TAKEN_BACK)
    assert (result.closed, [done.unit_id for done in result.amended]) == ((), [email])
    found = bank.recall("budget email recipients")
    (item,) = [item for item in found.units if item.unit.id == email]
    (part,) = item.amendments
    assert ((part.by_unit,), part.statement) == (result.unit_ids, TAKEN_BACK)
    assert part.effective_at == datetime(2024, 5, 3, 10, tzinfo=UTC)
    assert (item.text, item.unit.text, item.valid) == (served, text, True)
    assert [item.tokens] == default_token_counter().count([served])
    for budget in range(1, item.tokens + 2):
        tight = bank.recall("budget email recipients", max_tokens=budget)
        assert tight.tokens <= budget
        shown = {other.unit.id: other for other in tight.units}
        assert shown.get(email, item).text == served
        assert (email in shown) == (budget >= item.tokens)
    (before,) = bank.recall("budget email recipients", as_of="2024-05-02").units
    assert (before.unit.id, before.text, before.amendments) == (email, text, ())
    history = bank.recall("budget email recipients", include_invalidated=True).units
    (whole,) = [item.text for item in history if item.unit.id == email]
    assert whole == f"{text} [Partly withdrawn later: {TAKEN_BACK}]"


def test_what_took_a_part_back_is_a_memory_like_any_other(real: Hindsight) -> None:
    """The removal is recalled by itself, counts as one of k, and the tokens told are those of the texts returned."""
    bank = real.bank("alice")
    (email,) = say(bank, 1, EMAIL).unit_ids
    removal = "User removed Bo Chen from the email; Ann Lee stays"
    (later,) = say(bank, 3, removal, takes_back="Bo Chen is a recipient of the budget email").unit_ids
    found = bank.recall("budget email recipients")
    assert {item.unit.id for item in found.units} == {email, later}
    counted = default_token_counter().count([item.text for item in found.units])
    assert [item.tokens for item in found.units] == counted
    assert found.tokens == sum(counted)
    (best,) = bank.recall("budget email recipients", k=1).units
    assert best == found.units[0]


def test_two_withdrawals_of_the_same_part_are_noted_once(light: Hindsight) -> None:
    """The same words of two memories stand once, oldest first; other words stand beside them."""
    bank = light.bank("alice")
    (email,) = say(bank, 1, EMAIL).unit_ids
    bo, travel = (
        "Bo Chen is a recipient of the budget email",
        "The budget email includes the key point 'travel'",
    )
    (first,) = say(bank, 3, "User removed Bo Chen from the email", takes_back=bo).unit_ids
    say(bank, 4, "User struck travel off the email", takes_back=travel)
    say(bank, 5, "User said once more that Bo Chen is not to get the email", takes_back=bo)
    (item,) = [item for item in bank.recall("budget email").units if item.unit.id == email]
    assert [(part.statement, part.effective_at.day) for part in item.amendments] == [(bo, 3), (travel, 4)]
    assert item.amendments[0].by_unit == first


def test_a_withdrawal_without_words_is_worded_by_its_memory(opener: Any, tmp_path: Path) -> None:
    """An amendment whose reason is empty, as another writer may leave it, shows the text of the memory that made it."""
    removal = "User removed Bo Chen from the email"
    with opener(tmp_path) as engine:
        (email,) = say(engine.bank("alice"), 1, EMAIL).unit_ids
        (later,) = say(engine.bank("alice"), 3, removal).unit_ids
    event = ValidityEvent(email, ValidityKind.AMENDED, datetime(2024, 5, 3, tzinfo=UTC), later)
    with closing(SqliteLedger.open(tmp_path)) as ledger:  # no verb of the bank writes such an event
        commit(ledger, WriteSet("alice", ledger.revision("alice"), events=(event,)))
    bank = opener(tmp_path).bank("alice")
    (item,) = [item for item in bank.recall("budget email recipients").units if item.unit.id == email]
    assert [part.statement for part in item.amendments] == [removal]
    assert item.text == f"{EMAIL} [Partly withdrawn later: {removal}]"


def test_the_same_retain_again_adds_no_event(light: Hindsight) -> None:
    """Retaining the withdrawing message twice leaves one entry in the log, and a restored memory stays restored."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    say(bank, 5, MOVED, invalidates=(HOME,))
    bank.restore(old)
    say(bank, 5, MOVED, invalidates=(HOME,))
    assert len(bank.history(old)) == 2
    assert HOME in recalled(bank, "Paris home")


def test_another_users_words_close_nothing(light: Hindsight) -> None:
    """In a bank shared by tags, what Bob withdraws stays true of Alice."""
    bank = light.bank("shared")
    say(bank, 1, HOME, tags=["alice"])
    assert say(bank, 5, MOVED, invalidates=(HOME,), tags=["bob"]).closed == ()
    assert say(bank, 6, MOVED, invalidates=(HOME,), tags=["alice"]).closed


def test_the_validity_mark_agrees_with_the_filter(light: Hindsight) -> None:
    """A memory closed within the second asked about counts as closed for the mark as it does for the filter."""
    bank = light.bank("home")
    lisbon = {"what": "Alice lives in Lisbon.", "sources": ["m1"]}
    bank.retain([{"content": "a", "id": "m1", "timestamp": "2024-01-01T10:00:00"}], facts=[lisbon])
    moved = {"what": "Alice moved to Porto.", "sources": ["m2"], "invalidates": ["Alice lives in Lisbon"]}
    bank.retain([{"content": "b", "id": "m2", "timestamp": "2024-03-01T10:00:00.400000"}], facts=[moved])
    moment = "2024-03-01T10:00:00"
    marked = {
        item.unit.text: item.valid
        for item in bank.recall("Alice", as_of=moment, include_invalidated=True).units
    }
    served = {item.unit.text for item in bank.recall("Alice", as_of=moment).units}
    assert {text for text, valid in marked.items() if valid} == served == {"Alice moved to Porto."}


def test_what_an_amending_memory_took_back_stays_taken_back(light: Hindsight) -> None:
    """From Vienna to Toronto, and on to Rome: who left Toronto does not live in Vienna again."""
    bank = light.bank("alice")
    say(bank, 1, "User lives in Vienna, works from a small studio by the river and keeps two cats there.")
    moved = say(
        bank, 2, "User moved to Toronto for a job at the library.", takes_back="User lives in Vienna."
    )
    assert len(moved.amended) == 1
    left = say(
        bank, 3, "User moved on to Rome.", invalidates=("User moved to Toronto for a job at the library.",)
    )
    assert [done.unit_id for done in left.closed] == list(moved.unit_ids)
    served = [item.text for item in bank.recall("Where does User live?").units]
    assert not [text for text in served if "Vienna" in text and "withdrawn" not in text]
    assert [text for text in served if "two cats" in text]


def test_an_amendment_ends_with_the_message_that_was_edited(light: Hindsight) -> None:
    """What nobody says any more takes nothing back."""
    bank = light.bank("alice")
    home = "User lives in Vienna, works from a small studio by the river and keeps two cats there."
    say(bank, 1, home, thread="t")
    moved = say(bank, 2, "User moved to Toronto.", takes_back="User lives in Vienna.", thread="t")
    assert len(moved.amended) == 1
    message = {"role": "user", "content": "User bought a lamp.", "id": "d2"}
    bank.retain(
        [message],
        timestamp="2024-05-04T10:00",
        thread="t",
        facts=[{"what": "User bought a lamp.", "sources": ["d2"]}],
    )
    assert home in [item.text for item in bank.recall("Where does User live?").units]


@pytest.mark.slow
def test_a_thousand_amendments_of_one_memory(light: Hindsight) -> None:
    """However often a part is taken back, it is served once without it, in a moment."""
    bank = light.bank("alice")
    say(bank, 1, "User plays the violin on Sundays and collects stamps of Norway.")
    facts = [
        {
            "what": f"User sold box {n} of stamps.",
            "sources": ["d2"],
            "changes": [
                {"sources": ["d1"], "change": "part", "part": f"User collects stamps of Norway {n}."}
            ],
        }
        for n in range(1000)
    ]
    message = {"role": "user", "content": "All boxes are sold.", "id": "d2"}
    bank.retain([message], timestamp="2024-05-02T10:00", facts=facts)
    served = [item.text for item in bank.recall("Who plays the violin on Sundays?", max_tokens=8000).units]
    assert any("violin" in text for text in served)
