"""An object belongs to its bank, not to the bank's name: after the bank is forgotten it does nothing, even if the name is used again."""

from __future__ import annotations

import asyncio
import inspect
import io
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from llama_index.core.schema import QueryBundle
from table import every_row

from hindsight_integrations import (
    AsyncMemoryBank,
    BankForgotten,
    BankNotFound,
    BankProfile,
    Hindsight,
    HindsightConfig,
    ItemPut,
    MemoryBank,
    Message,
    ModelUnavailable,
    RetainItem,
)
from hindsight_integrations.bank import reading
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
Opener = Callable[..., Hindsight]

FACTS = [
    {"what": "Alice bought a red kayak.", "entities": [{"text": "Alice"}, {"text": "Red Club"}]},
    {"what": "Bob sold a tent.", "entities": [{"text": "Bob"}]},
]
UNIT = "the id of a memory"

UNDERWAY: Any = {"query": "figs", "asked_at": "2024-05-01T00:00:00Z", "operation": "", "revision": 1}
BEGUN: Any = {**UNDERWAY, "best": [], "confidence": 0.0}
ANSWERED: Any = {
    **UNDERWAY,
    "candidates": [],
    "moves": [],
    "reflection": {"text": "Figs.", "opinions": [], "calls": 0, "tokens_in": 0, "tokens_out": 0},
}

VERBS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "retain": (("My tent leaks.",), {}),
    "retain_many": (([RetainItem("My tent leaks."), RetainItem("It rains.")],), {}),
    "recall": (("kayak",), {}),
    "reflect": (("kayak",), {}),
    "reflect_stream": (("kayak",), {}),
    "threads.follow": (([Message("My tent leaks.", id="n1")],), {"thread": "t"}),
    "reflect_stages.recall": (("kayak",), {}),
    "reflect_stages.think": ((BEGUN,), {}),
    "reflect_stages.call_tool": ((BEGUN,), {}),
    "reflect_stages.answer": ((BEGUN,), {}),
    "reflect_stages.assess": ((ANSWERED,), {}),
    "reflect_stages.commit": ((ANSWERED,), {}),
    "get": ((UNIT,), {}),
    "document_items": ((UNIT,), {}),
    "edit": ((UNIT,), {"text": "Alice bought a blue kayak."}),
    "withdraw": ((UNIT,), {}),
    "restore": ((UNIT,), {}),
    "history": ((UNIT,), {}),
    "sources": ((UNIT,), {}),
    "neighbours": ((UNIT,), {}),
    "forget": ((), {"window": ("1900-01-01", "2100-01-01")}),
    "units": ((), {}),
    "iterate_units": ((), {}),
    "opinions.list": ((), {}),
    "opinions.get": ((UNIT,), {}),
    "opinions.history": ((UNIT,), {}),
    "opinions.trajectory": ((UNIT,), {}),
    "opinions.forget": ((UNIT,), {}),
    "mental_models.create": (("boats", "Which boats are there?"), {}),
    "mental_models.get": (("boats",), {}),
    "mental_models.list": ((), {}),
    "mental_models.refresh": (("boats",), {}),
    "mental_models.delete": (("boats",), {}),
    "directives.add": (("Be brief.",), {}),
    "directives.list": ((), {}),
    "directives.remove": (("d",), {}),
    "records.list": ((), {}),
    "records.aggregate": (("count",), {}),
    "records.categories": ((), {}),
    "records.merge": (("expense", "tea", "chai"), {}),
    "records.split": (("expense", "tea"), {"spellings": ["chai"]}),
    "count": ((), {}),
    "items.get": (([(("a",), "k")],), {}),
    "items.write": (([ItemPut(("a",), "k", {"text": "A tent."}, ("A tent.",))],), {}),
    "items.search": ((), {"query": "tent"}),
    "items.namespaces": ((), {}),
    "items.forget": ((("a",),), {}),
    "items.expire": ((), {}),
    "profile.get": ((), {}),
    "profile.history": ((), {}),
    "profile.restore": ((1,), {}),
    "profile.forget_history": ((), {}),
    "profile.merge_background": (("You are Mallory.",), {}),
    "profile.set": ((BankProfile(name="Mallory"),), {}),
    "entities.list": ((), {}),
    "entities.observations": (("Alice",), {}),
    "entities.merge": (("Alice", "Bob"), {}),
    "entities.split": (("Alice",), {"names": ["Alice"]}),
    "entities.alias": (("Alice", "Ally"), {}),
    "entities.undo": ((1,), {}),
    "entities.changes": ((), {}),
    "tasks.list": ((), {}),
    "tasks.settle": ((), {}),
    "tasks.retry": ((), {}),
    "archive.export": ((io.StringIO(),), {}),
    "archive.load": ((io.StringIO(),), {}),
    "maintenance.reindex": ((), {}),
    "maintenance.edits": ((UNIT,), {}),
}


def verbs_of(face: object, prefix: str = "") -> set[str]:
    """Every public method of a bank, including those of its namespaces."""
    found = set()
    for name, member in inspect.getmembers(type(face)):
        if name.startswith("_") or isinstance(inspect.getattr_static(face, name), classmethod):
            continue
        # does not use the bank: the returned object belongs to the old one, see below
        if name == "with_profile":
            continue
        if inspect.isfunction(member):
            found.add(prefix + name)
        elif isinstance(member, property) and not prefix and name not in {"name", "asynchronous"}:
            found |= verbs_of(getattr(face, name), f"{name}.")
    return found


def called(bank: MemoryBank | AsyncMemoryBank, verb: str, unit: str) -> Any:
    """The result of a method, sync or async."""
    args, options = VERBS[verb]
    given = attrgetter(verb)(bank)(*(unit if arg is UNIT else arg for arg in args), **options)
    if inspect.isasyncgen(given):

        async def collected() -> list[Any]:
            return [item async for item in given]

        return asyncio.run(collected())
    if inspect.iscoroutine(given):
        return asyncio.run(given)
    return list(given) if inspect.isgenerator(given) else given


async def awaited(verb: Callable[[], Awaitable[object]]) -> object:
    return await verb()


def archived(bank: MemoryBank) -> str:
    target = io.StringIO()
    bank.archive.export(target)
    return target.getvalue()


def replaced(hindsight: Hindsight) -> tuple[MemoryBank, MemoryBank, str]:
    """A forgotten bank, the bank imported in its place with the same memories, and the id of one of these."""
    old = hindsight.bank("alice")
    old.retain("Alice and Bob went shopping.", facts=FACTS)
    archive = archived(old)
    hindsight.forget_bank("alice")
    new = hindsight.bank("alice")
    new.archive.load(io.StringIO(archive))
    return old, new, new.units().units[0].id


def test_every_method_of_both_apis_is_tried_here(light: Hindsight) -> None:
    """A new method of a bank must be added to this file."""
    bank = light.bank("alice")
    assert verbs_of(bank) == verbs_of(bank.asynchronous) == set(VERBS)


@pytest.mark.promise(
    "An object from `engine.bank(name)` belongs to that bank: after `forget_bank` it raises "
    "`BankForgotten` and does nothing, even if a new bank has the same name."
)
@every_row("face", ["sync", "async"])
@every_row("verb", VERBS)
def test_an_object_of_a_forgotten_bank_does_nothing(light: Hindsight, verb: str, face: str) -> None:
    """Every method raises the same error with a remedy; the new bank with that name is unchanged."""
    old, new, unit = replaced(light)
    before = archived(new)
    with pytest.raises(BankForgotten, match=r"was forgotten after .* nothing was done.* bank\('alice'\)"):
        called(old if face == "sync" else old.asynchronous, verb, unit)
    assert archived(new) == before
    assert new.recall("kayak").units[0].unit.id == unit
    assert issubclass(BankForgotten, BankNotFound)


def test_the_indexes_of_the_next_bank_are_left_alone(real: Hindsight) -> None:
    """With Chroma and Lucene: after every method of the old object the new bank is healthy and finds its memories."""
    old, new, unit = replaced(real)
    for verb in VERBS:
        with pytest.raises(BankForgotten):
            called(old, verb, unit)
    assert new.recall("kayak").units[0].unit.id == unit
    assert new.retain("Bob keeps bees.").created
    assert new.recall("bees").units[0].unit.text == "Bob keeps bees."
    assert not real.doctor().failures


@every_row("verb", VERBS)
def test_without_a_next_bank_the_error_is_the_same(light: Hindsight, verb: str) -> None:
    """A forgotten bank is forgotten whether or not its name is used again."""
    old = light.bank("alice")
    unit = old.retain("Alice likes plums.").unit_ids[0]
    light.forget_bank("alice")
    with pytest.raises(BankForgotten):
        called(old, verb, unit)
    assert light.banks() == []


def test_an_object_that_lends_a_profile_is_of_the_old_bank_too(light: Hindsight) -> None:
    """Whether it was created before or after the bank was forgotten, it never answers from the new bank with that name."""
    earlier = light.bank("alice").with_profile(BankProfile(name="Mallory"))
    old, _, _ = replaced(light)
    for handle in (earlier, old.with_profile(BankProfile(name="Mallory"))):
        with pytest.raises(BankForgotten):
            handle.reflect("kayak")


def test_namespaces_taken_before_are_of_the_old_bank_too(light: Hindsight) -> None:
    """A stored namespace or bound method raises like the object."""
    bank = light.bank("alice")
    bank.retain("Alice and Bob went shopping.", facts=FACTS)
    entities, count = bank.entities, bank.asynchronous.count
    light.forget_bank("alice")
    new = light.bank("alice")
    with pytest.raises(BankForgotten):
        entities.alias("Alice", "Ally")
    with pytest.raises(BankForgotten):
        asyncio.run(awaited(count))
    assert new.count() == 0


@pytest.mark.promise(
    "An object from `engine.bank(name)` belongs to that bank: after `forget_bank` it raises "
    "`BankForgotten` and does nothing, even if a new bank has the same name."
)
@pytest.mark.parametrize("face", ["sync", "async"])
def test_retrievers_and_nodes_hold_their_bank(light: Hindsight, face: str) -> None:
    """A LlamaIndex retriever and LangGraph nodes with a bank raise after it was forgotten."""
    old, new, _ = replaced(light)
    bank = old if face == "sync" else old.asynchronous
    before = archived(new)
    with pytest.raises(BankForgotten):
        HindsightRetriever(bank).retrieve("kayak")
    with pytest.raises(BankForgotten):
        asyncio.run(HindsightRetriever(bank).aretrieve(QueryBundle("kayak")))
    for node in (create_retain_node(bank), create_recall_node(bank)):
        graph: Any = StateGraph(MemoryState)
        graph.add_sequence([("memory", node)])
        graph.add_edge(START, "memory")
        with pytest.raises(BankForgotten):
            graph.compile().invoke({"messages": [HumanMessage("I own a kayak.")]})
    assert archived(new) == before


class Waiting:
    """Stops a call until the test lets it continue."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def here(self) -> None:
        self.reached.set()
        assert self.go_on.wait(30)


def outcome(call: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException | None]]:
    """The exception of a call on a thread after it has ended."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the test looks at whatever it is
            raised.append(error)
        else:
            raised.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


@pytest.mark.parametrize("verb", ["retain", "retain_many", "settle"])
def test_a_retain_under_way_writes_nothing_into_the_next_bank(opener: Opener, verb: str) -> None:
    """The bank is forgotten and created again during the model call: nothing is stored, and the call says why."""
    waiting, down = Waiting(), ["the first time"]

    def reply(_: list[BaseMessage]) -> Reply:
        if down:
            raise ModelUnavailable("test", down.pop())
        waiting.here()
        return {"facts": [{"what": "Alice bought a red kayak."}]}

    queueing = replace(LIGHT, retain=RetainConfig(on_model_failure="queue"))
    hindsight = opener(model=ScriptedModel(reply), config=queueing)
    old = hindsight.bank("alice")
    assert old.retain("I bought a red kayak.").queued
    calls: dict[str, Callable[[], object]] = {
        "retain": lambda: old.retain("I sold a tent."),
        "retain_many": lambda: old.retain_many([RetainItem("I sold a tent.")]),
        "settle": old.tasks.settle,
    }
    thread, raised = outcome(calls[verb])
    assert waiting.reached.wait(30)
    hindsight.forget_bank("alice")
    new = hindsight.bank("alice")
    waiting.go_on.set()
    thread.join(30)
    assert [type(error) for error in raised] == [BankForgotten]
    assert new.count() == 0
    assert new.tasks.list() == []


@pytest.mark.parametrize("selector", [{"thread": "t"}, {"thread": "t", "message": "m1"}])
def test_what_is_forgotten_while_it_is_extracted_stays_forgotten(
    opener: Opener, selector: dict[str, Any]
) -> None:
    """A message is forgotten during its extraction: its facts are not committed; the other message is extracted again."""
    waiting, down = Waiting(), ["the first time"]

    def reply(messages: list[BaseMessage]) -> Reply:
        if down:
            raise ModelUnavailable("test", down.pop())
        if not waiting.go_on.is_set():
            waiting.here()
        seen = str(messages[-1].content)
        said = {"kayak": "Alice bought a red kayak.", "tent": "Alice sold a tent."}
        return {"facts": [{"what": text} for word, text in said.items() if word in seen]}

    queueing = replace(LIGHT, retain=RetainConfig(on_model_failure="queue"))
    bank = opener(model=ScriptedModel(reply), config=queueing).bank("alice")
    talk = [Message("I bought a red kayak.", "Alice", id="m1"), Message("I sold a tent.", "Alice", id="m2")]
    bank.retain(talk, thread="t")
    thread, raised = outcome(bank.tasks.settle)
    assert waiting.reached.wait(30)
    bank.forget(**selector)
    waiting.go_on.set()
    thread.join(30)
    assert raised == [None]
    bank.tasks.settle()
    left = [] if "message" not in selector else ["Alice sold a tent."]
    assert [unit.text for unit in bank.iterate_units()] == left
    assert not any(task.payload for task in bank.tasks.list())


def test_a_recall_under_way_answers_nothing_of_the_next_bank(opener: Opener) -> None:
    """The bank is forgotten and created again while the question is embedded: the recall raises."""

    class Slow(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            if text == "the kayak?":
                waiting.here()
            return super().embed_query(text)

    waiting = Waiting()
    hindsight = opener(embeddings=Slow(), config=LIGHT)
    old = hindsight.bank("alice")
    old.retain("The kayak is red.")
    thread, raised = outcome(lambda: old.recall("the kayak?"))
    assert waiting.reached.wait(30)
    hindsight.forget_bank("alice")
    hindsight.bank("alice").retain("The kayak is blue.")
    waiting.go_on.set()
    thread.join(30)
    assert [type(error) for error in raised] == [BankForgotten]


def test_an_enumeration_ends_with_its_bank(light: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bank is forgotten and imported again between two pages: the next page raises."""
    monkeypatch.setattr(reading, "UNITS_A_PAGE", 1)
    old = light.bank("alice")
    old.retain("Alice and Bob went shopping.", facts=FACTS)
    units = old.iterate_units()
    next(units)
    archive = archived(old)
    light.forget_bank("alice")
    light.bank("alice").archive.load(io.StringIO(archive))
    with pytest.raises(BankForgotten):
        next(units)


@pytest.mark.parametrize("verb", ["recall", "count", "units", "profile.get", "history"])
def test_a_reader_sees_what_another_engine_forgot(opener: Opener, tmp_path: Path, verb: str) -> None:
    """The object of a read-only engine also belongs to one bank, which the writing engine may forget."""
    writer = opener(tmp_path, config=LIGHT)
    unit = writer.bank("alice").retain("Alice likes plums.").unit_ids[0]
    reader = opener(tmp_path, config=LIGHT, read_only=True)
    old = reader.bank("alice")
    assert old.recall("plums").units
    writer.forget_bank("alice")
    with pytest.raises(BankForgotten):
        called(old, verb, unit)
    writer.bank("alice").retain("Alice likes pears.")
    with pytest.raises(BankForgotten):
        called(old, verb, unit)
    assert reader.bank("alice").recall("pears").units


def test_a_bank_that_could_not_be_forgotten_is_not(light: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the ledger fails to delete the bank, its objects continue to work, with rebuilt indexes."""
    bank = light.bank("alice")
    bank.retain("Alice likes plums.")

    def fail(_: str) -> int:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(light.asynchronous._services.ledger.erasure, "drop_bank", fail)
        with pytest.raises(OSError, match="no space"):
            light.forget_bank("alice")
    assert bank.recall("plums").units[0].unit.text == "Alice likes plums."
    assert light.forget_bank("alice").counts["units"] == 1
