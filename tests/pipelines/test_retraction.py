"""Retraction: ended memories are not recalled as valid, are not lost, and can be restored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.sync import MemoryBank

EMAIL = "User drafted an email to the board about the budget"
ITEMS = [
    {"kind": "document_item", "category": field, "value": value}
    for field, value in (
        ("recipients", "Ann Lee"),
        ("recipients", "Bo Chen"),
        ("key points", "travel"),
        ("key points", "hiring"),
    )
]


def say(
    bank: MemoryBank,
    day: int,
    what: str,
    *,
    invalidates: tuple[str, ...] = (),
    removes: Sequence[int] = (),
    changes: Sequence[dict[str, Any]] = (),
    records: Sequence[dict[str, Any]] = (),
    **options: Any,
) -> RetainResult:
    """Retain one message on a day in May with one extracted fact, which may remove items of the first one's document."""
    message = {"role": "user", "content": what, "id": f"d{day}"}
    struck = [{"sources": ["d1"], "change": "removes", "items": list(removes)}] if removes else []
    fact = {
        "what": what,
        "sources": [f"d{day}"],
        "invalidates": list(invalidates),
        "changes": [*changes, *struck],
        "records": list(records),
    }
    return bank.retain([message], timestamp=f"2024-05-{day:02d}T10:00", facts=[fact], **options)


def recalled(bank: MemoryBank, query: str, **options: Any) -> dict[str, RecalledUnit]:
    return {item.unit.text.split(" | ")[0]: item for item in bank.recall(query, **options).units}


HOME, MOVED = "User lives in Paris near the canal", "User left Paris and settled in Berlin"


def test_what_was_replaced_is_history(real: Hindsight) -> None:
    """After a move the old home is recalled only with history or with `as_of` an earlier day."""
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
    """The history of a memory names the memory that ended it, its time and its words."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    (new,) = say(bank, 5, MOVED, invalidates=(HOME,)).unit_ids
    (event,) = bank.history(old)
    assert (event.kind, event.by_unit, event.reason) == (ValidityKind.CLOSED, new, HOME)
    assert event.effective_at == datetime(2024, 5, 5, 10, tzinfo=UTC)
    assert bank.history("nobody") == ()


def test_a_closing_can_be_undone(light: Hindsight) -> None:
    """A wrongly closed memory is recalled after restore; restoring twice changes nothing."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    say(bank, 5, MOVED, invalidates=(HOME,))
    assert [bank.restore(old), bank.restore(old)] == [True, False]
    assert HOME in recalled(bank, "Paris home")
    assert [event.kind for event in bank.history(old)] == [ValidityKind.CLOSED, ValidityKind.RESTORED]
    with pytest.raises(InvalidRequest, match="nobody"):
        bank.restore("nobody")


def test_an_item_added_again_lives_again(light: Hindsight) -> None:
    """A to-do that is done and added again in the same words is recalled; done again, it ends again."""
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
    """Replaced twice, only the latest is valid; in between, the one of that time."""
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
    """Of three messages in one retain that replace each other, the last is valid."""
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
    """A message of May 2 that is retained late does not end a statement of May 5."""
    bank = light.bank("alice")
    say(bank, 5, HOME)
    assert say(bank, 2, MOVED, invalidates=(HOME,)).closed == ()
    assert HOME in recalled(bank, "Paris home")


def test_what_is_ambiguous_is_reported_and_kept(light: Hindsight) -> None:
    """With two dentist appointments, "the dentist appointment is off" closes neither."""
    bank = light.bank("alice")
    first = say(bank, 1, "User has a dentist appointment with Doctor Abel").unit_ids
    second = say(bank, 2, "User has a dentist appointment with Doctor Baker").unit_ids
    result = say(bank, 3, "User called it off", invalidates=("User has a dentist appointment",))
    assert (result.closed, len(result.ambiguous)) == ((), 1)
    assert set(result.ambiguous[0].candidates) == {*first, *second}
    assert len(recalled(bank, "dentist appointment doctor")) == 2


def test_a_document_is_never_served_with_an_item_that_was_removed(real: Hindsight) -> None:
    """An email without one recipient is returned without it at every budget, and only from the removal on."""
    bank = real.bank("alice")
    (email,) = say(bank, 1, EMAIL, records=ITEMS).unit_ids
    bo = bank.document_items(email)[1].id
    result = say(bank, 3, "User removed Bo Chen from the email; Ann Lee stays", removes=[2])
    assert (result.closed, [done.unit_id for done in result.removed]) == ((), [bo])
    (event,) = bank.history(bo)
    assert (event.kind, event.by_unit) == (ValidityKind.CLOSED, result.unit_ids[0])
    assert event.effective_at == datetime(2024, 5, 3, 10, tzinfo=UTC)
    served = "\n- ".join([EMAIL, "recipients: Ann Lee", "key points: travel", "key points: hiring"])
    (item,) = (item for item in bank.recall("budget email recipients").units if item.unit.id == email)
    assert (item.text, item.unit.text, item.valid) == (served, EMAIL, True)
    assert [item.tokens] == default_token_counter().count([served])
    for budget in range(1, item.tokens + 2):
        tight = bank.recall("budget email recipients", max_tokens=budget)
        assert tight.tokens <= budget
        shown = [other.text for other in tight.units if other.unit.id in (email, bo)]
        assert not any("Bo Chen" in text for text in shown)
        assert shown == [served] or budget < item.tokens
    (before,) = bank.recall("budget email recipients", as_of="2024-05-02").units
    assert (before.unit.id, before.text) == (
        email,
        served.replace("Ann Lee\n", "Ann Lee\n- recipients: Bo Chen\n"),
    )


def test_what_removed_an_item_is_a_memory_like_any_other(real: Hindsight) -> None:
    """The removal is a memory with its own rank and counts towards k; the token counts are those of the returned texts."""
    bank = real.bank("alice")
    (email,) = say(bank, 1, EMAIL, records=ITEMS).unit_ids
    (later,) = say(bank, 3, "User removed Bo Chen from the email; Ann Lee stays", removes=[2]).unit_ids
    found = bank.recall("budget email recipients")
    assert {item.unit.id for item in found.units} == {email, later}
    counted = default_token_counter().count([item.text for item in found.units])
    assert [item.tokens for item in found.units] == counted
    assert found.tokens == sum(counted)
    (best,) = bank.recall("budget email recipients", k=1).units
    assert best == found.units[0]


def test_two_removals_of_the_same_item_end_it_once(light: Hindsight) -> None:
    """The first one counts, and the second is not reported as ambiguous."""
    bank = light.bank("alice")
    (email,) = say(bank, 1, EMAIL, records=ITEMS).unit_ids
    first = say(bank, 3, "User removed Bo Chen from the email", removes=[2])
    say(bank, 4, "User struck travel off the email", removes=[3])
    again = say(bank, 5, "User said once more that Bo Chen is not to get the email", removes=[2])
    assert (again.removed, again.dropped) == ((), ())
    (done,) = first.removed
    assert [event.by_unit for event in bank.history(done.unit_id)] == list(first.unit_ids)
    assert [item.text for item in bank.document_items(email)] == ["recipients: Ann Lee", "key points: hiring"]


def test_the_same_retain_again_adds_no_event(light: Hindsight) -> None:
    """Retaining the message twice adds one entry to the log, and a restored memory stays restored."""
    bank = light.bank("alice")
    (old,) = say(bank, 1, HOME).unit_ids
    say(bank, 5, MOVED, invalidates=(HOME,))
    bank.restore(old)
    say(bank, 5, MOVED, invalidates=(HOME,))
    assert len(bank.history(old)) == 2
    assert HOME in recalled(bank, "Paris home")


def test_another_users_words_close_nothing(light: Hindsight) -> None:
    """In a bank shared by tags, Bob's statement does not end Alice's memory."""
    bank = light.bank("shared")
    say(bank, 1, HOME, tags=["alice"])
    assert say(bank, 5, MOVED, invalidates=(HOME,), tags=["bob"]).closed == ()
    assert say(bank, 6, MOVED, invalidates=(HOME,), tags=["alice"]).closed


def test_the_validity_mark_agrees_with_the_filter(light: Hindsight) -> None:
    """For a memory closed within the second of `as_of`, mark and filter agree."""
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


VIENNA = "User lives in Vienna and keeps two cats."


def test_what_a_replacing_memory_left_out_stays_gone(light: Hindsight) -> None:
    """From Vienna to Toronto, and on to Rome: the end of Toronto does not restore Vienna, and the cats are kept."""
    bank = light.bank("alice")
    (home,) = say(bank, 1, VIENNA).unit_ids
    change = {"unit_id": home, "change": "replaces", "removed": ["User lives in Vienna"]}
    moved = say(bank, 2, "User moved to Toronto and keeps two cats.", changes=[change])
    assert [done.unit_id for done in moved.closed] == [home]
    change = {"unit_id": moved.unit_ids[0], "change": "replaces", "removed": ["moved to Toronto"]}
    left = say(bank, 3, "User moved on to Rome with two cats.", changes=[change])
    assert [done.unit_id for done in left.closed] == list(moved.unit_ids)
    assert set(recalled(bank, "Where does User live?")) == {"User moved on to Rome with two cats."}
    assert set(recalled(bank, "Where does User live?", as_of="2024-05-01T12:00")) == {VIENNA}


def test_what_a_message_replaced_holds_again_once_the_message_is_edited(light: Hindsight) -> None:
    """A memory that an edited message had ended is restored."""
    bank = light.bank("alice")
    (home,) = say(bank, 1, VIENNA, thread="t").unit_ids
    change = {"unit_id": home, "change": "replaces", "removed": ["User lives in Vienna"]}
    moved = say(bank, 2, "User moved to Toronto and keeps two cats.", thread="t", changes=[change])
    assert len(moved.closed) == 1
    lamp = "User bought a lamp."
    edited = bank.retain(
        [{"role": "user", "content": lamp, "id": "d2"}],
        timestamp="2024-05-04T10:00",
        thread="t",
        facts=[{"what": lamp, "sources": ["d2"]}],
    )
    assert home in edited.restored
    assert set(recalled(bank, "Where does User live?")) == {VIENNA, lamp}


@pytest.mark.slow
def test_a_thousand_removals_of_one_item(light: Hindsight) -> None:
    """However often an item is removed, it ends once, and recall of the document stays fast."""
    bank = light.bank("alice")
    (email,) = say(bank, 1, EMAIL, records=ITEMS).unit_ids
    change = {"sources": ["d1"], "change": "removes", "items": [2]}
    facts = [
        {"what": f"User took Bo off, time {n}.", "sources": ["d2"], "changes": [change]} for n in range(1000)
    ]
    message = {"role": "user", "content": "Bo is off.", "id": "d2"}
    result = bank.retain([message], timestamp="2024-05-02T10:00", facts=facts)
    assert len(result.removed) == 1
    (served,) = (item for item in bank.recall(EMAIL, max_tokens=8000).units if item.unit.id == email)
    assert "Bo Chen" not in served.text
