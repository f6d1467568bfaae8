"""A fact that replaces a memory must repeat all its valid details; missing ones are requested, otherwise nothing is replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

Opener = Callable[..., Hindsight]
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

FLAT = "The user and Anna Bell rent 62 square metres for 1,200 EUR and read 'Dune' there. | When: since May 7, 2024"
RAISED = "The user and ANNA BELL rent 62 square metres for 1300 EUR, since 2024-05-07, and read \u201cDune\u201d there."
FORGETFUL = (
    "The user and Anna Bell rent rooms for 1,300 EUR since 2024-05-07 and read \u201cDune\u201d there."
)
REMOVED = ["1,200 EUR"]
ANNA = [{"text": "Anna Bell", "type": "PERSON"}, {"text": "user", "type": "PERSON"}]
REASON = "changes: it omits '62' of the replaced memory; repeat it, or list it in `removed`"


def hold(bank: MemoryBank, what: str = FLAT, **fact: Any) -> str:
    """One memory of May 1, passed as an extracted fact."""
    facts = [{"what": what, "sources": ["old"], "entities": ANNA, **fact}]
    talk = [{"role": "user", "content": what, "id": "old"}]
    (unit,) = bank.retain(talk, timestamp="2024-05-01T10:00", facts=facts).unit_ids
    return unit


def say(bank: MemoryBank, **options: Any) -> RetainResult:
    """A message of May 9."""
    talk = [{"role": "user", "content": "The rent of the flat was raised.", "id": "new"}]
    return bank.retain(talk, timestamp="2024-05-09T10:00", **options)


def replacing(
    what: str, removed: Sequence[str] = (), *, entities: Sequence[str] = (), **fact: Any
) -> dict[str, Any]:
    """An answer whose fact replaces the first shown memory."""
    change = {"memory": 1, "change": "replaces", "removed": list(removed)}
    return {
        "facts": [{"what": what, "sources": ["new"], "changes": [change], "entities": list(entities), **fact}]
    }


def bank_of(opener: Opener, *replies: Reply, **config: Any) -> tuple[MemoryBank, ScriptedModel]:
    model = ScriptedModel(replies)
    engine = opener(model=model, config=replace(LIGHT, retain=RetainConfig(**config)))
    return engine.bank("alice"), model


def valid(bank: MemoryBank) -> set[str]:
    return {unit.text for unit in bank.units(limit=100).units}


def repair_of(model: ScriptedModel, call: int) -> str:
    """The problem in a repair request."""
    return str(model.prompts[call][-1].content)


def test_a_complete_replacement_takes_one_request(opener: Opener) -> None:
    """Numbers, dates, titles and names may have any form; ended details are in `removed`."""
    bank, model = bank_of(opener, replacing(RAISED, REMOVED))
    old = hold(bank)
    result = say(bank)
    assert ([done.unit_id for done in result.closed], result.dropped) == ([old], ())
    assert (valid(bank), model.calls) == ({RAISED}, 1)


def test_a_missing_number_goes_back_to_the_model_once(opener: Opener) -> None:
    bank, model = bank_of(opener, replacing(FORGETFUL, REMOVED), replacing(RAISED, REMOVED))
    old = hold(bank)
    result = say(bank)
    assert ([done.unit_id for done in result.closed], result.dropped) == ([old], ())
    assert (valid(bank), model.calls) == ({RAISED}, 2)
    assert f'"{FORGETFUL[:40]}' in repair_of(model, 1)
    assert "replaces memory 1 and does not tell '62' of it" in repair_of(model, 1)


def test_after_two_repairs_the_change_is_refused_and_both_stay(opener: Opener) -> None:
    """The last answer's facts are stored, and the result lists the omitted details."""
    last = FORGETFUL.replace("rooms", "a flat")
    bank, model = bank_of(
        opener, replacing("Anna moved."), replacing(FORGETFUL, REMOVED), replacing(last, REMOVED)
    )
    old = hold(bank)
    result = say(bank)
    assert (result.created, result.closed) == (1, ())
    assert [(item.what, item.reason) for item in result.dropped] == [(last, REASON)]
    assert (valid(bank), model.calls) == ({FLAT, last}, 3)
    assert not bank.history(old)


@every_row(
    ("what", "removed", "missing"),
    [
        (RAISED, [], "'1,200'"),
        (RAISED.replace("2024-05-07", "2024-05-08"), REMOVED, "'May 7, 2024'"),
        (RAISED.replace("Dune", "Emma"), REMOVED, "'Dune'"),
        (RAISED.replace("ANNA BELL", "a friend"), REMOVED, "'Anna Bell'"),
        (RAISED.replace("ANNA BELL", "a friend"), [], "'1,200', 'Anna Bell'"),
    ],
)
def test_what_goes_back_is_what_is_missing(
    opener: Opener, what: str, removed: list[str], missing: str
) -> None:
    """If the answer does not change, it is rejected with the same words."""
    answer = replacing(what, removed)
    bank, model = bank_of(opener, answer, answer, answer)
    hold(bank)
    result = say(bank)
    assert f"does not tell {missing} of it" in repair_of(model, 1)
    assert [f"it omits {missing} of the replaced memory" in item.reason for item in result.dropped] == [True]
    assert valid(bank) == {FLAT, what}


def test_what_was_removed_may_be_left_out(opener: Opener) -> None:
    """This holds even if only the words of the memory are left."""
    left = "The user and Anna Bell rent"
    removed = ["62 square metres", "for 1,200 EUR", "read 'Dune' there", "since May 7, 2024"]
    bank, model = bank_of(opener, replacing(left, removed))
    hold(bank)
    assert say(bank).dropped == ()
    assert (valid(bank), model.calls) == ({left}, 1)


def test_a_document_is_replaced_by_one_that_tells_every_item(opener: Opener) -> None:
    """A message about it does not replace it; an item may be a record or listed as removed."""
    items = ["Ana", "Leo", "budget", "watering plan"]
    records = [{"kind": "document_item", "value": value} for value in items]
    news = replacing("The invitation has a budget.", entities=(), records=records[2:3])
    rest = replacing(
        "The invitation goes to Ana, about money.",
        ["Leo", "watering plan"],
        entities=(),
        records=records[2:3],
    )
    bank, model = bank_of(opener, news, news, news, rest)
    hold(bank, "The invitation to the garden meeting.", entities=[], records=records)
    refused = say(bank, thread="one")
    assert (refused.closed, model.calls) == ((), 3)
    assert "'Ana', 'Leo', 'watering plan'" in refused.dropped[0].reason
    assert [done.statement for done in say(bank, thread="two").closed] == [
        "The invitation to the garden meeting."
    ]
    assert model.calls == 4


def test_only_what_replaces_must_tell_all(opener: Opener) -> None:
    """A fact that ends a memory need not repeat it."""
    answer = replacing("They moved out.", entities=())
    answer["facts"][0]["changes"][0]["change"] = "ends"
    bank, model = bank_of(opener, answer)
    hold(bank)
    assert (len(say(bank).closed), model.calls) == (1, 1)


@pytest.mark.parametrize("failure", [ConnectionError("down"), "no JSON"])
def test_a_repair_that_fails_costs_the_change_alone(opener: Opener, failure: Reply) -> None:
    """The model's facts are stored even if the repair request fails or gives a worse answer."""
    bank, model = bank_of(opener, replacing(FORGETFUL, REMOVED), failure, failure)
    hold(bank)
    result = say(bank)
    assert ([item.reason for item in result.dropped], result.queued) == ([REASON], ())
    assert valid(bank) == {FLAT, FORGETFUL}
    assert model.calls == (3 if isinstance(failure, str) else 2)


def test_a_caller_who_leaves_a_number_out_is_told_so(opener: Opener) -> None:
    """By id or by messages, with a model or without one: no request is made, the fact is stored, nothing is replaced."""
    for name in ({"unit_id": "OLD"}, {"sources": ["old"]}):
        bank, model = bank_of(opener)
        old = hold(bank)
        change = {
            **{key: old if value == "OLD" else value for key, value in name.items()},
            "change": "replaces",
        }
        fact = {"sources": ["new"]}
        wrong = say(bank, facts=[{**fact, "what": FORGETFUL, "changes": [{**change, "removed": REMOVED}]}])
        assert (wrong.created, wrong.closed, [item.reason for item in wrong.dropped]) == (1, (), [REASON])
        assert valid(bank) == {FLAT, FORGETFUL}
        right = {
            **fact,
            "what": FORGETFUL,
            "changes": [{**change, "removed": ["62 square metres", *REMOVED]}],
        }
        assert [done.unit_id for done in say(bank, thread="two", facts=[right]).closed] == [old]
        assert model.calls == 0


def test_a_memory_of_the_same_call_is_told_whole_too(opener: Opener) -> None:
    """The entities are those passed with it."""
    bank, _ = bank_of(opener)
    talk = [Message("Flat.", "user", "2024-05-01", "1"), Message("Raised.", "user", "2024-05-02", "2")]
    old = {"what": "Anna rents a flat.", "sources": ["1"], "entities": ["Anna", "the user"]}
    new = {
        "what": "She rents no flat.",
        "sources": ["2"],
        "changes": [{"sources": ["1"], "change": "replaces"}],
    }
    (refused,) = bank.retain(talk, facts=[old, new]).dropped
    assert "it omits 'Anna' of" in refused.reason
    result = bank.retain(talk, thread="two", facts=[old, {**new, "entities": ["Anna"]}])
    assert (len(result.closed), result.dropped) == (1, ())


def test_what_was_withdrawn_of_a_memory_need_not_be_told(opener: Opener) -> None:
    """Invalid items of a document are not part of it, whoever replaces it."""
    values = ["Ana", "Leo"]
    records = [{"kind": "document_item", "value": value} for value in values]
    for by_model in (True, False):
        bank, model = bank_of(opener, replacing("Leo comes.", entities=()))
        old = hold(bank, "Guests.", entities=[], records=records)
        gone = {"unit_id": old, "change": "removes", "items": [1]}
        talk = [{"role": "user", "content": "Ana cannot come.", "id": "gone"}]
        removed = bank.retain(
            talk, timestamp="2024-05-05", facts=[{"what": "No Ana.", "sources": ["gone"], "changes": [gone]}]
        ).removed
        assert [done.statement for done in removed] == ["Ana"]
        change = {"unit_id": old, "change": "replaces"}
        facts = [{"what": "Leo comes.", "sources": ["new"], "changes": [change]}]
        result = say(bank, **({} if by_model else {"facts": facts}))
        assert ([done.unit_id for done in result.closed], result.dropped) == ([old], ())
        assert model.calls == by_model
