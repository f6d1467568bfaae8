"""Recall's options: conditions on tags, thresholds, budgets, and additions to the memories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import (
    Budget,
    Document,
    FactType,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MinScores,
    TagLeaf,
    TagNot,
    TagOr,
)
from hindsight_integrations.config import RecallConfig
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import FixedReranker

ALICE, BOB = {"text": "Alice Chen", "type": "PERSON"}, {"text": "Bob Okafor", "type": "PERSON"}
STATEMENT = {
    "m0": "Alice Chen repairs old bicycles in her shed.",
    "m1": "Bob Okafor asked Alice Chen to mend a tandem bicycle.",
    "m2": "The town library closes at six on Mondays.",
}
SEEN = {
    "Alice Chen is the handy neighbour for bicycles.": ([ALICE], ["m0", "m1"]),
    "Alice Chen and Bob Okafor trust each other.": ([ALICE, BOB], ["m1"]),
    "Bob Okafor rides in pairs.": ([BOB], ["m1"]),
}


def fill(bank: MemoryBank, **options: Any) -> None:
    """Three facts from messages, and three observations based on them."""
    people = {"m0": [ALICE], "m1": [BOB, ALICE], "m2": []}
    facts = [{"what": what, "sources": [key], "entities": people[key]} for key, what in STATEMENT.items()]
    facts += [
        {"what": what, "fact_type": "observation", "entities": entities, "sources": sources}
        for what, (entities, sources) in SEEN.items()
    ]
    messages = [{"role": "user", "content": what, "id": key} for key, what in STATEMENT.items()]
    bank.retain(messages, facts=facts, thread="chat", **options)


@pytest.fixture
def bank(real: Hindsight) -> MemoryBank:
    bank = real.bank("street")
    fill(bank)
    return bank


def texts(found: RecallResult) -> list[str]:
    return [item.unit.text for item in found.units]


# --- order


def test_memories_chosen_by_rank_come_in_order_of_time(light: Hindsight) -> None:
    """The order is by event time, else by mention; the selected memories and their scores do not change."""
    bank = light.bank("garden")
    for day, what, happened in (
        ("2024-05-03", "Ann planted cherry trees.", None),
        ("2024-05-04", "Ann pruned the old cherry trees in 2019.", "2019-03-01"),
        ("2024-05-02", "Cherry trees, cherry trees: Ann sells cherry trees.", None),
        ("2024-05-01", "The library has new chairs.", None),
    ):
        said = {"role": "user", "content": what, "timestamp": f"{day}T10:00:00Z"}
        bank.retain([said], facts=[{"what": what, "occurred_start": happened}], thread=day)
    ranked = bank.recall("cherry trees", k=3)
    timed = bank.recall("cherry trees", k=3, order="time")
    assert [text.split()[1] for text in texts(timed)] == ["pruned", "trees,", "planted"]
    assert {item.unit.id: item.score for item in timed.units} == {
        item.unit.id: item.score for item in ranked.units
    }
    assert (timed.tokens, timed.confidence) == (ranked.tokens, ranked.confidence)
    assert texts(ranked) != texts(timed)


def test_of_one_moment_the_better_memory_comes_first(light: Hindsight) -> None:
    """Without event times, facts of one message are in its order or, with equal times, in rank order."""
    bank = light.bank("day")
    facts = [
        {"what": f"Ann ate {fruit}.", "occurred_start": "2024-05-01"} for fruit in ("figs", "plums", "pears")
    ]
    bank.retain("Ann ate figs, plums and pears.", facts=facts)
    question = "Did Ann eat plums?"
    assert texts(bank.recall(question, order="time")) == texts(bank.recall(question))


# --- conditions on tags


TAGGED = {"none": [], "a": ["a"], "ab": ["a", "b"], "b": ["b"]}


@every_row(
    ("options", "expected"),
    [
        ({"tag_groups": [{"tags": ["a"]}]}, {"a", "ab"}),
        ({"tag_groups": {"tags": ["a"], "match": "any"}}, {"none", "a", "ab"}),
        ({"tag_groups": [{"tags": ["a"]}, {"not": {"tags": ["b"]}}]}, {"a"}),
        ({"tag_groups": [{"or": [{"tags": ["b"]}, {"tags": [], "match": "exact"}]}]}, {"none", "ab", "b"}),
        ({"tag_groups": TagOr((TagLeaf(("a",)), TagNot(TagLeaf(("b",)))))}, {"none", "a", "ab"}),
        ({"tags": ["a"], "tag_groups": [TagLeaf(("b",))]}, {"ab"}),
        ({"tags": ["a"], "tags_match": "exact", "tag_groups": [{"tags": ["b"]}]}, set()),
    ],
)
def test_tag_groups_choose_memories(light: Hindsight, options: dict[str, Any], expected: set[str]) -> None:
    """JSON and typed conditions select the same memories; tags that are passed as well must match too."""
    bank = light.bank("tags")
    for name, own in TAGGED.items():
        bank.retain(f"memory {name}", document_id=name, tags=own)
    assert {text.split()[1] for text in texts(bank.recall("memory", **options))} == expected


def test_tag_groups_apply_before_limits(real: Hindsight) -> None:
    """One memory with the right tags among 400 better matches is found with a low budget."""
    bank = real.bank("many")
    rows = [f"kayak kayak trip {n}" for n in range(400)]
    bank.retain(
        [{"role": "user", "content": row, "id": row} for row in rows],
        facts=[{"what": row, "sources": [row]} for row in rows],
        tags=["common"],
    )
    bank.retain("a short note on a kayak and other matters entirely", tags=["rare", "common"])
    groups: list[dict[str, Any]] = [{"tags": ["common"]}, {"not": {"not": {"tags": ["rare"]}}}]
    found = bank.recall("kayak trip", tag_groups=groups, budget=Budget.LOW)
    assert texts(found) == ["a short note on a kayak and other matters entirely"]


def test_an_empty_selection_says_which_filter_emptied_it(light: Hindsight) -> None:
    """If no memory passes the filters, the result is empty, and the trace names the filter."""
    bank = light.bank("street")
    assert bank.recall("bicycle").trace.notes[0] == "filters: the bank has no memories"
    fill(bank, tags=["here"])
    for options, reason in (
        ({"types": ["opinion"]}, "filters: of 6 memories none passes types opinion"),
        (
            {"tags": ["x"], "tags_match": "all_strict"},
            "filters: of 3 memories none passes tags x (all_strict)",
        ),
        ({"tag_groups": [{"tags": ["x"]}]}, "filters: of 3 memories none passes tag_groups"),
        ({"as_of": "1999-01-01"}, "filters: of 3 memories none passes as_of 1999-01-01 00:00:00"),
    ):
        found = bank.recall("bicycle", **options)
        assert (found.units, found.trace.notes[0]) == ((), reason)


# --- thresholds


def test_channel_thresholds_cut_that_channels_list(bank: MemoryBank) -> None:
    """A cosine or BM25 score below the threshold does not count, but another channel may still find the memory."""
    query = "tandem bicycle"
    everything = bank.recall(query)
    for channel in ("semantic", "keyword"):
        scores = sorted(
            hit.score for item in everything.units for key, hit in item.channels.items() if key == channel
        )
        least = scores[-1]
        found = bank.recall(query, min_scores={channel: least})
        left = [hit.score for item in found.units for key, hit in item.channels.items() if key == channel]
        assert left == [least]
        assert f"min_scores: {channel} dropped {len(scores) - 1} of {len(scores)}" in found.trace.notes
    strict = bank.recall(query, min_scores=MinScores(semantic=1.0, keyword=1e6))
    assert strict.units == ()


def test_reranker_and_final_thresholds_drop_memories(opener: Callable[..., Hindsight]) -> None:
    """Memories below the reranker's threshold are dropped, whatever found them; `final` applies to the returned score."""
    judge = FixedReranker(lambda _, passage: 4.0 if "tandem" in passage else -4.0)
    bank = opener(reranker=judge).bank("street")
    fill(bank)
    query = "bicycle library tandem"
    every = bank.recall(query)
    assert len(every.units) == 3
    likely = bank.recall(query, min_scores={"reranker": 0.5})
    assert texts(likely) == [STATEMENT["m1"]]
    assert "min_scores: reranker dropped 2 of 3" in likely.trace.notes
    best = bank.recall(query, min_scores={"final": every.units[0].score})
    assert texts(best) == texts(every)[:1]
    assert "min_scores: final dropped 2 of 3" in best.trace.notes


def test_memories_the_reranker_did_not_read_are_not_held_to_it(opener: Callable[..., Hindsight]) -> None:
    """After the deadline, memories without a score pass the reranker's threshold, and a note says so."""
    config = HindsightConfig(recall=RecallConfig(rerank_deadline_ms=0.0))
    bank = opener(reranker=FixedReranker(lambda *_: -9.0), config=config).bank("many")
    rows = [f"kayak trip number {n}" for n in range(10)]
    bank.retain([{"role": "user", "content": row, "id": row} for row in rows])
    found = bank.recall("kayak trip", min_scores={"reranker": 0.5})
    assert len(found.units) == 2
    assert "min_scores: reranker dropped 8 of 8; 2 unscored memories were not checked" in found.trace.notes


def test_a_reranker_threshold_without_a_reranker_says_so(bank: MemoryBank) -> None:
    """It drops nothing, and the trace says why."""
    found = bank.recall("bicycle", min_scores={"reranker": 1.0})
    assert found.units
    assert any("the reranker scored no memories" in note for note in found.trace.notes)


@every_row(
    ("given", "message"),
    [
        ({"bm25": 1}, "min_scores: 'bm25' is not a stage. Use: semantic, keyword, reranker, final"),
        ({"semantic": 1.5}, r"min_scores.semantic: 1.5 is not a number from -1 to 1"),
        ({"reranker": -0.1}, r"min_scores.reranker: -0.1 is not a number from 0 to 1"),
        ({"keyword": "high"}, r"min_scores.keyword: 'high' is not a number"),
        (MinScores(final=float("nan")), r"min_scores.final: nan is not a number"),
        (0.5, "min_scores: 0.5 is not a mapping"),
    ],
)
def test_impossible_thresholds_are_refused(light: Hindsight, given: Any, message: str) -> None:
    """The error names the stage and its range."""
    with pytest.raises(InvalidRequest, match=message):
        light.bank("street").recall("bicycle", min_scores=given)


# --- budgets


def test_fixed_budgets_are_the_docs() -> None:
    """100, 300 and 1,000 candidates per channel (recall docs, "How Budget Maps to Pipeline Parameters")."""
    assert RecallConfig().candidates == (100, 300, 1000)


def test_a_small_token_budget_does_not_narrow_the_search(light: Hindsight) -> None:
    """The result's size and the search depth are independent: with a small budget the channels still list all 30."""
    rows = [f"kayak trip number {n}" for n in range(30)]
    bank = light.bank("many")
    bank.retain([{"role": "user", "content": row, "id": row} for row in rows])
    found = bank.recall("kayak trip", max_tokens=60)
    listed = {stage.detail["hits"] for stage in found.trace.stages if stage.name in ("semantic", "keyword")}
    assert listed == {30}
    assert len(found.units) < 30


@every_row("field", ["max_tokens", "max_entity_tokens", "max_chunk_tokens", "max_source_fact_tokens"])
@every_row("value", [0, -1, 1.5])
def test_budgets_that_are_none_are_refused(light: Hindsight, field: str, value: Any) -> None:
    """The error for a zero, negative or invalid budget names the option and its range."""
    with pytest.raises(InvalidRequest, match=f"{field}: {value} is not a whole number from 1 to 10,000,000"):
        light.bank("street").recall("bicycle", **{field: value})


def test_a_budget_too_small_for_anything_says_so(bank: MemoryBank) -> None:
    """Nothing fits into one token: the result is empty, with the reason in the trace."""
    found = bank.recall("bicycle", max_tokens=1)
    assert (found.units, found.tokens) == ((), 0)
    assert any(note.startswith("budget: none of ") for note in found.trace.notes)


# --- includes


def test_nothing_is_included_unless_requested(bank: MemoryBank) -> None:
    """By default there are no entities, chunks and source facts, and no stages for them."""
    found = bank.recall("bicycle")
    assert (found.entities, found.chunks, found.source_facts) == ((), (), ())
    assert {stage.name for stage in found.trace.stages} <= {
        *(
            "time",
            "embed query",
            "plan",
            "semantic",
            "keyword",
            "source turns",
            "graph",
            "temporal",
            "fuse",
            "lists",
            "pack",
            "hydrate",
        ),
        "confidence",
    }


def test_observations_of_the_entities_met_come_in_their_own_budget(bank: MemoryBank) -> None:
    """Each observation is listed once, under the first of its entities, within its budget."""
    found = bank.recall("who repairs bicycles?", k=2, include_entities=True)
    assert all(item.unit.fact_type is not FactType.OBSERVATION for item in found.units)
    assert [entity.name for entity in found.entities] == ["Alice Chen", "Bob Okafor"]
    assert [item.text for item in found.entities[0].observations] == [
        "Alice Chen is the handy neighbour for bicycles.",
        "Alice Chen and Bob Okafor trust each other.",
    ]
    assert [item.text for item in found.entities[1].observations] == ["Bob Okafor rides in pairs."]
    assert found.entities[0].id == bank.entities.list("alice")[0].id
    assert found.tokens == sum(item.unit.tokens for item in found.units)
    for budget in range(1, 40, 3):
        shown = bank.recall("who repairs bicycles?", k=2, include_entities=True, max_entity_tokens=budget)
        assert texts(shown) == texts(found)
        spent = sum(item.unit.tokens for entity in shown.entities for item in entity.observations)
        assert spent <= budget


def test_observations_already_returned_are_not_repeated(bank: MemoryBank) -> None:
    """If observations are searched too, those among the memories are not repeated."""
    found = bank.recall("bicycles", types=list(FactType), include_entities=True)
    included = [item.unit.id for entity in found.entities for item in entity.observations]
    assert not {item.unit.id for item in found.units} & set(included)


def test_filters_hold_for_what_is_included(light: Hindsight) -> None:
    """Another user's observations and source facts are hidden by tags in a shared bank."""
    bank = light.bank("shared")
    fill(bank, tags=["alice"])
    bank.retain(
        [{"role": "user", "content": "Alice Chen owes Bob money.", "id": "m9"}],
        facts=[
            {
                "what": "Alice Chen owes money.",
                "fact_type": "observation",
                "entities": [ALICE],
                "sources": ["m9"],
            }
        ],
        tags=["bob"],
    )
    for options in (
        {"tags": ["alice"], "tags_match": "all_strict"},
        {"tag_groups": [{"not": {"tags": ["bob"]}}]},
    ):
        found = bank.recall("who repairs bicycles?", include_entities=True, **options)
        seen = {item.text for entity in found.entities for item in entity.observations}
        assert seen == set(SEEN)


def test_source_facts_are_what_observations_stand_on(bank: MemoryBank) -> None:
    """Each fact once, nearest first, with the observations based on it, in a separate budget."""
    found = bank.recall("handy neighbour bicycles", types=["observation"], include_source_facts=True)
    names = {item.unit.id: item.text for item in found.units}
    grounds = {
        source.fact.text: {names[key] for key in source.observation_ids} for source in found.source_facts
    }
    assert grounds == {
        STATEMENT["m0"]: {text for text in names.values() if "m0" in SEEN[text][1]},
        STATEMENT["m1"]: {text for text in names.values() if "m1" in SEEN[text][1]},
    }
    scores = [source.fact.score for source in found.source_facts]
    assert scores == sorted(scores, reverse=True)
    cost = found.source_facts[0].fact.unit.tokens
    tight = bank.recall(
        "handy neighbour bicycles",
        types=["observation"],
        include_source_facts=True,
        max_source_fact_tokens=cost,
    )
    assert sum(source.fact.unit.tokens for source in tight.source_facts) <= cost
    assert bank.recall("bicycles", include_source_facts=True).source_facts == ()


PASSAGES = [
    f"Chapter {n}. The {word} is described here at length. " + f"More on the {word}. " * 120
    for n, word in enumerate(("harbour", "orchard", "foundry"))
]


def test_passages_come_whole_and_once_in_the_order_of_their_best_memory(real: Hindsight) -> None:
    """Each source text is listed once, with the memories made from it."""
    bank = real.bank("books")
    for n, passage in enumerate(PASSAGES):
        facts = [{"what": passage.split(". ")[1]}, {"what": f"Chapter {n} says: {passage.split('. ')[2]}"}]
        bank.retain(Document(passage, id=f"chapter {n}"), facts=facts)
    found = bank.recall("the orchard", include_chunks=True)
    first = [item.unit.document_id for item in found.units]
    assert [chunk.document_id for chunk in found.chunks] == list(dict.fromkeys(first))
    assert found.chunks[0].text.strip() == PASSAGES[1].strip()
    assert not any(chunk.truncated for chunk in found.chunks)
    for chunk in found.chunks:
        made = [item.unit.id for item in found.units if item.unit.document_id == chunk.document_id]
        assert list(chunk.unit_ids) == made


def test_the_last_passage_is_cut_where_its_budget_ends(real: Hindsight) -> None:
    """Passages stay within the budget; the one that does not fit is cut between words and marked."""
    bank, counter = real.bank("books"), default_token_counter()
    for n, passage in enumerate(PASSAGES):
        bank.retain(Document(passage, id=f"chapter {n}"), facts=[{"what": passage.split(". ")[1]}])
    whole = bank.recall("the orchard described at length", include_chunks=True)
    budget = whole.chunks[0].tokens + 50
    found = bank.recall("the orchard described at length", include_chunks=True, max_chunk_tokens=budget)
    assert [chunk.truncated for chunk in found.chunks] == [False, True]
    assert found.chunks[0] == whole.chunks[0]
    cut = found.chunks[1].text
    assert whole.chunks[1].text.startswith(cut + " ")
    assert budget - 5 <= sum(chunk.tokens for chunk in found.chunks) <= budget
    assert [chunk.tokens for chunk in found.chunks] == counter.count([chunk.text for chunk in found.chunks])
    assert texts(found) == texts(whole)


def test_erased_passages_and_messages_have_no_chunks(light: Hindsight) -> None:
    """A passage with a forgotten memory is not shown, nor that of a forgotten document or the turn of a forgotten message."""
    bank = light.bank("notes")
    facts = [{"what": "The kayak is red."}, {"what": "The kayak has a secret name."}]
    one = bank.retain(Document("The kayak is red, and it has a secret name.", id="d"), facts=facts)
    bank.retain(Document("A kayak needs a paddle.", id="e"), facts=[{"what": "A kayak needs a paddle."}])
    two = [
        {"what": "The user's kayak leaks.", "sources": ["m"]},
        {"what": "A kayak is for sale.", "sources": ["m"]},
    ]
    said = bank.retain([{"role": "user", "content": "My kayak leaks, buy it.", "id": "m"}], facts=two)
    assert {chunk.document_id for chunk in bank.recall("kayak", include_chunks=True).chunks} == {
        "d",
        "e",
        None,
    }
    bank.forget(unit=one.unit_ids[1])
    bank.forget(unit=said.unit_ids[1])
    found = bank.recall("kayak", include_chunks=True)
    assert [chunk.document_id for chunk in found.chunks] == ["e"]
    assert len(found.units) == 3
    assert "chunks: 1 memories come from messages whose text is not kept" in found.trace.notes
    bank.forget(document="e")
    assert bank.recall("kayak", include_chunks=True).chunks == ()


def test_the_async_api_takes_the_same_options(light: Hindsight) -> None:
    """All options together give the same result sync and async."""
    bank = light.bank("street")
    fill(bank, tags=["a"])
    options: dict[str, Any] = {
        "tag_groups": [{"tags": ["a"]}],
        "min_scores": {"semantic": 0.1},
        "include_entities": True,
        "include_chunks": True,
        "include_source_facts": True,
        "types": ["world", "observation"],
        "trace": True,
    }
    ours = bank.recall("bicycles", **options)
    theirs = asyncio.run(bank.asynchronous.recall("bicycles", **options))
    assert (ours.units, ours.entities, ours.chunks, ours.source_facts, ours.trace.units) == (
        theirs.units,
        theirs.entities,
        theirs.chunks,
        theirs.source_facts,
        theirs.trace.units,
    )
    assert ours.units
