"""Archives that somebody made or changed by hand, sealed again: taken in whole and readable, or refused with no trace.

Anyone can recompute the seal, so it protects against accidents alone; every value of every line has to be checked.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations import (
    ArchiveInvalid,
    BankProfile,
    BigFive,
    Disposition,
    Hindsight,
    InvalidRequest,
    ItemPut,
    MemoryBank,
    Message,
)
from hindsight_integrations.bank import archive_file
from hindsight_integrations.config import (
    HindsightConfig,
    KeywordBackend,
    ObservationConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.model.time import LAST_INSTANT, to_micros
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.validation.archive_lines import LINES

DIMENSION = 64
Line = list[Any]

TALK = [
    Message("Alice Chen paid 3.41 euros for plums.", "Bob", "2024-05-03T10:00", id="m1"),
    Message("The plums made Alice Chen happy.", "Bob", "2024-05-03T10:01", id="m2"),
    Message("Alice Chen no longer likes plums.", "Bob", "2024-06-03T10:01", id="m3"),
]
FACTS: list[dict[str, Any]] = [
    {
        "what": "Alice Chen paid 3.41 euros for plums",
        "sources": ["m1"],
        "occurred_start": "2024-05-03",
        "entities": [{"text": "Alice Chen", "type": "PERSON"}],
        "records": [
            {"kind": "expense", "category": "plums", "value": "3.41", "unit": "EUR"},
            {"kind": "task", "value": "buy more"},
        ],
    },
    {
        "what": "The plums made Alice Chen happy",
        "sources": ["m2"],
        "entities": [{"text": "Alice Chen", "type": "PERSON"}, {"text": "Bob", "type": "PERSON"}],
        "causal_relations": [{"target_fact_index": 0, "relation_type": "caused_by"}],
    },
    {"what": "Alice Chen no longer likes plums", "sources": ["m3"], "invalidates": ["The plums made Alice Chen happy"]},
]  # fmt: skip


def archived(bank: MemoryBank) -> str:
    out = io.StringIO()
    bank.archive.export(out)
    return out.getvalue()


def sealed(lines: list[Line], header: Any = None) -> str:
    """An archive of these lines, with the seal that belongs to them."""
    head = {"format": "hindsight-memory-archive", "version": 1} if header is None else header
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *lines))
    seal = {
        "rows": len(lines),
        "units": sum(line[0] == "unit" for line in lines if isinstance(line, list) and line),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return text + json.dumps(seal) + "\n"


def make_lines(engine: Hindsight) -> list[Line]:
    """A line of every kind there is."""
    bank = engine.bank("origin")
    found = bank.retain(TALK, facts=FACTS, thread="t", tags=["x"], metadata={"k": "v"}).unit_ids
    bank.retain("A long document about figs. It has two sentences.", document_id="d1")
    bank.items.write(
        [ItemPut(("a", "b.c"), "k", {"t": ["red", 1]}, ("red",), timedelta(days=1)), ItemPut(("a",), "l", {})]
    )
    bank.entities.alias("Alice Chen", "The Captain")
    bank.profile.set(BankProfile("Ada", "I like proofs.", BigFive(openness=0.9)))
    bank.profile.set(BankProfile("Ada", "I like proofs.", Disposition(5, 1, 2)))
    bank.edit(found[0], tags=["y"])
    bank.restore(found[1]) if bank.get(found[1]).closed_at else None
    lines = [json.loads(line) for line in archived(bank).splitlines()[1:-1]]
    lines = [line for line in lines if line[0] != "task"]  # the one below says more than that of the item
    moment = next(fields["mentioned_at"] for kind, fields in lines if kind == "document")
    last = max(at for at, line in enumerate(lines) if line[0] == "unit")
    waits = {
        **lines[last][1],
        "unit_id": "w",
        "kind": "turn",
        "sources": ["m4"],
        "thread": "t",
        "speaker": "Bob",
    }
    observed = {**lines[last][1], "unit_id": "o", "fact_type": "observation", "sources": [], "document": None}
    opinions = [
        {**observed, "unit_id": name, "fact_type": "opinion", "confidence": 0.7} for name in ("p", "q", "r")
    ]
    lines[last + 1 : last + 1] = [["unit", each] for each in (observed, *opinions)] + [
        ["waiting_turn", waits]
    ]
    entity = next(fields["entity_id"] for kind, fields in lines if kind == "entity")
    lines += [
        ["observation", {"unit": "o", "entity": entity}],
        ["observation_fact", {"observation": "o", "fact": found[0]}],
        ["observed", {"entity": entity, "left_out": [found[1]]}],
        ["mental_model", {"model_id": "m", "name": "plums", "question": "Who likes plums?", "tags": ["x"],
                          "refreshes": "manual", "max_tokens": 100, "created_at": moment, "text": "Alice Chen does.",
                          "extractive": 0, "refreshed_at": moment, "withdrawn": 0, "checked": 1}],
        ["mental_model", {"model_id": "n", "name": "figs", "question": "Who likes figs?", "tags": [],
                          "refreshes": "manual", "max_tokens": 100, "created_at": moment, "text": "",
                          "extractive": 0, "refreshed_at": moment, "withdrawn": 1, "checked": 0}],
        ["mental_model_ground", {"model": "m", "unit": found[0], "cited": 1}],
        ["directive", {"directive_id": "d", "text": "Be brief.", "tags": [], "created_at": moment}],
        ["directive", {"directive_id": "e", "text": "Be kind.", "tags": [], "created_at": moment}],
        ["opinion", {"unit": "p", "confidence": 0.7, "formed_at": moment, "recorded_at": moment, "revision": 1,
                     "origin": "reflect", "operation": "run", "profile_change": 1, "reasoning": "so", "assessed_to": 1}],
        ["opinion_wording", {"unit": "p", "opinion": "p", "number": 1, "reason": "", "revision": 1}],
        ["opinion_wording", {"unit": "q", "opinion": "p", "number": 2, "reason": "finer", "revision": 1}],
        ["opinion_ground", {"wording": "q", "fact": found[0]}],
        ["evidence", {"opinion": "p", "fact": found[0], "sources": ["Bob"], "restates": [found[1]],
                      "assessment": "reinforce", "strength": "mild", "rule": "additive", "step": 0.15, "reason": "why",
                      "version": "q", "effective_at": moment, "recorded_at": moment, "revision": 1}],
        ["opinion", {"unit": "r", "confidence": 0.7, "formed_at": moment, "recorded_at": moment, "revision": 1,
                     "origin": "given", "operation": "", "profile_change": 0, "reasoning": "", "assessed_to": 1}],
        ["opinion_wording", {"unit": "r", "opinion": "r", "number": 1, "reason": "", "revision": 1}],
        ["opinion_operation", {"operation": "run"}],
        ["task", {"kind": "extract_parked", "task_key": "", "payload": "{}", "state": "pending", "attempts": 1,
                  "not_before": moment, "last_error": "why"}],
    ]  # fmt: skip
    return lines


@pytest.fixture(scope="module")
def good() -> Iterator[list[Line]]:
    storage = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
    # Off: the one task among the lines is the one that the cases change.
    config = HindsightConfig(storage=storage, observations=ObservationConfig(mode="off"))
    with Hindsight.open(
        ":memory:", config=config, embeddings=HashEmbedder(DIMENSION), reranker=None
    ) as engine:
        yield make_lines(engine)


@pytest.fixture
def engine(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> Hindsight:
    """An engine with a bank beside the one that takes archives."""
    engine = opener(config=light_config, embeddings=HashEmbedder(DIMENSION))
    engine.bank("neighbour").retain("Carol likes pears.")
    engine.bank("target")
    return engine


def state(engine: Hindsight) -> tuple[object, ...]:
    """All that an engine says of itself and of both banks."""
    health = engine.doctor()
    banks = [archived(engine.bank(name, create=False)) for name in engine.banks()]
    return engine.banks(), health.banks, health.failures, banks


def read_all(bank: MemoryBank, engine: Hindsight) -> None:
    """Read back all that a bank can be asked for."""
    for unit in bank.iterate_units(include_invalidated=True):
        assert bank.get(unit.id) == unit
        bank.history(unit.id), bank.maintenance.edits(unit.id)
    bank.recall("Who paid for plums in May 2024?", include_chunks=True, include_invalidated=True)
    bank.recall("plums", as_of="2024-05-20")
    bank.entities.list(), bank.entities.changes(), bank.tasks.list(), bank.records.list()
    changes = bank.profile.history()
    assert not changes or changes[-1].profile == bank.profile.get()
    assert all(bank.profile.get(as_of=change.effective_at) for change in changes)
    assert all(bank.mental_models.get(model.name) == model for model in bank.mental_models.list())
    for rule in bank.directives.list():
        bank.directives.remove(rule.id)
    assert json.loads(archived(bank).splitlines()[-1])["units"] == bank.count()
    assert engine.doctor().failures == {}


def load(engine: Hindsight, text: str) -> ArchiveInvalid | None:
    """Load an archive into the bank: all of it reads back, or the error says where it fails and nothing is changed."""
    before, bank = state(engine), engine.bank("target")
    refused: ArchiveInvalid | None = None
    try:
        bank.archive.load(io.StringIO(text))
    except ArchiveInvalid as error:
        refused = error
    if refused is not None:
        assert refused.line >= 1
        assert refused.field
        assert refused.remedy
        assert state(engine) == before
        return refused
    read_all(bank, engine)
    engine.forget_bank("target")
    assert state(engine)[0] == ["neighbour"]
    engine.bank("target")
    return None


def changed(lines: list[Line], kind: str, field: str, value: Any) -> list[Line]:
    """The lines with another value in a field of the first line of a kind; a dot leads into it."""
    lines = copy.deepcopy(lines)
    place = next(fields for name, fields in lines if name == kind)
    *outer, last = field.split(".")
    for name in outer:
        place = place[name]
    place[last] = value
    return lines


def vector(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, "<f4").tobytes()).decode()


LATEST = to_micros(LAST_INSTANT)
FAR, NAN, INF = 2**62, float("nan"), float("inf")
deep: Any = []
for _ in range(100):
    deep = [deep]

BAD = [
    ("bank", "revision", -1), ("bank", "revision", 2**63 - 1), ("bank", "revision", 2**70), ("bank", "revision", "7"),
    ("bank", "revision", 7.0), ("bank", "revision", True), ("bank", "profile", 5), ("bank", "profile", None),
    ("bank", "profile", []), ("bank", "profile", {}), ("bank", "profile.name", 5), ("bank", "profile.bias_strength", 7),
    ("bank", "profile.bias_strength", NAN), ("bank", "profile.disposition", 5), ("bank", "profile.disposition.empathy", 9),
    ("bank", "profile.disposition.empathy", 2.5), ("bank", "profile.extra", 1), ("bank", "embedder", 5),
    ("bank", "embedder", None), ("bank", "embedder.dimension", 0), ("bank", "embedder.dimension", 10**9),
    ("bank", "embedder.thresholds", {}), ("bank", "embedder.thresholds.duplicate", INF), ("bank", "embedder.name", "\ud800"),
    ("bank", "profile.disposition", {**asdict(Disposition()), **asdict(BigFive())}), ("bank", "profile.disposition", {}),
    ("profile_change", "number", 0), ("profile_change", "number", "1"), ("profile_change", "number", 1.0),
    ("profile_change", "profile", None), ("profile_change", "profile.name", 5), ("profile_change", "profile.background", "\ud800"),
    ("profile_change", "profile.disposition.openness", 1.01), ("profile_change", "profile.disposition.neuroticism", NAN),
    ("profile_change", "profile.disposition", {**asdict(Disposition()), **asdict(BigFive())}),
    ("profile_change", "profile.disposition", {"openness": 0.5}), ("profile_change", "profile.bias_strength", True),
    ("profile_change", "effective_at", FAR), ("profile_change", "recorded_at", None), ("profile_change", "reason", 5),
    ("document", "mentioned_at", "abc"), ("document", "mentioned_at", FAR), ("document", "metadata", {"a": {"b": 5}}),
    ("document", "metadata", {"\ud800": "x"}), ("document", "metadata", deep), ("document", "tags", "abc"),
    ("document", "tags", ["x", "x"]), ("document", "tags", [""]), ("document", "tags", [f"t{n}" for n in range(65)]),
    ("document", "tags", ["x" * 257]), ("document", "id", None),
    ("chunk", "ordinal", -1), ("chunk", "ordinal", 2**63), ("chunk", "position", -2), ("chunk", "document", "nowhere"),
    ("chunk", "text", None), ("message", "revision", 2**63 - 1), ("message", "revision", 10_000), ("message", "thread", 7),
    ("unit", "fact_type", "abc"), ("unit", "fact_type", "bank"), ("unit", "fact_type", None), ("unit", "fact_type", []),
    ("unit", "mentioned_at", "abc"), ("unit", "mentioned_at", None), ("unit", "mentioned_at", FAR),
    ("unit", "mentioned_at", -FAR), ("unit", "mentioned_at", 2**63 - 1), ("unit", "mentioned_at", 10**400),
    ("unit", "mentioned_at", 1.5), ("unit", "occurred_start", None), ("unit", "occurred_end", 5), ("unit", "closed_at", 2**63),
    ("unit", "closed_at", "now"), ("unit", "confidence", 1.5), ("unit", "confidence", NAN), ("unit", "confidence", "high"),
    ("unit", "text", ""), ("unit", "text", None), ("unit", "text", 5), ("unit", "text", "a\ud800b"), ("unit", "text", deep),
    ("unit", "unit_id", ""), ("unit", "unit_id", "x" * 513), ("unit", "unit_id", 5), ("unit", "unit_id", "a\x98b"), ("unit", "tokens", -1),
    ("unit", "tokens", 2**63), ("unit", "chunk", -1), ("unit", "sources", "m1"), ("unit", "sources", [5]),
    ("unit", "sources", ["\udfff"]), ("unit", "metadata", []), ("unit", "metadata", {"a": [["b"]]}), ("unit", "tags", {}),
    ("unit", "record", ["e", "1", True, "", ""]), ("category", "kind", "pay"), ("category", "name", ""),
    ("category", "name", "figs"), ("category", "spellings", []), ("category", "spellings", "plums"),
    ("category", "spellings", ["plums", "plums"]), ("category", "spellings", ["plums", "Figs"]),
    ("category", "spellings", ["plums", ""]), ("record", "unit", "nobody"), ("record", "unit", "w"), ("record", "ordinal", 1),
    ("record", "ordinal", -1), ("record", "kind", "pay"), ("record", "category", "figs"), ("record", "kind", "income"),
    ("record", "value", "NaN"), ("record", "value", 3.41), ("record", "value", "much"), ("record", "is_number", 2),
    ("record", "is_number", True), ("record", "measure", None), ("record", "stated", 5), ("record", "closed_at", FAR),
    ("event", "record", 0), ("event", "record", -1), ("event", "record", "0"),
    ("unit", "vector", ""), ("unit", "vector", None), ("unit", "vector", "%%%"), ("unit", "vector", "ä"),
    ("unit", "vector", "AAA="), ("unit", "vector", vector(1.0, 0.0)), ("unit", "vector", vector(*[NAN] * DIMENSION)),
    ("unit", "vector", vector(INF, *[0.0] * (DIMENSION - 1))), ("unit", "vector", vector(*[0.0] * DIMENSION)),
    ("unit", "kind", "turn"), ("unit", "kind", None), ("waiting_turn", "kind", "memory"), ("waiting_turn", "kind", None),
    ("waiting_turn", "vector", ""), ("waiting_turn", "vector", vector(1.0)), ("waiting_turn", "fact_type", "turn"),
    ("waiting_turn", "text", ""), ("waiting_turn", "mentioned_at", FAR), ("waiting_turn", "sources", "m4"),
    ("turn", "thread", None), ("turn", "message", 5), ("turn", "unit", "nobody"), ("turn", "unit", 5), ("turn", "text", None),
    ("turn", "speaker", 5), ("turn", "role", "king"), ("turn", "said_at", FAR), ("turn", "said_at", "now"),
    ("turn", "tags", "x"), ("turn", "text", "a\ud800b"),
    ("unit", "vector", vector(*[3e38] * DIMENSION)), ("unit", "speaker", None), ("unit", "spell", "x"),
    ("observation", "unit", "nobody"), ("observation", "unit", "w"), ("observation", "entity", "nobody"),
    ("observation", "unit", None), ("observation_fact", "observation", "nobody"), ("observation_fact", "fact", "nobody"),
    ("observation_fact", "fact", "o"), ("observation_fact", "fact", None), ("observed", "entity", "nobody"),
    ("observed", "left_out", ["nobody"]), ("observed", "left_out", "o"), ("observed", "left_out", ["o", "o"]),
    ("entity", "facts_changed", -1), ("entity", "facts_changed", 10_000), ("entity", "observed_at", 10_000),
    ("event", "kind", "revoked"), ("event", "kind", None), ("event", "effective_at", FAR), ("event", "unit", "nobody"),
    ("event", "unit", None), ("event", "by_unit", "nobody"), ("event", "reason", None), ("event", "revision", 10_000),
    ("entity", "type", "GOD"), ("entity", "type", None), ("entity", "role", "king"), ("entity", "names", "alice"),
    ("entity", "names", [5]), ("entity", "names", ["a", "a"]), ("entity", "names", None), ("entity", "name", ""),
    ("entity", "entity_id", "x" * 513), ("mention", "unit", "nobody"), ("mention", "entity", "nobody"),
    ("mention", "text", None), ("link", "code", 99), ("link", "code", -1), ("link", "code", 2**63), ("link", "code", 10**400),
    ("link", "code", "0"), ("link", "code", 1.0), ("link", "weight", 1.5), ("link", "weight", -0.1), ("link", "weight", NAN),
    ("link", "weight", INF), ("link", "weight", None), ("link", "source", "nobody"), ("link", "target", None),
    ("edit", "unit", "nobody"), ("edit", "made_at", FAR), ("edit", "fields", "text"), ("edit", "fields", None),
    ("entity_change", "kind", "eat"), ("entity_change", "detail", 5), ("entity_change", "detail", {}),
    ("entity_change", "detail.shared", [["a"]]), ("entity_change", "detail.names", 5), ("entity_change", "detail.type", "X"),
    ("entity_change", "made_at", None), ("entity_change", "undone", 2),
    ("mental_model", "model_id", ""), ("mental_model", "name", "a\nb"),
    ("mental_model", "name", "x" * 201), ("mental_model", "question", ""), ("mental_model", "question", None), ("mental_model", "tags", "x"),
    ("mental_model", "refreshes", "daily"), ("mental_model", "max_tokens", 0), ("mental_model", "max_tokens", 10**9),
    ("mental_model", "created_at", FAR), ("mental_model", "text", 5), ("mental_model", "extractive", 2), ("mental_model", "refreshed_at", None),
    ("mental_model", "withdrawn", 1), ("mental_model", "withdrawn", None), ("mental_model", "checked", "yes"),
    ("mental_model_ground", "model", "nobody"), ("mental_model_ground", "unit", "nobody"),
    ("mental_model_ground", "unit", "o"), ("mental_model_ground", "unit", "w"), ("mental_model_ground", "unit", "p"),
    ("mental_model_ground", "cited", 2),
    ("directive", "directive_id", None), ("directive", "text", ""),
    ("directive", "tags", ["x", "x"]), ("directive", "created_at", "now"),
    ("opinion", "unit", "nobody"),
    ("opinion", "unit", "o"), ("opinion", "unit", "w"), ("opinion", "confidence", 7), ("opinion", "confidence", 7.0), ("opinion", "confidence", None),
    ("opinion", "confidence", NAN), ("opinion", "formed_at", FAR), ("opinion", "recorded_at", None), ("opinion", "revision", 10_000),
    ("opinion", "origin", "dreamt"), ("opinion", "operation", 5), ("opinion", "profile_change", -1), ("opinion", "reasoning", "\ud800"),
    ("opinion", "assessed_to", "all"), ("opinion_wording", "unit", "o"), ("opinion_wording", "unit", "nobody"),
    ("opinion_wording", "unit", "r"), ("opinion_wording", "opinion", "r"), ("opinion_wording", "number", 2),
    ("opinion_wording", "number", 0), ("opinion_wording", "reason", None), ("opinion_wording", "revision", 10_000),
    ("opinion_ground", "wording", "r"), ("opinion_ground", "fact", "nobody"), ("opinion_ground", "fact", "w"),
    ("evidence", "opinion", "q"), ("evidence", "fact", "o"), ("evidence", "fact", "r"), ("evidence", "fact", "nobody"),
    ("evidence", "sources", []), ("evidence", "sources", "Bob"), ("evidence", "restates", ["nobody"]),
    ("evidence", "assessment", "believe"), ("evidence", "strength", 1), ("evidence", "rule", "any"), ("evidence", "step", 1.0),
    ("evidence", "step", 0.0), ("evidence", "step", NAN), ("evidence", "reason", None), ("evidence", "version", "r"),
    ("evidence", "version", None), ("evidence", "effective_at", "x"), ("evidence", "recorded_at", FAR),
    ("evidence", "revision", 10_000), ("opinion_operation", "operation", ""), ("opinion_operation", "operation", None),
    ("item", "namespace", ""), ("item", "namespace", "a"), ("item", "namespace", "a..b."), ("item", "namespace", 1),
    ("item", "namespace", "a\x00."), ("item", "item_key", ""), ("item", "item_key", None), ("item", "item_key", "\x00"),
    ("item", "value", "[]"), ("item", "value", "{"), ("item", "value", '{"a": NaN}'), ("item", "value", None),
    ("item", "created_at", "x"), ("item", "updated_at", FAR), ("item", "ttl", 0), ("item", "ttl", None),
    ("item", "expires_at", None), ("item", "expires_at", FAR),
    ("item_text", "unit_id", "o"), ("item_text", "unit_id", "w"), ("item_text", "kind", "memory"),
    ("item_text", "vector", None), ("item_text", "namespace", "z."), ("item_text", "item_key", "nobody"),
    ("task", "kind", "abc"), ("task", "state", "abc"), ("task", "state", "leased"), ("task", "not_before", None), ("task", "not_before", FAR),
    ("task", "lease_until", None), ("task", "attempts", -1), ("task", "attempts", 2**63), ("task", "payload", None),
    ("task", "payload", "\ud800"), ("task", "task_key", None), ("task", "task_key", "x" * 2000),
]  # fmt: skip


SHOWN_LATER = [
    ("mental_model", "model_id", "n", "an earlier line has the same"),
    ("mental_model", "name", "figs", "an earlier line has the same"),
    ("mental_model_ground", "model", "n", "stands on no memory"),
    ("mental_model_ground", "cited", 0, "stands on no memory"),
    ("directive", "directive_id", "e", "an earlier line has the same"),
    ("directive", "text", "Be kind.", "an earlier line has the same"),
]
"""Values that a later line, or the end, shows to be wrong."""

BEFORE_VECTORS = {("bank", "embedder"), ("bank", "embedder.dimension")}
"""Fields of which the first vector shows that they cannot be right."""


def test_every_kind_of_line_is_tried(good: list[Line]) -> None:
    """The archive that the cases below change has every kind of line, and a case for each."""
    kinds = {line[0] for line in good}
    assert kinds == LINES.keys() == {kind for kind, *_ in BAD}


@every_row(("kind", "field", "value", "reason"), SHOWN_LATER)
def test_lines_that_do_not_go_together_are_refused(
    engine: Hindsight, good: list[Line], kind: str, field: str, value: Any, reason: str
) -> None:
    """Two standing questions of a name, two rules alike, a text that stands on nothing: nothing is written."""
    refused = load(engine, sealed(changed(good, kind, field, value)))
    assert refused is not None
    assert reason in refused.reason


def test_the_unchanged_archive_is_taken(engine: Hindsight, good: list[Line]) -> None:
    """What the cases below change one value of comes in by itself, and all of it reads back."""
    assert load(engine, sealed(good)) is None


@pytest.mark.promise("An archive is loaded completely or not at all.")
@every_row(("kind", "field", "value"), BAD, ids=lambda each: repr(each)[:30])
def test_a_value_that_no_memory_has_is_refused(
    engine: Hindsight, good: list[Line], kind: str, field: str, value: Any
) -> None:
    """The error names line and field, and nothing is written."""
    lines = changed(good, kind, field, value)
    refused = load(engine, sealed(lines))
    assert refused is not None
    if isinstance(value, float) and not np.isfinite(value):
        assert "no number of JSON" in refused.reason
    elif (kind, field) not in BEFORE_VECTORS:
        assert refused.field.startswith(kind)
        assert refused.line == next(at for at, line in enumerate(lines) if line[0] == kind) + 2


VALUES = [None, True, -1, 2**63, 10**400, 0.5, "", "\ud800", "\x00", [], ["a"], {}, {"a": 1}]  # fmt: skip


@pytest.mark.slow
@every_row("kind", LINES)
def test_any_value_in_any_field_is_read_back_or_refused(
    engine: Hindsight, good: list[Line], kind: str
) -> None:
    """Whatever stands in a field, the archive comes in and reads back, or nothing of it stays."""
    fields = next(fields for name, fields in good if name == kind)
    outcomes = set()
    for field in fields:
        for value in VALUES:
            outcomes.add(load(engine, sealed(changed(good, kind, field, value))) is None)
        lines = copy.deepcopy(good)
        next(each for name, each in lines if name == kind).pop(field)
        assert load(engine, sealed(lines)) is not None, field
    assert False in outcomes


def without(lines: list[Line], kind: str) -> list[Line]:
    return [line for line in lines if line[0] != kind]


def broken(good: list[Line]) -> dict[str, str]:
    """Archives that are wrong as a whole, each with a seal that fits."""
    first = {kind: next(at for at, line in enumerate(good) if line[0] == kind) for kind in LINES}
    text = sealed(good)
    lines = text.splitlines(keepends=True)
    seal = json.loads(lines[-1])
    cases = {f"two {kind} lines": sealed([*good, good[at]]) for kind, at in first.items() if kind not in ("edit", "entity_change", "task")}  # fmt: skip
    cases |= {
        f"no {kind} line": sealed(without(good, kind)) for kind in ("bank", "document", "unit", "entity")
    }
    memory = next(fields["unit_id"] for kind, fields in good if kind == "unit")
    cases["an observation that is a fact"] = sealed(changed(good, "observation", "unit", memory))
    cases["a fact for an observation"] = sealed(changed(good, "observation_fact", "observation", memory))
    cases["a waiting turn with the id of a memory"] = sealed(changed(good, "waiting_turn", "unit_id", memory))
    cases |= {
        "the bank comes second": sealed([good[1], good[0], *good[2:]]),
        "a mention before its memory": sealed([good[0], good[first["mention"]], *good[1 : first["mention"]]]),
        "an unknown kind": sealed([*good, ["spell", {}]]),
        "no list": sealed([*good[:3], 7, *good[3:]]),  # type: ignore[list-item]
        "three in a line": sealed([*good, ["task", {}, {}]]),
        "a kind that is none": sealed([*good, [["task"], {}]]),
        "fields that are none": sealed([*good, ["task", []]]),
        "an earlier profile after a later one": sealed([good[0], good[2], good[1], *good[3:]]),
        "a profile that holds before the one before it": sealed(changed(good, "profile_change", "effective_at", LATEST)),
        "a profile that no change gives": sealed(without(good, "profile_change")),
        "a profile that is not its last change's": sealed(changed(good, "bank", "profile.name", "Mallory")),
        "two tasks of a key": sealed([*good, *[["task", {**good[first["task"]][1], "task_key": "a"}]] * 2]),
        "another version": sealed(good, {"format": "hindsight-memory-archive", "version": 2}),
        "no version": sealed(good, {"format": "hindsight-memory-archive"}),
        "a version that is none": sealed(good, {"format": "hindsight-memory-archive", "version": True}),
        "a development version": sealed(good, {"format": "hindsight-archive", "version": 1}),
        "another format": sealed(good, {"format": "zip", "version": 1}),
        "a list for a header": sealed(good, [1]),
        "cut at a line": "".join(lines[:-1]),
        "cut in a line": text[: len(text) // 2],
        "empty": "",
        "a wrong sum": "".join(lines[:-1]) + json.dumps({**seal, "sha256": "0" * 64}),
        "a wrong count": "".join(lines[:-1]) + json.dumps({**seal, "rows": 1}),
        "a wrong count of memories": "".join(lines[:-1]) + json.dumps({**seal, "units": 10**400}),
        "a seal without a count": "".join(lines[:-1]) + json.dumps({"sha256": seal["sha256"]}),
        "something after the seal": text + "\n",
        "deep nesting": sealed(good).replace('"metadata":{"k":"v"}', '"metadata":' + "[" * 100_000 + "]" * 100_000, 1),
        "endless digits": sealed(good).replace('"tokens":', '"tokens":' + "9" * 10_000, 1),
        "a surrogate in the file": text.replace("plums", "pl\ud800ms"),
    }  # fmt: skip
    return cases


def test_an_archive_that_is_wrong_as_a_whole_is_refused(engine: Hindsight, good: list[Line]) -> None:
    """Lines twice, out of order, missing or of no form, a seal that does not fit: each is refused with no trace."""
    for name, text in broken(good).items():
        assert load(engine, text) is not None, name
    assert load(engine, sealed(good)) is None


def test_a_line_too_long_for_memory_is_refused(
    engine: Hindsight, good: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is not read beyond the longest there can be."""
    monkeypatch.setattr(archive_file, "LONGEST_LINE", 10_000)
    assert load(engine, sealed(good)) is None
    refused = load(engine, sealed(changed(good, "unit", "text", "x" * 10_000)))
    assert refused is not None
    assert "over 10,000 characters" in str(refused)


def test_an_archive_that_cannot_be_read_twice_is_taken(engine: Hindsight, good: list[Line]) -> None:
    """A pipe, or an object that only reads, does as well as a file."""

    class Pipe:
        def __init__(self, text: str) -> None:
            self.read = io.StringIO(text).read

    assert engine.bank("target").archive.load(Pipe(sealed(good))) == 8  # type: ignore[arg-type]
    engine.forget_bank("target")
    with pytest.raises(ArchiveInvalid):
        engine.bank("target").archive.load(Pipe(sealed(good) + "x"))  # type: ignore[arg-type]


def test_a_file_that_changes_while_it_is_read_is_refused(engine: Hindsight, good: list[Line]) -> None:
    """What is written is what was checked: a change in between undoes the import."""
    before = state(engine)

    class Changing(io.StringIO):
        def seek(self, *place: int) -> int:
            text = self.getvalue().replace("plums", "p1ums")
            super().seek(0)
            super().write(text)
            return super().seek(*place)

    with pytest.raises(ArchiveInvalid, match="changed while it was read"):
        engine.bank("target").archive.load(Changing(sealed(good)))
    assert state(engine) == before


def test_a_bank_with_traces_of_earlier_memories_takes_no_archive(engine: Hindsight, good: list[Line]) -> None:
    """A bank whose memories were erased one by one still knows messages, which must not mix with the archive's."""
    bank = engine.bank("target")
    bank.retain("Alice likes plums.")
    bank.forget(window=("1900-01-01", "2100-01-01"))
    with pytest.raises(InvalidRequest, match="forget\\(everything=True\\)"):
        bank.archive.load(io.StringIO(sealed(good)))
    bank.forget(everything=True)
    assert bank.archive.load(io.StringIO(sealed(good))) == 8


@every_row("given", [None, 5, b"x", object(), "", "a\x00b", "\ud800", "~nobody-of-this-name/x", io.BytesIO()])
def test_what_is_no_file_is_refused(engine: Hindsight, given: Any) -> None:
    """A path that cannot be one, or an object that is no text file, is named, for reading and for writing."""
    for verb in (engine.bank("target").archive.load, engine.bank("target").archive.export):
        with pytest.raises(InvalidRequest, match="Pass a"):
            verb(given)


def test_an_error_does_not_repeat_what_the_archive_says(engine: Hindsight, good: list[Line]) -> None:
    """Neither values nor names of keys of a refused archive are in the error: they may be somebody's memory."""
    said = "zyxquorl plums"
    for field, value in (("metadata", {said: {"a": 5}}), ("fact_type", said), (said, 1), ("text", [said])):
        refused = load(engine, sealed(changed(good, "unit", field, value)))
        assert said not in str(refused)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


Change = Callable[[list[Line], int, int, Any], None]


def put(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Another value in a field."""
    fields = lines[here][1]
    fields[list(fields)[there % len(fields)]] = value


def put_inside(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Another value in the list or object of a field."""
    fields = lines[here][1]
    inner = fields[list(fields)[there % len(fields)]]
    if isinstance(inner, list):
        inner.append(value)
    elif isinstance(inner, dict):
        inner[next(iter(inner), "k")] = value


def take_out(lines: list[Line], here: int, there: int, value: Any) -> None:
    """A field less."""
    fields = lines[here][1]
    del fields[list(fields)[there % len(fields)]]


def add(lines: list[Line], here: int, there: int, value: Any) -> None:
    """A field more."""
    lines[here][1]["more"] = value


def drop(lines: list[Line], here: int, there: int, value: Any) -> None:
    """A line less."""
    del lines[here]


def double(lines: list[Line], here: int, there: int, value: Any) -> None:
    """A line twice."""
    lines.insert(there % len(lines), copy.deepcopy(lines[here]))


def swap(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Two lines in each other's place."""
    there %= len(lines)
    lines[here], lines[there] = lines[there], lines[here]


def borrow(lines: list[Line], here: int, there: int, value: Any) -> None:
    """A field as another line of the kind has it."""
    kind, fields = lines[here]
    same = [other for name, other in lines if name == kind]
    name = list(fields)[there % len(fields)]
    fields[name] = same[there % len(same)].get(name)


changes = st.tuples(
    st.sampled_from([put, put_inside, take_out, add, drop, double, swap, borrow]),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    values,
)
"""A change, the line it is of, where else it reaches, and the value it brings."""


@pytest.mark.promise("An archive is loaded completely or not at all.")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(changes, min_size=1, max_size=3))
def test_a_changed_archive_comes_in_whole_or_not_at_all(
    engine: Hindsight, good: list[Line], made: list[tuple[Change, int, int, Any]]
) -> None:
    """Fuzzed and sealed again, an archive is taken and reads back with a clean doctor, or refused with no trace."""
    lines = copy.deepcopy(good)
    for change, here, there, value in made:
        at = here % len(lines)
        if lines[at][1]:
            change(lines, at, there, value)
    load(engine, sealed(lines))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), length=st.integers(0, 40), noise=st.text(st.characters(), max_size=6))
def test_a_damaged_file_comes_in_whole_or_not_at_all(
    engine: Hindsight, good: list[Line], at: float, length: int, noise: str
) -> None:
    """Characters replaced anywhere, the seal made anew where there is one: the same."""
    body = sealed(good).splitlines(keepends=True)[:-1]
    text = "".join(body)
    place = int(at * len(text))
    text = text[:place] + noise + text[place + length :]
    seal = {
        "rows": text.count("\n") - 1,
        "units": text.count('["unit"'),
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    }
    load(engine, text + json.dumps(seal) + "\n")


@pytest.mark.promise("An archive is loaded completely or not at all.")
def test_a_refused_archive_leaves_no_bytes_in_the_files(
    opener: Callable[..., Hindsight], light_config: HindsightConfig, good: list[Line], tmp_path: Path
) -> None:
    """Nothing of it is written, not even to be undone: the last line is bad, and no file has a word of the others."""
    with opener(tmp_path, config=light_config, embeddings=HashEmbedder(DIMENSION)) as engine:
        bank = engine.bank("target")
        lines = changed(good, "task", "state", "abc")
        with pytest.raises(ArchiveInvalid):
            bank.archive.load(io.StringIO(sealed(changed(lines, "unit", "text", "zyxquorl plums"))))
        assert not [
            path for path in tmp_path.rglob("*") if path.is_file() and b"zyxquorl" in path.read_bytes()
        ]
