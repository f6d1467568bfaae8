"""A read-only engine: every method that writes is rejected by name, and every other one works."""

from __future__ import annotations

import inspect
import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from hindsight_integrations import (
    AsyncMemoryBank,
    BankProfile,
    Hindsight,
    InvalidRequest,
    ItemPut,
    MemoryBank,
    Message,
    ModelUnavailable,
    RetainItem,
)
from hindsight_integrations.bank.context import BankVerbs
from hindsight_integrations.config import (
    HindsightConfig,
    KeywordBackend,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

NOW = datetime(2024, 6, 12, 9, 0, tzinfo=UTC)
LIGHT = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
QUEUE = HindsightConfig(storage=LIGHT, retain=RetainConfig(on_model_failure="queue"))
PEOPLE = [{"text": name, "type": "PERSON"} for name in ("Ann Lee", "Bob Chen")]
BOUGHT = [
    {"kind": "expense", "category": category, "value": 2} for category in ("figs", "food (figs)", "plums")
]


def fact(text: str) -> dict[str, Any]:
    """Arguments of a retain of one message with one fact."""
    fact = {"what": text, "sources": ["m"], "entities": PEOPLE, "records": BOUGHT}
    return {"content": [{"content": text, "id": "m"}], "thread": text, "facts": [fact]}


@dataclass(frozen=True)
class Subject:
    """The objects of a call: a bank, an empty one, a memory and an opinion of the first, and an archive of it."""

    bank: MemoryBank
    empty: MemoryBank
    unit: str
    opinion: str
    archive: str


UNDERWAY: Any = {"query": "figs", "asked_at": "2024-05-01T00:00:00Z", "operation": "", "revision": 1}
BEGUN: Any = {**UNDERWAY, "best": [], "confidence": 0.0}
ANSWERED: Any = {
    **UNDERWAY,
    "candidates": [],
    "moves": [],
    "reflection": {"text": "Figs.", "opinions": [], "calls": 0, "tokens_in": 0, "tokens_out": 0},
}


def without_steps(stage: Callable[[Any], object]) -> None:
    """Without a model, the stages of agentic reflections raise, whether the engine may write or not."""
    with pytest.raises(InvalidRequest, match="is not agentic"):
        stage(BEGUN)


CALLS: dict[str, Callable[[Subject], object]] = {
    "retain": lambda it: it.bank.retain(**fact("Bob Chen likes plums.")),
    "retain_many": lambda it: it.bank.retain_many([RetainItem(**fact("Ann Lee likes tea."))]),
    "threads.follow": lambda it: it.bank.threads.follow([Message("Ann naps.", id="n1")], thread="t"),
    "edit": lambda it: it.bank.edit(it.unit, tags=["x"]),
    "items.get": lambda it: it.bank.items.get([(("a",), "k")]),
    "items.write": lambda it: it.bank.items.write([ItemPut(("a",), "k", {"text": "A tent."})]),
    "items.search": lambda it: it.bank.items.search(),
    "items.namespaces": lambda it: it.bank.items.namespaces(),
    "items.forget": lambda it: it.bank.items.forget(("a",)),
    "items.expire": lambda it: it.bank.items.expire(),
    "withdraw": lambda it: it.bank.withdraw(it.unit),
    "restore": lambda it: it.bank.restore(it.unit),
    "forget": lambda it: it.bank.forget(unit=it.unit),
    "profile.set": lambda it: it.bank.profile.set(BankProfile("Ada", "I like proofs.")),
    "recall": lambda it: it.bank.recall("figs"),
    "reflect": lambda it: it.bank.reflect("figs"),
    "reflect_stream": lambda it: list(it.bank.reflect_stream("figs")),
    "reflect_stages.recall": lambda it: it.bank.reflect_stages.recall("figs"),
    "reflect_stages.think": lambda it: without_steps(it.bank.reflect_stages.think),
    "reflect_stages.call_tool": lambda it: without_steps(it.bank.reflect_stages.call_tool),
    "reflect_stages.answer": lambda it: it.bank.reflect_stages.answer(BEGUN),
    "reflect_stages.assess": lambda it: it.bank.reflect_stages.assess(ANSWERED),
    "reflect_stages.commit": lambda it: it.bank.reflect_stages.commit(ANSWERED),
    "get": lambda it: it.bank.get(it.unit),
    "document_items": lambda it: it.bank.document_items(it.unit),
    "history": lambda it: it.bank.history(it.unit),
    "units": lambda it: it.bank.units(),
    "iterate_units": lambda it: [*it.bank.iterate_units()],
    "records.list": lambda it: it.bank.records.list(),
    "records.aggregate": lambda it: it.bank.records.aggregate("count"),
    "records.categories": lambda it: it.bank.records.categories("expense"),
    "records.merge": lambda it: it.bank.records.merge("expense", "figs", "plums"),
    "records.split": lambda it: it.bank.records.split("expense", "figs", spellings=["food (figs)"]),
    "count": lambda it: it.bank.count(),
    "profile.get": lambda it: it.bank.profile.get(),
    "profile.merge_background": lambda it: it.bank.profile.merge_background("You like proofs."),
    "profile.history": lambda it: it.bank.profile.history(),
    "profile.restore": lambda it: it.bank.profile.restore(1),
    "profile.forget_history": lambda it: it.bank.profile.forget_history(),
    "entities.list": lambda it: it.bank.entities.list(),
    "entities.observations": lambda it: it.bank.entities.observations("Ann Lee"),
    "entities.merge": lambda it: it.bank.entities.merge("Ann Lee", "Bob Chen"),
    "entities.split": lambda it: it.bank.entities.split("Ann Lee", names=["Annie"]),
    "entities.alias": lambda it: it.bank.entities.alias("Bob Chen", "Bobby"),
    "entities.undo": lambda it: it.bank.entities.undo(it.bank.entities.changes()[0].id),
    "entities.changes": lambda it: it.bank.entities.changes(),
    "opinions.list": lambda it: it.bank.opinions.list(),
    "opinions.get": lambda it: it.bank.opinions.get(it.opinion),
    "opinions.history": lambda it: it.bank.opinions.history(it.opinion),
    "opinions.trajectory": lambda it: it.bank.opinions.trajectory(it.opinion),
    "opinions.forget": lambda it: it.bank.opinions.forget(it.opinion),
    "mental_models.create": lambda it: it.bank.mental_models.create("tea", "Who likes tea?"),
    "mental_models.get": lambda it: it.bank.mental_models.get("figs"),
    "mental_models.refresh": lambda it: it.bank.mental_models.refresh("figs"),
    "mental_models.list": lambda it: it.bank.mental_models.list(),
    "mental_models.delete": lambda it: it.bank.mental_models.delete("figs"),
    "directives.add": lambda it: it.bank.directives.add("Be kind."),
    "directives.list": lambda it: it.bank.directives.list(),
    "directives.remove": lambda it: it.bank.directives.remove(it.bank.directives.list()[0].id),
    "tasks.list": lambda it: it.bank.tasks.list(),
    "tasks.settle": lambda it: it.bank.tasks.settle(),
    "tasks.retry": lambda it: it.bank.tasks.retry(),
    "archive.export": lambda it: it.bank.archive.export(io.StringIO()),
    "archive.load": lambda it: it.empty.archive.load(io.StringIO(it.archive)),
    "maintenance.reindex": lambda it: it.bank.maintenance.reindex(),
    "maintenance.edits": lambda it: it.bank.maintenance.edits(it.unit),
    "sources": lambda it: it.bank.sources(it.unit),
    "neighbours": lambda it: it.bank.neighbours(it.unit),
}
WRITING = {
    *("items.write", "items.forget", "items.expire"),
    *("retain", "retain_many", "edit", "withdraw", "restore", "forget"),
    *("profile.set", "profile.merge_background", "profile.restore", "profile.forget_history"),
    *("entities.merge", "entities.split", "entities.alias", "entities.undo"),
    *("records.merge", "records.split"),
    *(
        "mental_models.create",
        "mental_models.refresh",
        "mental_models.delete",
        "directives.add",
        "directives.remove",
    ),
    *("opinions.forget", "reflect_stages.commit", "threads.follow"),
    *("tasks.settle", "tasks.retry", "archive.load", "maintenance.reindex"),
}


def verbs(face: type) -> Iterator[str]:
    """Every method of a bank and of its namespaces, by the path under which it is called."""
    for name, member in inspect.getmembers(face):
        if name.startswith("_"):
            continue
        if inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member):
            yield name
        elif isinstance(member, property):
            kind = get_type_hints(member.fget)["return"]
            if inspect.isclass(kind) and issubclass(kind, BankVerbs):
                yield from (f"{name}.{verb}" for verb in verbs(kind))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed memory: a bank with a fact, two people, an alias and a waiting passage, and an empty bank."""
    place = tmp_path_factory.mktemp("written")
    model = ScriptedModel([ModelUnavailable("test", "down")])
    options = {"embeddings": HashEmbedder(), "reranker": None, "clock": FrozenClock(NOW)}
    with Hindsight.open(place, config=QUEUE, model=model, **options) as engine:  # type: ignore[arg-type]
        bank = engine.bank("alice")
        bank.retain(**fact("Ann Lee likes figs."))
        believed = "I think figs are best in August because they are ripe then."
        bank.retain(believed, facts=[{"what": believed, "fact_type": "opinion"}])
        bank.entities.alias("Ann Lee", "Annie")
        for name in ("Eve", "Ada"):
            bank.profile.set(BankProfile(name))
        bank.mental_models.create("figs", "Who likes figs?")
        bank.directives.add("Be brief.")
        assert bank.retain("This passage waits.").queued
        engine.bank("empty")
    return place


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(written, tmp_path / "memory")


def subject(engine: Hindsight) -> Subject:
    bank = engine.bank("alice")
    archive = io.StringIO()
    bank.archive.export(archive)
    (unit,) = bank.units(types=["world"]).units
    (opinion,) = bank.opinions.list()
    return Subject(bank, engine.bank("empty"), unit.id, opinion.id, archive.getvalue())


def version(connection: sqlite3.Connection) -> int:
    """A number that changes whenever another connection commits."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def test_every_method_is_here() -> None:
    """A new method must be added to the calls of this file, so that the test below covers it."""
    assert set(verbs(AsyncMemoryBank)) == CALLS.keys()


@pytest.mark.directory
@pytest.mark.promise(
    "Only one process can write to a data directory; others can open it with `read_only=True`."
)
@pytest.mark.parametrize("verb", CALLS)
def test_what_writes_is_refused_by_name_and_the_rest_answers(
    opener: Callable[..., Hindsight], folder: Path, verb: str
) -> None:
    """A method that changes the ledger of a writing engine is rejected by a read-only one, with its name."""
    reader = subject(opener(folder, config=QUEUE, read_only=True))
    refusal = None
    try:
        CALLS[verb](reader)
    except InvalidRequest as error:
        refusal = str(error)
    refused = f"{verb}: the engine was opened read-only. Open it without read_only=True."
    assert refusal == (refused if verb in WRITING else None)
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as watch:
        writer = subject(opener(folder, config=QUEUE))
        before = version(watch)
        CALLS[verb](writer)
        assert refusal or version(watch) == before


@pytest.mark.directory
def test_a_read_only_engine_forgets_no_bank(opener: Callable[..., Hindsight], folder: Path) -> None:
    """The engine's own method that writes is rejected in the same words."""
    reader = opener(folder, config=QUEUE, read_only=True)
    with pytest.raises(InvalidRequest, match="forget_bank: the engine was opened read-only"):
        reader.forget_bank("alice")
    assert reader.banks() == ["alice", "empty"]
