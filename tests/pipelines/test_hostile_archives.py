"""Archives that were created or changed by hand, with a valid seal: accepted and readable, or rejected without a trace.

Anyone can compute the seal, so it only protects against accidents; every value of every line must be
validated.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archived import Line, archived_lines, is_memory, sealed
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
from hindsight_integrations.bank import archive
from hindsight_integrations.config import (
    HindsightConfig,
    KeywordBackend,
    ObservationConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.ledger import databases
from hindsight_integrations.ledger.tables import archived_columns, metadata
from hindsight_integrations.model.time import LAST_INSTANT, to_micros
from hindsight_integrations.testing.doubles import HashEmbedder

DIMENSION = 64
W, O, P, Q, R, I, NOBODY = range(1001, 1008)  # noqa: E741 - row ids of units that are added to the archive
LINES = [table.name for table in metadata.sorted_tables if archived_columns(table)]

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


def make_lines(engine: Hindsight) -> list[Line]:
    """One line of every kind."""
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
    # The task below differs from the item's.
    lines = [line for line in archived_lines(bank.archive.export) if line[0] != "tasks"]
    first: dict[str, Any] = dict(reversed(lines))
    moment, entity, (one, two) = (
        first["documents"]["mentioned_at"],
        first["entities"]["id"],
        rows_of(lines, found[:2]),
    )
    plain = {**first["units"], "sources": [], "document": None, "occurred_start": None, "occurred_end": None}
    opinion = {**plain, "fact_type": "opinion", "confidence": 0.7}
    made = [
        {
            **plain,
            "id": W,
            "unit_id": "w",
            "kind": "turn",
            "sources": ["m4"],
            "thread": "t",
            "speaker": "Bob",
        },
        {**plain, "id": O, "unit_id": "o", "fact_type": "observation"},
        {**opinion, "id": P, "unit_id": "p"},
        {**opinion, "id": Q, "unit_id": "q"},
        {**opinion, "id": R, "unit_id": "r"},
        {**plain, "id": I, "unit_id": "i", "kind": "document_item", "head": one, "number": 1},
    ]
    last = max(at for at, line in enumerate(lines) if line[0] == "units")
    lines[last + 1 : last + 1] = [["units", fields] for fields in made]
    formed = {"confidence": 0.7, "formed_at": moment, "recorded_at": moment, "revision": 1, "assessed_to": 1}
    answered = {
        "max_tokens": 100,
        "created_at": moment,
        "extractive": 0,
        "refreshed_at": moment,
        "refreshes": "manual",
    }
    lines += [
        *(["vectors", {**first["vectors"], "unit": row}] for row in (O, P, Q, R, I)),
        ["observations", {"unit": O, "entity": entity}],
        ["observation_facts", {"observation": O, "fact": one}],
        ["observed_left_out", {"entity": entity, "facts": [two]}],
        ["mental_models", {"id": 1, "model_id": "m", "name": "plums", "question": "Who likes plums?", "tags": ["x"],
                           "text": "Alice Chen does.", "checked_to": 1, "forgotten": 0, **answered}],
        ["mental_models", {"id": 2, "model_id": "n", "name": "figs", "question": "Who likes figs?", "tags": [],
                           "text": "", "checked_to": 0, "forgotten": 1, **answered}],
        ["mental_model_grounds", {"model": 1, "unit": one, "cited": 1}],
        ["directives", {"directive_id": "d", "text": "Be brief.", "tags": [], "created_at": moment}],
        ["directives", {"directive_id": "e", "text": "Be kind.", "tags": [], "created_at": moment}],
        ["opinions", {"unit": P, "origin": "reflect", "operation": "run", "profile": 1, "reasoning": "so", **formed}],
        ["opinion_wordings", {"unit": P, "opinion": P, "number": 1, "reason": "", "revision": 1}],
        ["opinion_wordings", {"unit": Q, "opinion": P, "number": 2, "reason": "finer", "revision": 1}],
        ["opinion_grounds", {"wording": Q, "fact": one}],
        ["opinions", {"unit": R, "origin": "given", "operation": "", "profile": 0, "reasoning": "", **formed}],
        ["opinion_wordings", {"unit": R, "opinion": R, "number": 1, "reason": "", "revision": 1}],
        ["evidence", {"opinion": P, "fact": one, "sources": ["Bob"], "restates": [two],
                      "assessment": "reinforce", "strength": "mild", "rule": "additive", "step": 0.15, "reason": "why",
                      "version": Q, "effective_at": moment, "recorded_at": moment, "revision": 1}],
        ["opinion_operations", {"key": "run"}],
        ["tasks", {"kind": "extract_parked", "key": "", "payload": "{}", "state": "pending", "attempts": 1,
                   "not_before": moment, "last_error": "why"}],
    ]  # fmt: skip
    return lines


def rows_of(lines: list[Line], unit_ids: Sequence[str]) -> list[int]:
    """Row ids of units."""
    rows = {fields["unit_id"]: fields["id"] for kind, fields in lines if kind == "units"}
    return [rows[unit_id] for unit_id in unit_ids]


@pytest.fixture(scope="module")
def good() -> Iterator[list[Line]]:
    storage = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
    # Off, so that the only task in the lines is the one that the cases change.
    config = HindsightConfig(storage=storage, observations=ObservationConfig(mode="off"))
    with Hindsight.open(
        ":memory:", config=config, embeddings=HashEmbedder(DIMENSION), reranker=None
    ) as engine:
        yield make_lines(engine)


@pytest.fixture
def engine(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> Hindsight:
    """An engine with another bank next to the one that loads archives."""
    engine = opener(config=light_config, embeddings=HashEmbedder(DIMENSION))
    engine.bank("neighbour").retain("Carol likes pears.")
    engine.bank("target")
    return engine


def state(engine: Hindsight) -> tuple[object, ...]:
    """The complete state of an engine and both banks."""
    health = engine.doctor()
    banks = [archived(engine.bank(name, create=False)) for name in engine.banks()]
    return engine.banks(), health.banks, health.failures, banks


def read_all(bank: MemoryBank, engine: Hindsight) -> None:
    """Call every read method of a bank."""
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
    """Load an archive: everything can be read, or the error names the place and nothing is changed."""
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
    """The lines with another value in a field of the first line of a kind; a dot leads into the field."""
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
    ("banks", "revision", -1), ("banks", "revision", 2**63 - 1), ("banks", "revision", 2**70), ("banks", "revision", "7"),
    ("banks", "revision", 7.0), ("banks", "revision", True), ("banks", "embedder", 5),
    ("banks", "embedder", None), ("banks", "embedder.dimension", 0), ("banks", "embedder.dimension", 10**9),
    ("banks", "embedder.thresholds", {}), ("banks", "embedder.thresholds.duplicate", INF), ("banks", "embedder.name", "\ud800"),
    ("profile_changes", "number", 0), ("profile_changes", "number", "1"), ("profile_changes", "number", 1.0),
    ("profile_changes", "profile", None), ("profile_changes", "profile.name", 5), ("profile_changes", "profile.background", "\ud800"),
    ("profile_changes", "profile.disposition.openness", 1.01), ("profile_changes", "profile.disposition.neuroticism", NAN),
    ("profile_changes", "profile.disposition", {**asdict(Disposition()), **asdict(BigFive())}),
    ("profile_changes", "profile.disposition", {"openness": 0.5}), ("profile_changes", "profile.bias_strength", True),
    ("profile_changes", "effective_at", FAR), ("profile_changes", "recorded_at", None), ("profile_changes", "reason", 5),
    ("documents", "mentioned_at", "abc"), ("documents", "mentioned_at", FAR), ("documents", "metadata", {"a": {"b": 5}}),
    ("documents", "metadata", {"\ud800": "x"}), ("documents", "metadata", deep), ("documents", "tags", "abc"),
    ("documents", "tags", ["x", "x"]), ("documents", "tags", [""]), ("documents", "tags", [f"t{n}" for n in range(65)]),
    ("documents", "tags", ["x" * 257]), ("documents", "id", None),
    ("chunks", "ordinal", -1), ("chunks", "ordinal", 2**63), ("chunks", "position", -2),
    ("chunks", "text", None), ("message_keys", "revision", 2**63 - 1), ("message_keys", "revision", 10_000), ("message_keys", "thread", 7),
    ("units", "fact_type", "abc"), ("units", "fact_type", "bank"), ("units", "fact_type", None), ("units", "fact_type", []),
    ("units", "mentioned_at", "abc"), ("units", "mentioned_at", None), ("units", "mentioned_at", FAR),
    ("units", "mentioned_at", -FAR), ("units", "mentioned_at", 2**63 - 1), ("units", "mentioned_at", 10**400),
    ("units", "mentioned_at", 1.5), ("units", "occurred_start", None), ("units", "occurred_end", 5), ("units", "closed_at", 2**63),
    ("units", "closed_at", "now"), ("units", "confidence", 1.5), ("units", "confidence", NAN), ("units", "confidence", "high"),
    ("units", "text", ""), ("units", "text", None), ("units", "text", 5), ("units", "text", "a\ud800b"), ("units", "text", deep),
    ("units", "unit_id", ""), ("units", "unit_id", "x" * 513), ("units", "unit_id", 5), ("units", "unit_id", "a\x98b"), ("units", "tokens", -1),
    ("units", "tokens", 2**63), ("units", "chunk", -1), ("units", "sources", "m1"), ("units", "sources", [5]),
    ("units", "sources", ["\udfff"]), ("units", "metadata", []), ("units", "metadata", {"a": [["b"]]}), ("units", "tags", {}),
    ("units", "record", ["e", "1", True, "", ""]), ("record_categories", "kind", "pay"), ("record_categories", "name", ""),
    ("records", "unit", NOBODY), ("records", "unit", W), ("records", "ordinal", 1),
    ("records", "ordinal", -1), ("records", "kind", "pay"), ("records", "category", "figs"), ("records", "kind", "income"),
    ("records", "value", "NaN"), ("records", "value", 3.41), ("records", "value", "much"), ("records", "is_number", 2),
    ("records", "is_number", True), ("records", "measure", None), ("records", "stated", 5), ("records", "closed_at", FAR),
    ("validity_events", "record", 0), ("validity_events", "record", -1), ("validity_events", "record", "0"),
    ("vectors", "vector", ""), ("vectors", "vector", None), ("vectors", "vector", "%%%"), ("vectors", "vector", "ä"),
    ("vectors", "vector", "AAA="), ("vectors", "vector", vector(1.0, 0.0)), ("vectors", "vector", vector(*[NAN] * DIMENSION)),
    ("vectors", "vector", vector(INF, *[0.0] * (DIMENSION - 1))), ("vectors", "vector", vector(*[0.0] * DIMENSION)),
    ("units", "kind", None), ("turns", "thread", None), ("turns", "message", 5), ("turns", "unit", NOBODY), ("turns", "unit", 5), ("turns", "text", None),
    ("turns", "speaker", 5), ("turns", "role", "king"), ("turns", "said_at", FAR), ("turns", "said_at", "now"),
    ("turns", "tags", "x"), ("turns", "text", "a\ud800b"),
    ("vectors", "vector", vector(*[3e38] * DIMENSION)), ("units", "speaker", None), ("units", "spell", "x"),
    ("observations", "unit", NOBODY), ("observations", "unit", W), ("observations", "entity", NOBODY),
    ("observations", "unit", None), ("observation_facts", "observation", NOBODY), ("observation_facts", "fact", NOBODY),
    ("observation_facts", "fact", O), ("observation_facts", "fact", None), ("observed_left_out", "entity", NOBODY),
    ("observed_left_out", "facts", [NOBODY]), ("observed_left_out", "facts", "o"), ("observed_left_out", "facts", [O, O]),
    ("entities", "facts_changed", -1), ("entities", "facts_changed", 10_000), ("entities", "observed_at", 10_000),
    ("validity_events", "kind", "revoked"), ("validity_events", "kind", None), ("validity_events", "effective_at", FAR), ("validity_events", "unit", NOBODY),
    ("validity_events", "unit", None), ("validity_events", "by_unit", NOBODY), ("validity_events", "reason", None), ("validity_events", "revision", 10_000),
    ("entities", "type", "GOD"), ("entities", "type", None), ("entities", "role", "king"), ("entities", "names", "alice"),
    ("entities", "names", [5]), ("entities", "names", ["a", "a"]), ("entities", "names", None), ("entities", "name", ""),
    ("entities", "entity_id", "x" * 513), ("mentions", "unit", NOBODY), ("mentions", "entity", NOBODY),
    ("mentions", "text", None), ("links", "code", 99), ("links", "code", -1), ("links", "code", 2**63), ("links", "code", 10**400),
    ("links", "code", "0"), ("links", "code", 1.0), ("links", "weight", 1.5), ("links", "weight", -0.1), ("links", "weight", NAN),
    ("links", "weight", INF), ("links", "weight", None), ("links", "source", NOBODY), ("links", "target", None),
    ("unit_edits", "unit", NOBODY), ("unit_edits", "made_at", FAR), ("unit_edits", "fields", "text"), ("unit_edits", "fields", None),
    ("entity_changes", "kind", "eat"), ("entity_changes", "detail", 5), ("entity_changes", "detail", {}),
    ("entity_changes", "detail.shared", [["a"]]), ("entity_changes", "detail.names", 5), ("entity_changes", "detail.type", "X"),
    ("entity_changes", "made_at", None), ("entity_changes", "undone", 2),
    ("mental_models", "model_id", ""), ("mental_models", "name", "a\nb"),
    ("mental_models", "name", "x" * 201), ("mental_models", "question", ""), ("mental_models", "question", None), ("mental_models", "tags", "x"),
    ("mental_models", "refreshes", "daily"), ("mental_models", "max_tokens", 0),
    ("mental_models", "created_at", FAR), ("mental_models", "text", 5), ("mental_models", "extractive", 2), ("mental_models", "refreshed_at", None),
    ("mental_models", "forgotten", 1), ("mental_models", "forgotten", None), ("mental_models", "checked_to", "yes"), ("mental_models", "checked_to", 10_000),
    ("mental_model_grounds", "model", NOBODY), ("mental_model_grounds", "unit", NOBODY),
    ("mental_model_grounds", "unit", O), ("mental_model_grounds", "unit", W), ("mental_model_grounds", "unit", P),
    ("mental_model_grounds", "cited", 2),
    ("directives", "directive_id", None), ("directives", "text", ""),
    ("directives", "tags", ["x", "x"]), ("directives", "created_at", "now"),
    ("opinions", "unit", NOBODY),
    ("opinions", "unit", O), ("opinions", "unit", W), ("opinions", "confidence", 7), ("opinions", "confidence", 7.0), ("opinions", "confidence", None),
    ("opinions", "confidence", NAN), ("opinions", "formed_at", FAR), ("opinions", "recorded_at", None), ("opinions", "revision", 10_000),
    ("opinions", "origin", "dreamt"), ("opinions", "operation", 5), ("opinions", "profile", -1), ("opinions", "reasoning", "\ud800"),
    ("opinions", "assessed_to", "all"), ("opinion_wordings", "unit", O), ("opinion_wordings", "unit", NOBODY),
    ("opinion_wordings", "unit", R), ("opinion_wordings", "opinion", R), ("opinion_wordings", "number", 2),
    ("opinion_wordings", "number", 0), ("opinion_wordings", "reason", None), ("opinion_wordings", "revision", 10_000),
    ("opinion_grounds", "wording", R), ("opinion_grounds", "fact", NOBODY), ("opinion_grounds", "fact", W),
    ("evidence", "opinion", Q), ("evidence", "fact", O), ("evidence", "fact", R), ("evidence", "fact", NOBODY),
    ("evidence", "sources", []), ("evidence", "sources", "Bob"), ("evidence", "restates", [NOBODY]),
    ("evidence", "assessment", "believe"), ("evidence", "strength", 1), ("evidence", "rule", "any"), ("evidence", "step", 1.0),
    ("evidence", "step", 0.0), ("evidence", "step", NAN), ("evidence", "reason", None), ("evidence", "version", R),
    ("evidence", "version", None), ("evidence", "effective_at", "x"), ("evidence", "recorded_at", FAR),
    ("evidence", "revision", 10_000), ("opinion_operations", "key", ""), ("opinion_operations", "key", None),
    ("items", "namespace", ""), ("items", "namespace", "a"), ("items", "namespace", "a..b."), ("items", "namespace", 1),
    ("items", "namespace", "a\x00."), ("items", "key", ""), ("items", "key", None), ("items", "key", "\x00"),
    ("items", "value", "[]"), ("items", "value", "{"), ("items", "value", '{"a": NaN}'), ("items", "value", None),
    ("items", "created_at", "x"), ("items", "updated_at", FAR), ("items", "ttl", 0), ("items", "ttl", None),
    ("items", "expires_at", None), ("items", "expires_at", FAR),
    ("tasks", "kind", "abc"), ("tasks", "state", "abc"), ("tasks", "state", "leased"), ("tasks", "not_before", None), ("tasks", "not_before", FAR),
    ("tasks", "lease_until", None), ("tasks", "attempts", -1), ("tasks", "attempts", 2**63), ("tasks", "payload", None),
    ("tasks", "payload", "\ud800"), ("tasks", "key", None), ("tasks", "key", "x" * 2000),
    ("record_category_names", "kind", "pay"), ("record_category_names", "kind", "income"), ("record_category_names", "name", ""),
    ("record_category_names", "name", "Figs"), ("record_category_names", "category", NOBODY), ("vectors", "unit", NOBODY),
    ("item_units", "unit", NOBODY), ("item_units", "unit", O), ("item_units", "item", NOBODY), ("units", "id", 0), ("units", "id", "1"),
    ("units", "id", 2**63), ("units", "head", NOBODY), ("units", "head", O), ("banks", "dimension", 32), ("banks", "dimension", None),
    ("banks", "profile", {}),
]  # fmt: skip


SHOWN_LATER = [
    ("mental_models", "id", 2, "an earlier line has the same"),
    ("mental_models", "model_id", "n", "exists already"),
    ("mental_models", "name", "figs", "exists already"),
    ("mental_model_grounds", "model", 2, "cites no memory"),
    ("mental_model_grounds", "cited", 0, "cites no memory"),
    ("directives", "directive_id", "e", "exists already"),
    ("directives", "text", "Be kind.", "exists already"),
    ("units", "id", W, "an earlier line has the same"),
    ("units", "unit_id", "w", "exists already"),
    ("units", "kind", "turn", "is not one of"),
    ("units", "fact_type", "observation", "is not one of"),
    ("record_categories", "name", "figs", "own name is missing"),
]
"""Values that a later line, or the end, shows to be wrong."""


def test_every_kind_of_line_is_tried(good: list[Line]) -> None:
    """The archive below contains every kind of line, and there is a case for each."""
    kinds = {line[0] for line in good}
    assert kinds == set(LINES) == {kind for kind, *_ in BAD}


@every_row(("kind", "field", "value", "reason"), SHOWN_LATER)
def test_lines_that_do_not_go_together_are_refused(
    engine: Hindsight, good: list[Line], kind: str, field: str, value: Any, reason: str
) -> None:
    """Two mental models with one name, two equal rules, a text without grounds: nothing is written."""
    refused = load(engine, sealed(changed(good, kind, field, value)))
    assert refused is not None
    assert reason in refused.reason


def test_the_unchanged_archive_is_taken(engine: Hindsight, good: list[Line]) -> None:
    """The archive that the cases change in one value is valid itself, and everything can be read."""
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
        assert "is not a JSON number" in refused.reason
    else:
        assert refused.field.startswith(kind)
        assert refused.line == next(at for at, line in enumerate(lines) if line[0] == kind) + 2


VALUES = [None, True, -1, 2**63, 10**400, 0.5, "", "\ud800", "\x00", [], ["a"], {}, {"a": 1}]  # fmt: skip


@pytest.mark.slow
@every_row("kind", LINES)
def test_any_value_in_any_field_is_read_back_or_refused(
    engine: Hindsight, good: list[Line], kind: str
) -> None:
    """Whatever value a field has, the archive is loaded and can be read, or nothing of it stays."""
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
    """Archives that are invalid as a whole, each with a matching seal."""
    first = {kind: next(at for at, line in enumerate(good) if line[0] == kind) for kind in LINES}
    text = sealed(good)
    lines = text.splitlines(keepends=True)
    seal = json.loads(lines[-1])
    cases = {f"two {kind} lines": sealed([*good, good[at]]) for kind, at in first.items() if kind not in ("unit_edits", "entity_changes", "tasks")}  # fmt: skip
    needed = (
        "banks",
        "units",
        "vectors",
        "entities",
        "item_units",
        "opinion_wordings",
        "record_category_names",
    )
    cases |= {f"no {kind} line": sealed(without(good, kind)) for kind in needed}
    (memory,) = rows_of(good, [next(fields["unit_id"] for kind, fields in good if kind == "units")])
    cases["an observation that is a fact"] = sealed(changed(good, "observations", "unit", memory))
    cases["a fact for an observation"] = sealed(changed(good, "observation_facts", "observation", memory))
    last = max(at for at, (kind, _) in enumerate(good) if kind == "records")
    cases["a record left out"] = sealed([*good[: last - 1], *good[last:]])
    cases |= {
        "the bank comes second": sealed([good[1], good[0], *good[2:]]),
        "a mention before its memory": sealed([good[0], good[first["mentions"]], *good[1 : first["mentions"]]]),
        "an unknown kind": sealed([*good, ["spell", {}]]),
        "no list": sealed([*good[:3], 7, *good[3:]]),  # type: ignore[list-item]
        "three in a line": sealed([*good, ["tasks", {}, {}]]),
        "a kind that is none": sealed([*good, [["tasks"], {}]]),
        "fields that are none": sealed([*good, ["tasks", []]]),
        "two tasks of a key": sealed([*good, *[["tasks", {**good[first["tasks"]][1], "key": "a"}]] * 2]),
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
    """Repeated, unordered, missing or malformed lines, and a seal that does not match, are rejected without a trace."""
    for name, text in broken(good).items():
        assert load(engine, text) is not None, name
    assert load(engine, sealed(good)) is None


def test_a_line_too_long_for_memory_is_refused(
    engine: Hindsight, good: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is not read beyond the maximum length."""
    monkeypatch.setattr(archive, "LONGEST_LINE", 10_000)
    assert load(engine, sealed(good)) is None
    refused = load(engine, sealed(changed(good, "units", "text", "x" * 10_000)))
    assert refused is not None
    assert "more than 10,000 characters" in str(refused)


def test_an_archive_that_cannot_be_read_twice_is_taken(engine: Hindsight, good: list[Line]) -> None:
    """A pipe, or an object that can only be read, works like a file."""

    class Pipe:
        def __init__(self, text: str) -> None:
            self.read = io.StringIO(text).read

    assert engine.bank("target").archive.load(Pipe(sealed(good))) == 8  # type: ignore[arg-type]
    engine.forget_bank("target")
    with pytest.raises(ArchiveInvalid):
        engine.bank("target").archive.load(Pipe(sealed(good) + "x"))  # type: ignore[arg-type]


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
    """The error names an invalid path, or an object that is not a text file, for reading and for writing."""
    for verb in (engine.bank("target").archive.load, engine.bank("target").archive.export):
        with pytest.raises(InvalidRequest, match="Pass a"):
            verb(given)


def test_an_error_does_not_repeat_what_the_archive_says(engine: Hindsight, good: list[Line]) -> None:
    """Neither values nor key names of a rejected archive are in the error: they may be memories."""
    said = "zyxquorl plums"
    for field, value in (("metadata", {said: {"a": 5}}), ("fact_type", said), (said, 1), ("text", [said])):
        refused = load(engine, sealed(changed(good, "units", field, value)))
        assert said not in str(refused)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


Change = Callable[[list[Line], int, int, Any], None]


def put(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Replace the value of a field."""
    fields = lines[here][1]
    fields[list(fields)[there % len(fields)]] = value


def put_inside(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Replace a value in the list or object of a field."""
    fields = lines[here][1]
    inner = fields[list(fields)[there % len(fields)]]
    if isinstance(inner, list):
        inner.append(value)
    elif isinstance(inner, dict):
        inner[next(iter(inner), "k")] = value


def take_out(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Remove a field."""
    fields = lines[here][1]
    del fields[list(fields)[there % len(fields)]]


def add(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Add a field."""
    lines[here][1]["more"] = value


def drop(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Remove a line."""
    del lines[here]


def double(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Duplicate a line."""
    lines.insert(there % len(lines), copy.deepcopy(lines[here]))


def swap(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Swap two lines."""
    there %= len(lines)
    lines[here], lines[there] = lines[there], lines[here]


def borrow(lines: list[Line], here: int, there: int, value: Any) -> None:
    """Copy a field from another line of the kind."""
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
    """Fuzzed and sealed again, an archive is loaded with a clean doctor, or rejected without a trace."""
    lines = copy.deepcopy(good)
    for change, here, there, value in made:
        at = here % len(lines)
        if lines[at][1]:
            change(lines, at, there, value)
    load(engine, sealed(lines))


def parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), length=st.integers(0, 40), noise=st.text(st.characters(), max_size=6))
def test_a_damaged_file_comes_in_whole_or_not_at_all(
    engine: Hindsight, good: list[Line], at: float, length: int, noise: str
) -> None:
    """Characters are replaced anywhere, with a new seal if there is one; the result is the same."""
    body = sealed(good).splitlines(keepends=True)[:-1]
    text = "".join(body)
    place = int(at * len(text))
    text = text[:place] + noise + text[place + length :]
    seal = {
        "rows": text.count("\n") - 1,
        "units": sum(map(is_memory, map(parsed, text.splitlines()))),
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    }
    load(engine, text + json.dumps(seal) + "\n")


@pytest.mark.promise("An archive is loaded completely or not at all.")
def test_a_refused_archive_leaves_no_bytes_in_the_files(
    opener: Callable[..., Hindsight],
    light_config: HindsightConfig,
    good: list[Line],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last line is invalid: no file contains a word of the others, although the transaction was too large for memory."""
    monkeypatch.setattr(databases, "CACHE_KIBIBYTES", 16)
    with opener(tmp_path, config=light_config, embeddings=HashEmbedder(DIMENSION)) as engine:
        bank = engine.bank("target")
        lines = changed(good, "tasks", "state", "abc")
        lines = changed(lines, "units", "text", "zyxquorl plums " * 10_000)
        with pytest.raises(ArchiveInvalid):
            bank.archive.load(io.StringIO(sealed(lines)))
        assert not [
            path for path in tmp_path.rglob("*") if path.is_file() and b"zyxquorl" in path.read_bytes()
        ]
