"""A document that was dictated is one memory: its items are withdrawn one by one, and recall serves it whole without those."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hindsight_integrations import Channel, Hindsight, HindsightConfig, InvalidRequest
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

Opener = Callable[..., Hindsight]
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

AGENDA = "Agenda of the harbour meeting: crane repair, new mooring fees and pier lights."
ITEMS = ["crane repair", "new mooring fees", "pier lights"]
WITHOUT_FEES = "Agenda of the harbour meeting: crane repair and pier lights."
FEES = "'new mooring fees' is an item of the agenda of the harbour meeting"


def say(bank: MemoryBank, day: int, what: str, **fact: Any) -> RetainResult:
    """Retain one message of a day in May with one extracted fact."""
    message = {"role": "user", "content": what, "id": f"d{day}"}
    return bank.retain(
        [message],
        timestamp=f"2024-05-{day:02d}T10:00",
        facts=[{"what": what, "sources": [f"d{day}"], **fact}],
    )


def dictate(bank: MemoryBank, text: str = AGENDA, items: list[str] = ITEMS, day: int = 1) -> str:
    """Retain a document; returns its memory's id."""
    records = [{"kind": "document_item", "category": "agenda", "value": item} for item in items]
    entities = [{"text": "Harbour Council", "type": "ORGANIZATION"}]
    (unit_id,) = say(
        bank, day, text, records=records, entities=entities, occurred_start="2024-05-20"
    ).unit_ids
    return unit_id


def strike(bank: MemoryBank, day: int = 3, *statements: str, source: str = "d1") -> RetainResult:
    """Take items of the document that a message dictated back."""
    return say(
        bank,
        day,
        f"User struck something off the harbour agenda on day {day}",
        changes=[{"sources": [source], "change": "part", "part": part} for part in statements or [FEES]],
        entities=[{"text": "Harbour Council", "type": "ORGANIZATION"}],
    )


def served(
    bank: MemoryBank, unit_id: str, query: str = "agenda of the harbour meeting", **options: Any
) -> RecalledUnit:
    (found,) = [item for item in bank.recall(query, **options).units if item.unit.id == unit_id]
    return found


def values(bank: MemoryBank, **options: Any) -> list[str]:
    """The items that are listed."""
    return [str(item.record.value) for item in bank.records.list(kind="document_item", **options)]


def test_one_item_is_withdrawn_and_two_are_served_by_every_channel(real: Hindsight) -> None:
    """Whichever channel finds the agenda, it is served without the item taken back, and without a note."""
    bank = real.bank("port")
    agenda = dictate(bank)
    (done,) = strike(bank).amended
    assert (done.unit_id, done.records) == (agenda, (1,))
    options: dict[Channel, dict[str, Any]] = {
        Channel.SEMANTIC: {},
        Channel.KEYWORD: {"query": "mooring fees"},
        Channel.GRAPH: {"query": "What does the Harbour Council plan?"},
        Channel.TEMPORAL: {"window": ("2024-05-19", "2024-05-21")},
    }
    for channel, asked in options.items():
        found = served(bank, agenda, **asked)
        assert channel in found.channels
        assert (found.text, found.unit.text, found.valid) == (WITHOUT_FEES, AGENDA, True)
        assert found.tokens < found.unit.tokens


def test_before_the_withdrawal_the_document_is_whole(light: Hindsight) -> None:
    """as_of an earlier day the whole agenda is served; history shows it whole, with the note."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    assert served(bank, agenda, as_of="2024-05-02").text == AGENDA
    assert served(bank, agenda, as_of="2024-05-04").text == WITHOUT_FEES
    assert served(bank, agenda, include_invalidated=True).text == f"{AGENDA} [Partly withdrawn later: {FEES}]"
    assert bank.get(agenda).text == AGENDA
    assert [item.closed_at is None for item in bank.get(agenda).records] == [True, False, True]


def test_a_withdrawn_item_is_neither_listed_nor_counted(light: Hindsight) -> None:
    """Lists and counts over items leave it out from then on."""
    bank = light.bank("port")
    dictate(bank)
    strike(bank)
    assert values(bank) == ["crane repair", "pier lights"]
    assert values(bank, as_of="2024-05-02") == ITEMS
    assert bank.records.aggregate("count", kind="document_item").value == 2


def test_a_record_is_restored_by_hand(light: Hindsight) -> None:
    """What was taken back by mistake is served and listed again; restoring twice changes nothing."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    assert [bank.restore(agenda, record=1), bank.restore(agenda, record=1)] == [True, False]
    assert served(bank, agenda).text == AGENDA
    assert values(bank) == ITEMS
    kinds = [(event.kind, event.record) for event in bank.history(agenda)]
    assert kinds == [(ValidityKind.AMENDED, 1), (ValidityKind.RESTORED, 1)]
    assert served(bank, agenda, as_of="2024-05-04").text == WITHOUT_FEES
    assert not bank.restore(agenda)
    for wrong in (3, -1, "1", True):
        with pytest.raises(InvalidRequest, match="record"):
            bank.restore(agenda, record=wrong)  # type: ignore[arg-type]


def test_an_item_added_again_lives_again(light: Hindsight) -> None:
    """Put back on the agenda, the item is a memory of its own; the document stays without it."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    again = "User put new mooring fees back on the agenda of the harbour meeting"
    say(
        bank, 5, again, records=[{"kind": "document_item", "category": "agenda", "value": "new mooring fees"}]
    )
    assert served(bank, agenda).text == WITHOUT_FEES
    assert again in {item.text for item in bank.recall("mooring fees").units}
    assert sorted(values(bank)) == sorted(ITEMS)


def test_items_go_one_by_one_and_the_last_takes_the_memory_along(light: Hindsight) -> None:
    """A second item leaves one; with the third nothing is left to remember."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    strike(bank, 4, "'crane repair' is an item of the agenda of the harbour meeting")
    assert served(bank, agenda).text == "Agenda of the harbour meeting: pier lights."
    last = strike(bank, 5, "'pier lights' is an item of the agenda of the harbour meeting")
    assert [done.unit_id for done in last.closed] == [agenda]
    assert agenda not in {item.unit.id for item in bank.recall("agenda of the harbour meeting").units}


def test_two_items_of_one_message_are_two(light: Hindsight) -> None:
    """One statement for two items, or two statements of one fact, withdraw both."""
    bank = light.bank("port")
    agenda = dictate(bank)
    both = strike(bank, 3, FEES, "'crane repair' is an item of the agenda of the harbour meeting")
    assert [done.records for done in both.amended] == [(1,), (0,)]
    assert served(bank, agenda).text == "Agenda of the harbour meeting: pier lights."


def test_what_cannot_be_cut_is_noted_and_closed_all_the_same(light: Hindsight) -> None:
    """In prose the item stays in the text with a note beside it, and is no longer listed."""
    bank = light.bank("port")
    prose = "User plans the agenda of the harbour meeting around new mooring fees, which come before the crane repair."
    agenda = dictate(bank, prose, ["new mooring fees", "crane repair"])
    strike(bank)
    assert served(bank, agenda).text == f"{prose} [Partly withdrawn later: {FEES}]"
    assert values(bank) == ["crane repair"]


def test_a_document_that_ends_goes_with_its_items(light: Hindsight) -> None:
    """Where the agenda itself is named, nothing of it stays."""
    bank = light.bank("port")
    agenda = dictate(bank)
    ended = say(bank, 3, "The harbour meeting is off", changes=[{"sources": ["d1"], "change": "ends"}])
    assert [done.unit_id for done in ended.closed] == [agenda]
    assert values(bank) == []


def test_a_model_names_the_item_and_sees_it_no_more(opener: Opener) -> None:
    """A model that is shown the document and names a part of it withdraws that item; the next one is shown the rest."""
    prompts: list[str] = []

    def reply(messages: list[BaseMessage]) -> Reply:
        prompts.append(str(messages[1].content))
        (number,) = re.findall(r"^\[(\d+)\].*Agenda of the harbour", prompts[-1], re.MULTILINE)
        change = {"memory": int(number), "change": "part", "part": "new mooring fees"}
        struck = {
            "what": "User struck the mooring fees off the harbour agenda.",
            "sources": ["new"],
            "changes": [change],
        }
        return {"facts": [struck] if len(prompts) == 1 else []}

    bank = opener(config=LIGHT, model=ScriptedModel(reply)).bank("port")
    agenda = dictate(bank)
    message = {"role": "user", "content": "No mooring fees on the harbour agenda, please.", "id": "new"}
    (done,) = bank.retain([message], timestamp="2024-05-09T10:00").amended
    assert (done.unit_id, done.records) == (agenda, (1,))
    assert served(bank, agenda).text == WITHOUT_FEES
    again = {"role": "user", "content": "How is the harbour agenda coming along?", "id": "later"}
    bank.retain([again], timestamp="2024-05-10T10:00")
    assert AGENDA in prompts[0]
    assert WITHOUT_FEES in prompts[1]
    assert AGENDA not in prompts[1]


def test_budgets_count_what_is_served(light: Hindsight) -> None:
    """A budget of just the shorter text holds the document, and no budget is ever exceeded."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    cost = served(bank, agenda).tokens
    for budget in range(1, cost + 3):
        found = bank.recall("agenda of the harbour meeting", max_tokens=budget, k=1)
        assert found.tokens <= budget
    assert agenda in {
        item.unit.id for item in bank.recall("agenda of the harbour meeting", max_tokens=cost).units
    }


def test_forgetting_the_withdrawal_does_not_bring_the_item_back(light: Hindsight) -> None:
    """Once the memory that struck the item is erased the item stays out; where it cannot be cut, its own words are the note."""
    bank = light.bank("port")
    prose = "User plans the night of the harbour lamps around new lamp posts, which come before the paint."
    agenda, plan = dictate(bank), dictate(bank, prose, ["new lamp posts", "the paint"], day=2)
    (struck,) = strike(bank).unit_ids
    (gone,) = strike(
        bank, 4, "'new lamp posts' is an item of the night of the harbour lamps", source="d2"
    ).unit_ids
    for unit_id in (struck, gone):
        bank.forget(unit=unit_id)
    found = served(bank, agenda)
    assert (found.text, [part.by_unit for part in found.amendments]) == (WITHOUT_FEES, [""])
    assert served(bank, agenda, as_of="2024-05-02").text == AGENDA
    lamps = served(bank, plan, "the night of the harbour lamps")
    assert lamps.text == f"{prose} [Partly withdrawn later: new lamp posts]"
    assert sorted(values(bank)) == ["crane repair", "pier lights", "the paint"]


def test_forgetting_the_document_erases_its_items(light: Hindsight) -> None:
    """Nothing of it is found or listed, and what struck an item of it goes with it."""
    bank = light.bank("port")
    agenda = dictate(bank)
    (struck,) = strike(bank).unit_ids
    bank.forget(unit=agenda)
    assert not {agenda, struck} & {
        item.unit.id for item in bank.recall("agenda of the harbour meeting").units
    }
    assert values(bank) == []


def test_an_archive_carries_what_was_withdrawn(light: Hindsight) -> None:
    """A bank loaded from an archive serves and lists the document as the first one did."""
    bank = light.bank("port")
    dictate(bank)
    strike(bank)
    target = io.StringIO()
    bank.archive.export(target)
    copy = light.bank("copy")
    copy.archive.load(io.StringIO(target.getvalue()))
    texts = {item.text for item in copy.recall("agenda of the harbour meeting").units}
    assert WITHOUT_FEES in texts
    assert AGENDA not in texts
    assert values(copy) == ["crane repair", "pier lights"]
