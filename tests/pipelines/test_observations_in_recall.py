"""Generated observations in a recall: with their source facts, and only while they are valid."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, RecallResult
from hindsight_integrations.config import ObservationConfig, RecallConfig
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.model.writes import MentionWrite, ObservedWrite, UnitWrite, WriteSet
from hindsight_integrations.testing.doubles import FixedReranker, HashEmbedder

ANNA = {"text": "Anna Berg", "type": "PERSON"}
TOLD = {
    "bakery": "Anna Berg runs a bakery on Mill Street.",
    "rye": "Anna Berg bakes rye bread before dawn.",
    "lamp": "Anna Berg lent the brass lamp to Tom.",
}
DAY = {"bakery": "2024-05-01", "rye": "2024-05-02", "lamp": "2024-05-03"}
BAKER = "Anna Berg is an early-rising baker with a shop on Mill Street."
LENDER = "Anna Berg lends her things."
MADE = {BAKER: ("bakery", "rye"), LENDER: ("lamp",)}


def tell(bank: MemoryBank, keys: Sequence[str], **options: Any) -> dict[str, str]:
    """Retain some of the facts, one message each; unit ids by key."""
    found = {}
    for key in keys:
        fact = {"what": TOLD[key], "entities": [ANNA], "sources": [key]}
        message = {"role": "user", "content": TOLD[key], "id": key}
        (found[key],) = bank.retain(
            [message], facts=[fact], timestamp=DAY[key], thread="t", **options
        ).unit_ids
    return found


def make(bank: MemoryBank, ids: Mapping[str, str], made: Mapping[str, tuple[str, ...]] = MADE) -> None:
    """Write observations of Anna Berg with their source facts, as the task's handler does."""
    context, embedder = bank._target._context, HashEmbedder()
    (anna,) = context.ledger.entities.find(bank.name, normalise_name("Anna Berg"))
    units, facts = [], {}
    for text, keys in made.items():
        grounds = [bank.get(ids[key]) for key in keys]
        newest = max(grounds, key=lambda unit: unit.mentioned_at)
        unit = MemoryUnit(
            id=f"made of {'+'.join(keys)}",
            bank=bank.name,
            text=text,
            fact_type=FactType.OBSERVATION,
            mentioned_at=newest.mentioned_at,
            tags=newest.tags,
            tokens=len(text.split()),
        )
        units.append(UnitWrite(unit, embedder.embed_documents([text])[0].astype("<f4").tobytes()))
        facts[unit.id] = tuple(ids[key] for key in keys)
    covered = {key for keys in made.values() for key in keys}
    left_out = tuple(unit for key, unit in ids.items() if key not in covered)
    with context.ledger.transaction(bank.name) as transaction:
        revision = transaction.feed.revision
        transaction.commit(
            WriteSet(
                bank.name,
                revision,
                units=tuple(units),
                mentions=tuple(MentionWrite(write.unit.id, anna.id, anna.name) for write in units),
                observed=ObservedWrite(anna.id, facts, left_out, revision),
            )
        )
    context.catch_up()


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("village")


@pytest.fixture
def ids(bank: MemoryBank) -> dict[str, str]:
    """Three facts about Anna Berg, and two observations of her."""
    told = tell(bank, list(TOLD))
    make(bank, told)
    return told


def shown(found: RecallResult) -> set[str]:
    """The observations returned beside the memories."""
    return {item.text for entity in found.entities for item in entity.observations}


def asked(bank: MemoryBank, **options: Any) -> RecallResult:
    return bank.recall("Anna Berg runs a bakery, bakes rye, lends a lamp", include_entities=True, **options)


def test_what_was_made_of_an_entity_comes_beside_its_memories(bank: MemoryBank, ids: dict[str, str]) -> None:
    """They have a separate budget, are never among the memories, and are current."""
    found = asked(bank)
    assert shown(found) == set(MADE)
    assert {item.text for item in found.units} == set(TOLD.values())
    assert [entity.stale for entity in found.entities] == [False]
    tight = asked(bank, max_entity_tokens=len(LENDER.split()))
    assert shown(tight) == {LENDER}
    assert "(outdated)" not in found.explain()


def test_a_new_fact_marks_what_is_there(bank: MemoryBank, ids: dict[str, str]) -> None:
    """Its content is still valid, and a reader sees that newer facts exist."""
    bank.retain("Anna Berg sold a loaf.", facts=[{"what": "Anna Berg sold a loaf.", "entities": [ANNA]}])
    found = asked(bank)
    assert shown(found) == set(MADE)
    assert [entity.stale for entity in found.entities] == [True]
    assert "Anna Berg (outdated): " in found.explain()
    assert bank.entities.observations("Anna Berg").stale
    bank.tasks.settle()
    assert [entity.stale for entity in asked(bank).entities] == [False]


def test_a_retained_observation_is_never_stale(bank: MemoryBank) -> None:
    """Retained observations are not updated."""
    seen = {"what": LENDER, "fact_type": "observation", "entities": [ANNA]}
    bank.retain("x", facts=[{"what": TOLD["lamp"], "entities": [ANNA]}, seen])
    assert [(entity.stale, shown(asked(bank))) for entity in asked(bank).entities] == [(False, {LENDER})]


def withdrawn(bank: MemoryBank, unit: str) -> None:
    """A message that withdraws a fact."""
    fact = {"what": "Anna Berg gave the bakery up.", "entities": [ANNA], "invalidates": [TOLD["bakery"]]}
    bank.retain("She gave it up.", facts=[fact], timestamp="2024-06-01")
    assert bank.get(unit).closed_at


WITHDRAWALS: dict[str, Callable[[MemoryBank, str], object]] = {
    "withdrawn": withdrawn,
    "corrected": lambda bank, unit: bank.edit(unit, text="Anna Berg ran a bakery."),
    "tagged otherwise": lambda bank, unit: bank.edit(unit, tags=["private"]),
    "forgotten": lambda bank, unit: bank.forget(unit=unit),
    "said otherwise": lambda bank, unit: bank.retain(
        [{"role": "user", "content": "Anna Berg runs a smithy.", "id": "bakery"}],
        facts=[{"what": "Anna Berg runs a smithy.", "entities": [ANNA], "sources": ["bakery"]}],
        thread="t",
        timestamp="2024-06-01",
    ),
}


@pytest.mark.promise(
    "Everything derived from a fact becomes invalid with it: no summary repeats what was withdrawn, corrected or forgotten."
)
@pytest.mark.parametrize("how", WITHDRAWALS)
def test_a_summary_does_not_outlive_what_it_says(bank: MemoryBank, ids: dict[str, str], how: str) -> None:
    """It ends at once, not only with the update; one based on other facts stays, unless a fact was erased."""
    WITHDRAWALS[how](bank, ids["bakery"])
    found = asked(bank, types=list(FactType))
    assert BAKER not in {item.text for item in found.units} | shown(found)
    assert (LENDER in {item.text for item in found.units} | shown(found)) is (how != "forgotten")
    assert bank.entities.observations("Anna Berg").stale
    bank.tasks.settle()
    after = bank.entities.observations("Anna Berg")
    assert after.observations
    remaining = [unit.tags for unit in after.observations if "Mill Street" in unit.text]
    assert remaining == ([("private",)] if how == "tagged otherwise" else [])


def test_a_summary_is_not_shown_of_a_time_before_its_facts(bank: MemoryBank, ids: dict[str, str]) -> None:
    """With `as_of`, an observation is shown if all its source facts had been mentioned by then."""
    for moment, expected in {
        "2024-05-01T12:00": set(),
        "2024-05-02T12:00": {BAKER},
        "2024-05-04": set(MADE),
    }.items():
        assert shown(asked(bank, as_of=moment)) == expected
        searched = bank.recall("baker lends", types=["observation"], as_of=moment)
        assert {item.text for item in searched.units} == expected


@pytest.mark.promise(
    "Everything derived from a fact becomes invalid with it: no summary repeats what was withdrawn, corrected or forgotten."
)
def test_a_summary_is_not_shown_of_a_time_at_which_its_fact_was_withdrawn(
    light: Hindsight, bank: MemoryBank
) -> None:
    """A fact that was closed for a while and is valid again was not true in between, and neither were its observations."""
    ids = tell(bank, list(TOLD))
    withdrawn(bank, ids["bakery"])
    bank.restore(ids["bakery"])
    make(bank, ids)
    assert {BAKER, LENDER} <= shown(asked(bank))
    for invalidated in (False, True):
        options: dict[str, Any] = {"as_of": "2024-06-02", "include_invalidated": invalidated}
        assert shown(asked(bank, **options)) == {LENDER}
        searched = bank.recall("baker lends", types=["observation"], **options)
        assert {item.text for item in searched.units} == {LENDER}
    assert shown(asked(bank, as_of="2024-05-15")) == set(MADE)


def test_tags_hold_for_what_was_made(bank: MemoryBank) -> None:
    """Observations of other tags stay hidden, like their facts."""
    make(bank, tell(bank, list(TOLD), tags=["anna"]))
    assert shown(asked(bank, tags=["anna"])) == set(MADE)
    bank.retain("Anna Berg waved.", facts=[{"what": "Anna Berg waved.", "entities": [ANNA]}], tags=["tom"])
    found = asked(bank, tags=["tom"], tags_match="any_strict")
    assert ({item.text for item in found.units}, shown(found)) == ({"Anna Berg waved."}, set())


def test_source_facts_are_what_it_was_made_from(bank: MemoryBank, ids: dict[str, str]) -> None:
    """Each observation names its facts, not whatever else was said in the same message."""
    found = bank.recall("a baker who lends", types=["observation"], include_source_facts=True)
    grounds = {source.fact.text: set(source.observation_ids) for source in found.source_facts}
    assert grounds == {
        TOLD["bakery"]: {"made of bakery+rye"},
        TOLD["rye"]: {"made of bakery+rye"},
        TOLD["lamp"]: {"made of lamp"},
    }


def test_observations_are_searched_if_the_settings_say_so(
    opener: Callable[..., Hindsight], light_config: HindsightConfig
) -> None:
    """Where no types are given; types that are given mean what they say."""
    config = replace(light_config, observations=ObservationConfig(searchable=True))
    bank = opener(config=config).bank("village")
    make(bank, tell(bank, list(TOLD)))
    assert {item.text for item in asked(bank).units} == {*TOLD.values(), *MADE}
    assert shown(asked(bank)) == set()
    assert {item.text for item in asked(bank, types=["world"]).units} == set(TOLD.values())


def test_what_more_facts_prove_is_boosted(
    opener: Callable[..., Hindsight], light_config: HindsightConfig
) -> None:
    """Of two observations read alike, that made from two facts is raised, and that made from one is not."""
    config = replace(light_config, recall=RecallConfig(boosts=True))
    bank = opener(config=config, reranker=FixedReranker(lambda _query, _text: 1.0)).bank("village")
    make(bank, tell(bank, list(TOLD)))
    found = bank.recall("baker lends", types=["observation"], trace=True)
    proofs = {trace.text: trace.reranked.proof for trace in found.trace.units if trace.reranked}
    assert proofs == {BAKER: pytest.approx(1 + 0.1 * 0.0693, abs=1e-4), LENDER: 1.0}


def test_an_entity_shows_what_was_made_of_it(bank: MemoryBank, ids: dict[str, str]) -> None:
    """Observations, the facts each stands on, and what was looked at and left out."""
    make(bank, ids, {BAKER: ("bakery", "rye")})
    found = bank.entities.observations("anna berg")
    assert (found.entity.name, [unit.text for unit in found.observations]) == ("Anna Berg", [BAKER])
    assert found.facts == {"made of bakery+rye": (ids["bakery"], ids["rye"])}
    assert (found.left_out, found.stale) == ((ids["lamp"],), False)


def test_making_observations_changes_no_recall_of_memories(bank: MemoryBank) -> None:
    """What was made of facts is no hub, no neighbour and no rival of theirs: the same memories in the same order."""
    ids = tell(bank, list(TOLD))
    before = [
        (item.unit, item.channels) for item in bank.recall("Who runs the bakery and lends lamps?").units
    ]
    entities = bank.entities.list()
    make(bank, ids)
    after = [(item.unit, item.channels) for item in bank.recall("Who runs the bakery and lends lamps?").units]
    assert [unit for unit, _ in after] == [unit for unit, _ in before]
    assert bank.entities.list() == entities


def test_facts_are_not_linked_to_what_was_made_of_them(bank: MemoryBank, ids: dict[str, str]) -> None:
    """A new fact in an observation's very words is linked to the facts alone."""
    fact = {"what": BAKER, "entities": [ANNA]}
    bank.retain(
        "Say it again.",
        facts=[fact, {**fact, "what": LENDER, "fact_type": "observation"}],
        timestamp="2024-05-03",
    )
    out = io.StringIO()
    bank.archive.export(out)
    rows = [json.loads(line) for line in out.getvalue().splitlines()[1:-1]]
    types = {fields["id"]: fields["fact_type"] for kind, fields in rows if kind == "units"}
    ends = [types[fields[end]] for kind, fields in rows if kind == "links" for end in ("source", "target")]
    assert ends
    assert "observation" not in ends
    assert sum(kind == "observation" for kind in types.values()) == 3


def test_made_observations_are_corrected_at_their_facts(bank: MemoryBank, ids: dict[str, str]) -> None:
    """An edit of one would be lost when it is made anew; the error says what to edit instead."""
    with pytest.raises(InvalidRequest, match="Edit or forget its source facts") as refused:
        bank.edit("made of lamp", text="Anna Berg hoards.")
    assert ids["lamp"] in str(refused.value)


def files_with(folder: Path, needle: str) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes().lower()
    ]


@pytest.mark.directory
@pytest.mark.promise(
    "Everything derived from a fact becomes invalid with it: no summary repeats what was withdrawn, corrected or forgotten."
)
@pytest.mark.parametrize("first_withdrawn", [False, True])
def test_a_forgotten_fact_leaves_no_summary_in_any_file(
    opener: Callable[..., Hindsight], tmp_path: Path, *, first_withdrawn: bool
) -> None:
    """Not the one that stood on it, not the others its maker wrote, nor one that went before with the fact's closing."""
    engine = opener(tmp_path / "memory")
    bank = engine.bank("village")
    ids = tell(bank, list(TOLD))
    make(bank, ids, {"Xylobaker of Mill Street.": ("bakery", "rye"), "Xylolender.": ("lamp",)})
    engine.close()
    bank = opener(tmp_path / "memory").bank("village")
    assert files_with(tmp_path, "xylobaker")
    if first_withdrawn:
        withdrawn(bank, ids["bakery"])
    receipt = bank.forget(unit=ids["bakery"])
    assert receipt.files_clean
    assert "made of lamp" in receipt.unit_ids
    assert files_with(tmp_path, "xylobaker") == files_with(tmp_path, "xylolender") == []
