"""A dictated document is a head with items, which end one by one; recall returns the head with the valid items."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hindsight_integrations import Channel, Hindsight, HindsightConfig, InvalidRequest
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

Opener = Callable[..., Hindsight]
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

AGENDA = "Agenda of the harbour meeting."
ITEMS = ["crane repair", "new mooring fees", "pier lights"]


def text(*items: str) -> str:
    return "\n".join([AGENDA, *(f"- agenda: {item}" for item in items)])


def say(bank: MemoryBank, day: int, what: str, **fact: Any) -> RetainResult:
    """Retain one message on a day in May with one extracted fact."""
    message = {"role": "user", "content": what, "id": f"d{day}"}
    return bank.retain(
        [message],
        timestamp=f"2024-05-{day:02d}T10:00",
        facts=[{"what": what, "sources": [f"d{day}"], **fact}],
    )


def records(*items: str) -> list[dict[str, str]]:
    return [{"kind": "document_item", "category": "agenda", "value": item} for item in items]


def dictate(bank: MemoryBank, *items: str, day: int = 1, what: str = AGENDA) -> str:
    """Retain a document; return its memory's id."""
    entities = [{"text": "Harbour Council", "type": "ORGANIZATION"}]
    given = records(*(items or ITEMS))
    (unit_id,) = say(bank, day, what, records=given, entities=entities, occurred_start="2024-05-20").unit_ids
    return unit_id


def strike(bank: MemoryBank, *items: int, day: int = 3) -> RetainResult:
    """Remove items of the first day's document."""
    change = {"sources": ["d1"], "change": "removes", "items": list(items or (2,))}
    return say(bank, day, f"Something is struck off the harbour agenda on day {day}", changes=[change])


def served(
    bank: MemoryBank, unit_id: str, query: str = "agenda of the harbour meeting", **options: Any
) -> RecalledUnit:
    (found,) = [item for item in bank.recall(query, **options).units if item.unit.id == unit_id]
    return found


def values(bank: MemoryBank, **options: Any) -> list[str]:
    """The listed items."""
    return [str(entry.record.value) for entry in bank.records.list(kind="document_item", **options)]


def test_every_channel_finds_the_document_without_the_item_that_ended(real: Hindsight) -> None:
    """Every channel finds it, by its head or an item: once, complete, without removed items."""
    bank = real.bank("port")
    agenda = dictate(bank)
    (done,) = strike(bank).removed
    assert done.statement == "agenda: new mooring fees"
    options: dict[Channel, dict[str, Any]] = {
        Channel.SEMANTIC: {},
        Channel.KEYWORD: {"query": "pier lights"},
        Channel.GRAPH: {"query": "What does the Harbour Council plan?"},
        Channel.TEMPORAL: {"window": ("2024-05-19", "2024-05-21")},
    }
    for channel, asked in options.items():
        found = served(bank, agenda, **asked)
        assert channel in found.channels
        assert (found.text, found.valid) == (text("crane repair", "pier lights"), True)


def test_a_document_is_one_memory(light: Hindsight) -> None:
    """Counts, lists and results contain the document, but not its items as memories."""
    bank = light.bank("port")
    result = say(bank, 1, AGENDA, records=records(*ITEMS))
    assert (result.created, len(result.unit_ids), bank.count()) == (1, 1, 1)
    assert [unit.text for unit in bank.units().units] == [AGENDA]
    assert len(bank.recall("crane repair, mooring fees and pier lights").units) == 1


def test_at_an_earlier_moment_the_document_is_whole(light: Hindsight) -> None:
    """History shows when the item ended."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    assert served(bank, agenda, as_of="2024-05-02").text == text(*ITEMS)
    assert served(bank, agenda, as_of="2024-05-04").text == text("crane repair", "pier lights")
    history = bank.recall("new mooring fees on the harbour agenda", include_invalidated=True).units
    assert [unit.text for unit in history if not unit.valid] == ["agenda: new mooring fees"]


def test_an_item_that_ended_is_neither_listed_nor_counted(light: Hindsight) -> None:
    bank = light.bank("port")
    dictate(bank)
    strike(bank)
    assert values(bank) == ["crane repair", "pier lights"]
    assert values(bank, as_of="2024-05-02") == ITEMS
    assert bank.records.aggregate("count", kind="document_item").value == 2


def test_an_item_is_restored_by_hand(light: Hindsight) -> None:
    """An item removed by mistake is returned and listed again; restoring it twice changes nothing."""
    bank = light.bank("port")
    agenda = dictate(bank)
    (done,) = strike(bank).removed
    assert [bank.restore(done.unit_id), bank.restore(done.unit_id)] == [True, False]
    assert served(bank, agenda).text == text(*ITEMS)
    assert values(bank) == ITEMS
    assert served(bank, agenda, as_of="2024-05-04").text == text("crane repair", "pier lights")


def test_an_item_withdrawn_by_hand_goes_alone(light: Hindsight) -> None:
    bank = light.bank("port")
    agenda = dictate(bank)
    (_, fees, _) = bank.document_items(agenda)
    assert bank.withdraw(fees.id)
    assert served(bank, agenda).text == text("crane repair", "pier lights")


def test_without_items_the_head_stays(light: Hindsight) -> None:
    """An empty list is still a list; items added to it are returned with it."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank, 1, 2, 3)
    assert served(bank, agenda).text == AGENDA
    say(bank, 5, "Lanterns are on the agenda", adds_to={"sources": ["d1"]}, records=records("lanterns"))
    assert served(bank, agenda).text == text("lanterns")


def test_a_document_that_ends_goes_with_its_items(light: Hindsight) -> None:
    """If the agenda itself ends, none of it stays valid; restored, it has the same items."""
    bank = light.bank("port")
    agenda = dictate(bank)
    strike(bank)
    ended = say(bank, 4, "The harbour meeting is off", changes=[{"sources": ["d1"], "change": "ends"}])
    assert [done.unit_id for done in ended.closed] == [agenda]
    assert values(bank) == []
    assert bank.restore(agenda)
    assert served(bank, agenda).text == text("crane repair", "pier lights")
    assert bank.withdraw(agenda, reason="the pier burnt down")
    assert values(bank) == []
    assert bank.restore(agenda)
    assert values(bank) == ["crane repair", "pier lights"]


def test_a_document_dictated_again_takes_the_place_of_the_first(light: Hindsight) -> None:
    """Repeated items count as kept details of the replaced document."""
    bank = light.bank("port")
    first = dictate(bank)
    change = {"sources": ["d1"], "change": "replaces", "removed": ["pier lights"]}
    result = say(
        bank, 4, AGENDA, records=records("crane repair", "new mooring fees", "paint"), changes=[change]
    )
    assert ([done.unit_id for done in result.closed], result.dropped) == ([first], ())
    assert values(bank) == ["crane repair", "new mooring fees", "paint"]
    short = say(bank, 5, AGENDA, records=records("paint"), changes=[{**change, "sources": ["d4"]}])
    assert not short.closed
    assert "crane repair" in short.dropped[0].reason


def test_a_model_is_shown_numbered_items_and_names_them(opener: Opener) -> None:
    """It removes one by its number and adds one; the next prompt shows the valid items with the same numbers."""
    prompts: list[str] = []

    def reply(messages: list[BaseMessage]) -> Reply:
        prompts.append(str(messages[1].content))
        (number,) = re.findall(r"^\[(\d+)\].*Agenda of the harbour", prompts[-1], re.MULTILINE)
        struck = {
            "what": "The user put lanterns on the harbour agenda in place of mooring fees.",
            "sources": ["new"],
            "changes": [{"memory": int(number), "change": "removes", "items": [2]}],
            "adds_to": int(number),
            "records": records("lanterns"),
        }
        return {"facts": [struck] if len(prompts) == 1 else []}

    bank = opener(config=LIGHT, model=ScriptedModel(reply)).bank("port")
    agenda = dictate(bank)
    message = {
        "role": "user",
        "content": "Lanterns instead of mooring fees on the harbour agenda, please.",
        "id": "new",
    }
    bank.retain([message], timestamp="2024-05-09T10:00")
    assert served(bank, agenda).text == text("crane repair", "pier lights", "lanterns")
    again = {"role": "user", "content": "How is the harbour agenda coming along?", "id": "later"}
    bank.retain([again], timestamp="2024-05-10T10:00")
    shown = [re.findall(r"^\[\d+\.(\d+)\] agenda: (.*)$", prompt, re.MULTILINE) for prompt in prompts]
    assert shown[0] == [("1", "crane repair"), ("2", "new mooring fees"), ("3", "pier lights")]
    assert shown[1] == [("1", "crane repair"), ("3", "pier lights"), ("4", "lanterns")]


def test_two_turns_that_remove_the_same_item_remove_one(light: Hindsight) -> None:
    """Numbers never change, so the second turn finds the item removed and removes no other."""
    bank = light.bank("port")
    agenda = dictate(bank)
    assert [len(strike(bank, 2, day=day).removed) for day in (3, 4)] == [1, 0]
    assert values(bank) == ["crane repair", "pier lights"]
    assert served(bank, agenda).text == text("crane repair", "pier lights")


def test_two_turns_at_once_that_remove_the_same_item(real: Hindsight) -> None:
    """Neither fails, and no other item is removed; a message of an earlier day that arrives later moves the end to its time."""
    bank = real.bank("port")
    agenda = dictate(bank)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda day: strike(bank, 2, day=day), range(3, 11)))
    assert sum(len(result.removed) for result in results) >= 1
    assert [result.dropped for result in results] == [()] * 8
    assert served(bank, agenda).text == text("crane repair", "pier lights")


def test_two_turns_at_once_that_add_items_give_each_a_number(real: Hindsight) -> None:
    bank = real.bank("port")
    agenda = dictate(bank)

    def add(day: int) -> RetainResult:
        given = records(f"pier {day}", f"shed {day}")
        return say(bank, day, f"More for the agenda, day {day}", adds_to={"sources": ["d1"]}, records=given)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(3, 11)))
    numbers = [item.number for item in bank.document_items(agenda)]
    assert numbers == list(range(1, 20))


def test_an_item_is_named_by_its_number_and_not_by_its_id(light: Hindsight) -> None:
    """The error for an id of an item in `changes` says how to name the item; nothing ends."""
    bank = light.bank("port")
    agenda = dictate(bank)
    (crane, _, _) = bank.document_items(agenda)
    result = say(bank, 3, "No crane", changes=[{"unit_id": crane.id, "change": "ends"}])
    assert [item.reason for item in result.dropped] == [
        "changes: the named memory is an item of a document; name the document, and the item's number in `items`"
    ]
    assert values(bank) == ITEMS


def test_a_document_of_twenty_thousand_tokens(real: Hindsight) -> None:
    """Every item is found within any budget, and one of them is removed."""
    bank = real.bank("port")
    many = [
        f"Berth {number}: the quay wall between bollards {number} and {number + 1} is measured, painted and numbered, "
        f"and the harbour master signs for it in book {number * 7}."
        for number in range(520)
    ]
    long = dictate(bank, *many)
    whole = served(bank, long, max_tokens=100_000)
    assert whole.tokens > 20_000
    for number in (0, 259, 519):
        (found, *_) = bank.recall(f"Which book is signed for berth {number}?", max_tokens=600).units
        assert f"Berth {number}:" in found.text
    strike(bank, 260)
    assert "Berth 259:" not in served(bank, long, max_tokens=100_000).text


def test_a_document_that_does_not_fit_is_served_with_what_matches_best(real: Hindsight) -> None:
    """It is marked as cut and within the budget, for every budget."""
    bank = real.bank("port")
    many = [f"berth {number} gets a new bollard and a coat of paint" for number in range(200)]
    long = dictate(bank, *many, "the lighthouse keeper brings his violin")
    for budget in (80, 200, 1_000, 10_000):
        found = bank.recall("Who plays the violin at the harbour meeting?", max_tokens=budget)
        assert found.tokens <= budget
        (unit,) = found.units
        assert unit.unit.id == long
        assert "violin" in unit.text
        assert ("[cut: " in unit.text) == (budget < 10_000)
        assert unit.tokens == found.tokens


def test_budgets_count_what_is_served(light: Hindsight) -> None:
    bank = light.bank("port")
    dictate(bank)
    strike(bank)
    for budget in range(1, 60):
        assert bank.recall("agenda of the harbour meeting", max_tokens=budget).tokens <= budget


def test_a_compact_document_has_its_items(light: Hindsight) -> None:
    bank = light.bank("port")
    agenda = dictate(bank)
    found = served(bank, agenda, text="compact")
    assert [line for line in found.text.splitlines() if line.startswith("- ")] == [
        f"- agenda: {item}" for item in ITEMS
    ]


def test_other_tags_cannot_change_a_document(light: Hindsight) -> None:
    """The removal and the addition are rejected, the fact is stored with its items, and the result says why."""
    bank = light.bank("port")
    agenda = dictate(bank)
    fact = {
        "what": "Lanterns on the agenda",
        "sources": ["x"],
        "changes": [{"unit_id": agenda, "change": "removes", "items": [1]}],
        "adds_to": {"unit_id": agenda},
        "records": records("lanterns"),
    }
    message = {"role": "user", "content": "Lanterns", "id": "x"}
    result = bank.retain([message], timestamp="2024-05-09", tags=["private"], facts=[fact])
    assert [item.reason for item in result.dropped] == [
        f"{field}: the named memory has different tags" for field in ("changes", "adds_to")
    ]
    assert values(bank, tags=["private"], tags_match="all_strict") == ["lanterns"]
    assert served(bank, agenda).text == text(*ITEMS)


def test_a_document_is_seen_by_those_who_see_its_head(light: Hindsight) -> None:
    """The head's tags apply to its items in every recall, list and sum; an item cannot have separate tags."""
    bank = light.bank("port")
    agenda = dictate(bank)
    bank.edit(agenda, tags=["council"])
    asked = {"tags": ["public"], "tags_match": "any_strict"}
    assert bank.recall("crane repair, pier lights", **asked).units == ()  # type: ignore[arg-type]
    assert values(bank, **asked) == []
    assert values(bank, tags=["council"], tags_match="any_strict") == ITEMS
    item = bank.document_items(agenda)[0]
    assert item.tags == ("council",)
    with pytest.raises(InvalidRequest, match="tags of its document"):
        bank.edit(item.id, tags=["public"])


def test_metadata_of_the_head_decide(light: Hindsight) -> None:
    """An item with other metadata is returned with its document, and never without it."""
    bank = light.bank("port")
    agenda = dictate(bank)
    fact = {
        "what": "Lanterns on the agenda",
        "sources": ["x"],
        "adds_to": {"unit_id": agenda},
        "records": records("lanterns"),
    }
    message = {"role": "user", "content": "Lanterns", "id": "x"}
    bank.retain([message], timestamp="2024-05-09", metadata={"channel": "mail"}, facts=[fact])
    found = bank.recall("lanterns", metadata={"channel": "mail"}).units
    assert [unit.text for unit in found] == ["Lanterns on the agenda"]
    assert served(bank, agenda, "lanterns").text == text(*ITEMS, "lanterns")


def test_a_corrected_item_is_served_and_listed_as_corrected(light: Hindsight) -> None:
    bank = light.bank("port")
    agenda = dictate(bank)
    fees = bank.document_items(agenda)[1]
    bank.edit(fees.id, text="agenda: lower mooring fees")
    assert served(bank, agenda).text == text("crane repair", "lower mooring fees", "pier lights")
    assert values(bank) == ["crane repair", "lower mooring fees", "pier lights"]
    assert bank.recall("lower mooring fees").damaged == ()


def test_what_rests_on_a_document_rests_on_its_items(light: Hindsight) -> None:
    """A mental model that cites the agenda is out of date when one of its items ends or is added."""
    bank = light.bank("port")
    dictate(bank)
    model = bank.mental_models.create("agenda", "What is on the agenda of the harbour meeting?")
    bank.mental_models.refresh(model.id)
    assert "pier lights" in bank.mental_models.get(model.id).text
    assert not bank.mental_models.get(model.id).withdrawn
    strike(bank)
    assert bank.mental_models.get(model.id).withdrawn


def test_forgetting_the_document_erases_its_items(light: Hindsight) -> None:
    """The memory that removed an item is a memory like any other."""
    bank = light.bank("port")
    agenda = dictate(bank)
    (struck,) = strike(bank).unit_ids
    bank.forget(unit=agenda)
    found = {item.unit.id for item in bank.recall("agenda of the harbour meeting").units}
    assert (agenda in found, struck in found) == (False, True)
    assert values(bank, include_invalidated=True) == []


def test_an_archive_carries_documents(light: Hindsight) -> None:
    """A loaded bank returns and lists them as the original did, now and with `as_of`, and can change them."""
    bank = light.bank("port")
    dictate(bank)
    strike(bank)
    target = io.StringIO()
    bank.archive.export(target)
    copy = light.bank("copy")
    copy.archive.load(io.StringIO(target.getvalue()))
    (unit,) = [each for each in copy.recall("agenda of the harbour meeting").units if each.document]
    assert unit.text == text("crane repair", "pier lights")
    assert values(copy, as_of="2024-05-02") == ITEMS
    say(copy, 6, "Lanterns too", adds_to={"unit_id": unit.unit.id}, records=records("lanterns"))
    assert [item.number for item in copy.document_items(unit.unit.id)] == [1, 3, 4]


def test_numbers_are_never_given_again(light: Hindsight) -> None:
    """Not even the number of the last item is reused when the message that added it is forgotten."""
    bank = light.bank("port")
    agenda = dictate(bank)
    say(bank, 3, "Lanterns too", adds_to={"unit_id": agenda}, records=records("lanterns"))
    bank.forget(thread="", message="d3")
    say(bank, 4, "Paint too", adds_to={"unit_id": agenda}, records=records("paint"))
    assert [item.number for item in bank.document_items(agenda)] == [1, 2, 3, 5]


def test_a_fact_that_replaces_a_document_keeps_its_items(light: Hindsight) -> None:
    """It cannot also add them to the document that it ends."""
    bank = light.bank("port")
    first = dictate(bank)
    changes = [{"unit_id": first, "change": "replaces", "removed": ITEMS}]
    result = say(bank, 3, AGENDA, records=records("paint"), changes=changes, adds_to={"unit_id": first})
    assert [item.reason for item in result.dropped] == ["adds_to: the named document is no longer valid"]
    assert served(bank, result.unit_ids[0]).text == text("paint")


def test_a_document_comes_back_without_what_was_withdrawn_by_hand_before(light: Hindsight) -> None:
    bank = light.bank("port")
    agenda = dictate(bank)
    assert bank.withdraw(bank.document_items(agenda)[1].id)
    assert bank.withdraw(agenda)
    assert bank.restore(agenda)
    assert served(bank, agenda).text == text("crane repair", "pier lights")


def test_an_item_that_outlives_its_document_is_listed(light: Hindsight) -> None:
    """The document's message now says something else; an item that another message added stays valid alone."""
    bank = light.bank("port")
    agenda = dictate(bank)
    say(bank, 3, "Lanterns too", adds_to={"unit_id": agenda}, records=records("lanterns"))
    message = {"role": "user", "content": "There is no meeting.", "id": "d1"}
    bank.retain([message], timestamp="2024-05-04", facts=[{"what": "No meeting", "sources": ["d1"]}])
    assert "agenda: lanterns" in {unit.text for unit in bank.units().units}
    assert "agenda: lanterns" in {unit.text for unit in bank.recall("lanterns").units}
