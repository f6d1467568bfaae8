"""Recall: four channels, filters before limits, budgets, and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import (
    Budget,
    Channel,
    FactType,
    Hindsight,
    HindsightConfig,
    IndexOutOfStep,
    Interval,
    MemoryBank,
    RecallResult,
    TagsMatch,
)
from hindsight_integrations.config import OnChannelFailure, RecallConfig
from hindsight_integrations.indexes.hybrid import keyword_channel, semantic_channel
from hindsight_integrations.model.arrays import Hits, Vector
from hindsight_integrations.recall import retrieval
from hindsight_integrations.reflect.answer import BEST_MEMORIES
from hindsight_integrations.testing.doubles import FixedReranker, FrozenClock, HashEmbedder


def facts(*rows: tuple[str, str | None, str]) -> list[dict[str, Any]]:
    """Build extracted facts from (what, occurred_start, comma-separated people), each with its own source."""
    return [
        {
            "what": what,
            "occurred_start": start,
            "entities": [{"text": name, "type": "PERSON"} for name in people.split(",") if name],
            "sources": [f"m{n}"],
        }
        for n, (what, start, people) in enumerate(rows)
    ]


def fill(bank: MemoryBank, rows: list[dict[str, Any]], **options: Any) -> None:
    messages = [{"role": "user", "content": row["what"], "id": row["sources"][0]} for row in rows]
    bank.retain(messages, facts=rows, **options)


GARDEN = facts(
    ("Alice Chen repairs old bicycles in her shed.", None, "Alice Chen"),
    ("Bob Okafor asked Alice Chen to mend a tandem.", "2024-03-10", "Bob Okafor,Alice Chen"),
    ("Bob Okafor's orchard flooded in the storm.", "2024-04-02", "Bob Okafor"),
    ("The town library closes at six on Mondays.", None, ""),
    ("A jazz festival filled the square.", "2024-04-20", ""),
    ("Tea prices rose at the corner shop.", "2023-11-05", ""),
    ("The choir practises every Thursday.", None, ""),
    ("A new bridge opened near the mill.", "2022-06-01", ""),
    ("Carla Diaz teaches pottery to beginners.", None, "Carla Diaz"),
    ("The swimming pool was painted blue.", "2024-01-15", ""),
)


@pytest.fixture
def garden(real: Hindsight) -> MemoryBank:
    bank = real.bank("garden")
    fill(bank, GARDEN)
    return bank


def texts(result: RecallResult) -> list[str]:
    return [item.unit.text for item in result.units]


def channels_of(result: RecallResult, start: str) -> set[Channel]:
    return next(set(item.channels) for item in result.units if item.unit.text.startswith(start))


def test_each_channel_finds_what_the_others_cannot(garden: MemoryBank) -> None:
    """Meaning and words find the bicycle fact, time finds April's festival, and the graph leads from Bob to his orchard."""
    assert {Channel.SEMANTIC, Channel.KEYWORD} <= channels_of(
        garden.recall("who repairs bicycles?"), "Alice Chen repairs"
    )
    april = garden.recall("What happened in April 2024?")
    assert april.window == Interval(datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC))
    assert channels_of(april, "A jazz festival") >= {Channel.TEMPORAL}
    walked = garden.recall("What trouble did the man who wanted a tandem, Bob Okafor, have?")
    assert Channel.GRAPH in channels_of(walked, "Bob Okafor's orchard")


def test_multi_hop_reaches_units_two_entities_away(real: Hindsight) -> None:
    """A question about Alice's manager's team returns the team although no memory names Alice with it."""
    bank = real.bank("work")
    rows = facts(
        ("Alice Chen reports to Dan Weiss.", None, "Alice Chen,Dan Weiss"),
        ("Dan Weiss leads Team Falcon.", None, "Dan Weiss,Team Falcon"),
        ("Team Falcon ships the billing rewrite.", None, "Team Falcon"),
        *[(f"Noise number {n} about gravel and paint.", None, f"Person {n}") for n in range(40)],
    )
    fill(bank, rows)
    found = bank.recall("What does Alice Chen's manager's team work on?", k=8)
    assert Channel.GRAPH in channels_of(found, "Team Falcon ships")


def test_the_budget_is_never_exceeded_and_more_never_brings_less(garden: MemoryBank) -> None:
    """For every budget the texts fit, the used tokens never decrease as it grows, and the best differing unit is an improvement."""
    results = [
        garden.recall("bicycles orchard festival tea", max_tokens=budget)
        for budget in (5, 12, 20, 33, 50, 400)
    ]
    for budget, result in zip((5, 12, 20, 33, 50, 400), results, strict=True):
        assert result.tokens == sum(item.unit.tokens for item in result.units) <= budget
    assert [r.tokens for r in results] == sorted(r.tokens for r in results)


def test_k_is_a_hard_limit(garden: MemoryBank) -> None:
    """k=1 returns the best memory alone, k=3 three."""
    every = texts(garden.recall("bicycles festival"))
    assert [texts(garden.recall("bicycles festival", k=k)) for k in (1, 3)] == [every[:1], every[:3]]


def test_results_are_the_same_every_time(garden: MemoryBank) -> None:
    """The order is total: ten recalls of one question give equal lists."""
    assert len({tuple(texts(garden.recall("what happened in spring?"))) for _ in range(10)}) == 1


def test_the_graph_is_walked_from_a_named_entity(garden: MemoryBank) -> None:
    """Spreading activation returns Bob's other facts."""
    found = garden.recall("Who asked for a tandem, Bob Okafor?")
    assert any(Channel.GRAPH in item.channels for item in found.units)


def test_a_walk_shares_its_cosines_with_semantic_search(
    garden: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question with a name compares all memories once, and its result is that of two comparisons."""
    question, searched = "Who asked for a tandem, Bob Okafor?", []
    shared = garden.recall(question)

    def twice(*arguments: Any, cosines: object, **options: Any) -> Hits:
        searched.append(cosines is not None)
        return semantic_channel(*arguments, **options)

    monkeypatch.setattr(retrieval, "semantic_channel", twice)
    apart = garden.recall(question)
    assert searched == [True]
    assert [(item.unit.id, item.channels) for item in shared.units] == [
        (item.unit.id, item.channels) for item in apart.units
    ]


def test_a_question_without_names_or_causes_does_not_walk(garden: MemoryBank) -> None:
    """Spreading from similar memories lowers recall, so the graph channel does not run, and the trace says so."""
    found = garden.recall("when does the library close?")
    assert all(Channel.GRAPH not in item.channels for item in found.units)
    assert "graph: the question names no entity to start from" in found.trace.notes


TAGGED = {"none": [], "a": ["a"], "ab": ["a", "b"], "b": ["b"]}


@every_row(
    ("tags", "match", "expected"),
    [
        ([], TagsMatch.ANY, {"none", "a", "ab", "b"}),
        (["a"], TagsMatch.ANY, {"none", "a", "ab"}),
        (["a", "b"], TagsMatch.ALL, {"none", "ab"}),
        (["a"], TagsMatch.ANY_STRICT, {"a", "ab"}),
        (["a", "b"], TagsMatch.ANY_STRICT, {"a", "ab", "b"}),
        (["a", "b"], TagsMatch.ALL_STRICT, {"ab"}),
        (["a"], TagsMatch.EXACT, {"a"}),
        (["b", "a"], TagsMatch.EXACT, {"ab"}),
        ([], TagsMatch.EXACT, {"none"}),
        (["zz"], TagsMatch.ALL_STRICT, set()),
    ],
)
def test_tags_select_as_the_truth_table_says(
    light: Hindsight, tags: list[str], match: TagsMatch, expected: set[str]
) -> None:
    """Each mode of tag matching returns exactly the documented memories."""
    bank = light.bank("tags")
    for name, own in TAGGED.items():
        bank.retain(f"memory {name}", document_id=name, tags=own)
    assert {text.split()[1] for text in texts(bank.recall("memory", tags=tags, tags_match=match))} == expected


def test_filters_apply_before_limits(opener: Callable[..., Hindsight]) -> None:
    """One tagged memory among 400 better matches is found, because channels filter."""
    bank = opener().bank("many")
    rows = facts(*[(f"kayak kayak trip {n}", None, "") for n in range(400)])
    fill(bank, rows)
    bank.retain("a short note on a kayak and other matters entirely", tags=["rare"])
    found = bank.recall("kayak trip", tags=["rare"], tags_match="all_strict", budget=Budget.LOW)
    assert texts(found) == ["a short note on a kayak and other matters entirely"]


def test_types_choose_networks(light: Hindsight) -> None:
    """World facts and experiences can be requested separately; "bank" is the earlier paper's name for the latter."""
    bank = light.bank("types")
    bank.retain(
        [
            {"role": "user", "content": "I like tea."},
            {"role": "assistant", "content": "I suggested green tea."},
        ]
    )
    assert texts(bank.recall("tea", types=[FactType.WORLD])) == ["user: I like tea."]
    assert texts(bank.recall("tea", types=["bank"])) == ["assistant: I suggested green tea."]


def test_a_given_window_is_used_instead_of_the_text(garden: MemoryBank) -> None:
    """With a caller's window, memories of that time are ranked, whatever the question says."""
    found = garden.recall("what happened?", window=("2022-05-30", "2022-06-03"))
    assert found.units[0].unit.text.startswith("A new bridge")


def test_as_of_serves_what_was_known_then(light: Hindsight) -> None:
    """A memory mentioned later is not returned for an earlier moment of conversation time."""
    bank = light.bank("then")
    bank.retain("Alice lives in Lisbon.", timestamp="2024-01-01")
    bank.retain("Alice lives in Porto.", timestamp="2024-03-01")
    assert texts(bank.recall("Where does Alice live?", as_of="2024-02-01")) == ["Alice lives in Lisbon."]


EVERYTHING = "bicycles tandem orchard library festival tea choir bridge pottery pool"


def test_a_reranker_decides_the_order(opener: Callable[..., Hindsight]) -> None:
    """The reranker's best memory comes first; small boosts do not change a clear decision."""
    bank = opener(reranker=FixedReranker(lambda _, passage: 50.0 * ("pottery" in passage))).bank("garden")
    fill(bank, GARDEN)
    found = bank.recall(EVERYTHING)
    assert len(found.units) == len(GARDEN)
    assert found.units[0].unit.text.startswith("Carla Diaz teaches pottery")


def test_the_rerank_deadline_stops_between_batches(opener: Callable[..., Hindsight]) -> None:
    """After the deadline the other candidates follow in fused order, and the trace contains the number of reranked ones."""
    read: list[int] = []
    config = HindsightConfig(recall=RecallConfig(rerank_deadline_ms=0.0))
    bank = opener(reranker=FixedReranker(on_call=read.append), config=config).bank("garden")
    fill(bank, GARDEN)
    found = bank.recall(EVERYTHING)
    assert read == [8]
    assert "rerank: deadline after 8 of 10 candidates" in found.trace.notes
    assert [u.score for u in found.units] == sorted((u.score for u in found.units), reverse=True)
    plain = opener().bank("garden")
    fill(plain, GARDEN)
    assert set(texts(found)[8:]) == set(texts(plain.recall(EVERYTHING))[8:])


def test_a_broken_index_heals_or_says_so(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyword index that cannot be repaired raises IndexOutOfStep by default, and is skipped if configured."""
    from hindsight_integrations.indexes.store_pool import BankKeywords

    def broken(*_: Any, **__: Any) -> None:
        raise IndexOutOfStep("keyword", "garden", "the disk is gone")

    for mode in OnChannelFailure:
        engine = opener(tmp_path / mode, config=HindsightConfig(recall=RecallConfig(on_channel_failure=mode)))
        bank = engine.bank("garden")
        fill(bank, GARDEN)
        with monkeypatch.context() as patch:
            patch.setattr(BankKeywords, "search", broken)
            if mode == OnChannelFailure.RAISE:
                with pytest.raises(IndexOutOfStep, match="the disk is gone"):
                    bank.recall("bicycles")
            else:
                found = bank.recall("bicycles")
                assert found.units
                assert any("keyword: left out" in note for note in found.trace.notes)
        assert bank.recall("bicycles").units[0].unit.text.startswith("Alice Chen repairs")


def test_a_projection_that_fails_after_the_commit_is_healed(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retain succeeds if an index fails after the commit, and the next recall finds the memory by that index."""
    from hindsight_integrations.indexes.chroma import ChromaVectorIndex

    bank = opener(tmp_path).bank("garden")
    fill(bank, GARDEN[:3])

    def broken(*_: Any, **__: Any) -> None:
        raise IndexOutOfStep("vector", "garden", "full disk")

    with monkeypatch.context() as patch:
        patch.setattr(ChromaVectorIndex, "upsert", broken)
        assert bank.retain("Zanzibar cloves arrived.").created == 1
    found = bank.recall("Zanzibar cloves").units[0]
    assert found.unit.text == "Zanzibar cloves arrived."
    assert Channel.SEMANTIC in found.channels


@pytest.mark.promise("No bank sees another bank's memories.")
def test_banks_never_answer_for_each_other(real: Hindsight) -> None:
    """Two banks with the same words each return their own memories."""
    for name in ("alice", "bob"):
        real.bank(name).retain(f"{name}'s secret is under the plum tree", document_id="d")
    assert texts(real.bank("bob").recall("secret plum tree")) == ["bob's secret is under the plum tree"]


def test_reflect_without_a_model_quotes_and_says_so(garden: MemoryBank) -> None:
    """The extractive answer consists of recalled memories, is labelled as such, and names them."""
    answer = garden.reflect("who repairs bicycles?")
    assert answer.extractive
    assert answer.units[0].unit.text == "Alice Chen repairs old bicycles in her shed."
    assert answer.text.splitlines() == [BEST_MEMORIES, *(f"- {item.unit.text}" for item in answer.units)]
    assert any("no language model is set" in note for note in answer.notes)


def test_reflect_with_a_model_names_the_units_it_stands_on(clock: FrozenClock) -> None:
    """The model's answer has the recalled units it cited; invented ids are reported to it, and removed if it repeats them."""
    from hindsight_integrations.testing.scripted_model import ScriptedModel

    model = ScriptedModel([])
    with Hindsight.open(
        ":memory:", model=model, embeddings=HashEmbedder(), reranker=None, clock=clock
    ) as engine:
        bank = engine.bank("garden")
        fill(bank, GARDEN)
        target = bank.recall("who repairs bicycles?").units[0].unit
        model.script += [{"text": "Alice does.", "based_on": [target.id, "made-up"]}] * 3
        answer = bank.reflect("who repairs bicycles?")
    assert (answer.text, answer.extractive, [u.unit.id for u in answer.units]) == (
        "Alice does.",
        False,
        [target.id],
    )
    assert target.text in str(model.prompts[-1])
    assert "based_on names made-up" in str(model.prompts[-1][-1].content)
    assert answer.calls == 3


def test_a_rebuild_never_gives_half_an_answer(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """While memories are erased and indexes replayed, every recall finds the other memories by meaning."""
    bank = opener(tmp_path).bank("garden")
    fill(bank, GARDEN)
    doomed = [bank.retain(f"Scrap note {n} about nothing.").unit_ids[0] for n in range(6)]
    stop = threading.Event()
    missed: list[object] = []

    def ask() -> None:
        while not stop.is_set():
            found = bank.recall("who repairs bicycles?", k=1).units
            if not found or Channel.SEMANTIC not in found[0].channels:
                missed.append(found)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for unit_id in doomed:
        bank.forget(unit=unit_id)
    stop.set()
    for asker in askers:
        asker.join()
    assert missed == []


def test_a_memory_erased_while_recall_reads_is_left_out(
    opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a reranker too, a unit that is missing from the ledger when it is read is left out, and nothing fails."""
    from hindsight_integrations.ledger.units import UnitReader

    bank = opener(reranker=FixedReranker()).bank("garden")
    fill(bank, GARDEN)
    before = texts(bank.recall(EVERYTHING))
    real = UnitReader.get

    def without(self: UnitReader, name: str, ids: Any) -> Any:
        return {row: unit for row, unit in real(self, name, ids).items() if unit.text != before[0]}

    monkeypatch.setattr(UnitReader, "get", without)
    assert texts(bank.recall(EVERYTHING)) == before[1:]


class Dawdling(HashEmbedder):
    """An embedder that finishes a question only after the keyword search."""

    def __init__(self, looked_up: threading.Event) -> None:
        super().__init__()
        self._looked_up = looked_up
        self.waited: list[bool] = []

    def embed_query(self, text: str) -> Vector:
        """Return the vector when the event is set; fail after 30 seconds."""
        self.waited.append(self._looked_up.wait(30))
        return super().embed_query(text)


def test_words_are_looked_up_while_the_question_is_embedded(
    opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keyword channel needs no vector: it finishes before a slow embedder."""
    looked_up = threading.Event()
    embedder = Dawdling(looked_up)
    bank = opener(embeddings=embedder).bank("friends")
    looked_up.set()  # while the bank is filled
    fill(bank, GARDEN)
    looked_up.clear()
    embedder.waited.clear()

    def search(*given: Any, **options: Any) -> Hits:
        found = keyword_channel(*given, **options)
        looked_up.set()
        return found

    monkeypatch.setattr(retrieval, "keyword_channel", search)
    found = bank.recall("bicycles")
    assert embedder.waited == [True]
    assert Channel.KEYWORD in found.units[0].channels
