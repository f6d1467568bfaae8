"""Trace and explain: why each memory was returned or not, as data and in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_integrations import Channel, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import RecallConfig
from hindsight_integrations.ledger import units
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.trace import Fate, UnitTrace
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.testing.doubles import FixedReranker

ROWS = {
    "a": "Alice Chen repairs old bicycles in her shed.",
    "b": "Bob Okafor asked Alice Chen to mend a tandem bicycle.",
    "c": "A long and winding report on every bicycle that was ever sold in the town by anybody at all, year by year.",
    "d": "The bicycle lane near the mill opens.",
    "e": "The choir practises every Thursday.",
}
QUERY = "Who repairs a tandem bicycle?"


def fill(bank: MemoryBank, **options: Any) -> MemoryBank:
    messages = [{"role": "user", "content": what, "id": key} for key, what in ROWS.items()]
    facts = [{"what": what, "sources": [key]} for key, what in ROWS.items()]
    bank.retain(messages, facts=facts, **options)
    return bank


def traces(found: RecallResult) -> dict[str, UnitTrace]:
    return {unit.text: unit for unit in found.trace.units}


def test_every_candidate_tells_where_it_stood(real: Hindsight) -> None:
    """Rank and score per channel, fused and final score, and tokens in the trace agree with the result for every unit."""
    bank = fill(real.bank("street"))
    found = bank.recall(QUERY, trace=True)
    traced = found.trace.units
    assert [unit.unit_id for unit in traced] == [item.unit.id for item in found.units]
    assert [unit.rank for unit in traced] == list(range(1, len(traced) + 1))
    for unit, item in zip(traced, found.units, strict=True):
        assert (unit.fate, unit.reason, unit.reranked) == (Fate.RETURNED, "", None)
        assert (unit.channels, unit.score, unit.tokens) == (item.channels, item.score, item.unit.tokens)
        by_ranks = sum(1 / (60 + hit.rank) for hit in item.channels.values())
        best_words = max(other.told.score for other in traced if other.told)
        words = unit.told.score / best_words if unit.told else 0.0
        assert by_ranks + words / 60 <= unit.fused + 1e-9 <= by_ranks + (words + 4.2) / 60
    assert ROWS["e"] not in traces(found)


def test_nothing_is_recorded_unless_requested(light: Hindsight) -> None:
    """Without trace=True there are timings but no units, and the returned memories are the same."""
    bank = fill(light.bank("street"))
    plain, traced = bank.recall(QUERY), bank.recall(QUERY, trace=True)
    assert (plain.trace.units, plain.units) == ([], traced.units)
    assert {stage.name for stage in plain.trace.stages} == {stage.name for stage in traced.trace.stages} - {
        "trace"
    }
    assert all(stage.milliseconds >= 0 for stage in plain.trace.stages)


def test_a_reranked_score_is_its_logit_and_its_boosts(opener: Callable[..., Hindsight]) -> None:
    """logit + ln(recency) + ln(temporal) + 120 times the fused score is the score of every reranked unit."""
    boosted = HindsightConfig(recall=RecallConfig(boosts=True))
    bank = fill(opener(reranker=FixedReranker(), config=boosted).bank("street"), timestamp="2023-11-01")
    found = bank.recall("Which bicycle in October 2023?", trace=True)
    assert found.trace.units
    for unit in found.trace.units:
        read = unit.reranked
        assert read is not None
        boosts = math.log(read.recency) + math.log(read.temporal)
        assert unit.score == pytest.approx(read.logit + boosts + 120 * unit.fused)
        assert 0.9 <= read.recency < 1.0


def test_without_boosts_a_score_is_its_logit_and_its_rank(opener: Callable[..., Hindsight]) -> None:
    """By default every boost in the trace is 1, and a rank of the fused score counts two logits."""
    bank = fill(opener(reranker=FixedReranker()).bank("street"), timestamp="2023-11-01")
    found = bank.recall("Which bicycle in October 2023?", trace=True)
    for unit in found.trace.units:
        assert unit.reranked is not None
        assert unit.score == pytest.approx(unit.reranked.logit + 2 * 60 * unit.fused)
        assert (unit.reranked.recency, unit.reranked.temporal) == (1.0, 1.0)


def test_what_did_not_fit_says_what_was_left(light: Hindsight) -> None:
    """The reason of a unit over the budget contains its cost and the remaining tokens; one beyond k says so."""
    bank = fill(light.bank("street"))
    every = bank.recall(QUERY)
    long = next(item for item in every.units if item.unit.text == ROWS["c"])
    found = bank.recall(QUERY, max_tokens=every.tokens - 1, trace=True)
    dropped = [unit for unit in found.trace.units if unit.fate is Fate.OVER_BUDGET]
    assert dropped
    for unit in dropped:
        assert unit.rank is None
        assert unit.reason.startswith(f"it costs {unit.tokens} tokens, ")
    assert traces(found)[ROWS["c"]].tokens == long.unit.tokens
    beyond = bank.recall(QUERY, k=1, trace=True)
    assert [unit.fate for unit in beyond.trace.units] == [Fate.RETURNED] + [Fate.OVER_K] * (
        len(every.units) - 1
    )
    assert beyond.trace.units[1].reason == "k=1 was reached"


def test_what_a_threshold_dropped_says_which(opener: Callable[..., Hindsight]) -> None:
    """The reason of each unit below a threshold of the channels, the reranker or the final score names its score and the threshold."""
    judge = FixedReranker(lambda _, passage: 3.0 if "tandem" in passage else -5.0)
    bank = fill(opener(reranker=judge).bank("street"))
    found = bank.recall(QUERY, min_scores={"reranker": 0.1, "final": 2.0}, trace=True)
    assert [item.unit.text for item in found.units] == [ROWS["b"]]
    fates = {unit.text: (unit.fate, unit.reason) for unit in found.trace.units}
    assert fates[ROWS["c"]] == (Fate.BELOW_RERANKER_SCORE, "reranker score 0.007 is below 0.1")
    cut = bank.recall(QUERY, min_scores={"semantic": 0.99, "keyword": 99}, trace=True)
    assert {unit.fate for unit in cut.trace.units} == {Fate.BELOW_CHANNEL_SCORE}
    unit = cut.trace.units[0]
    assert (unit.score, unit.fused, unit.rank) == (None, 0.0, None)
    assert Channel.SEMANTIC in unit.channels
    assert "is below 0.99" in unit.reason
    final = bank.recall(QUERY, min_scores={"final": 50}, trace=True)
    assert {unit.fate for unit in final.trace.units} == {Fate.BELOW_FINAL_SCORE}
    assert final.units == ()


def test_units_the_reranker_did_not_reach_say_so(opener: Callable[..., Hindsight]) -> None:
    """After the deadline a unit has no logit, and if it was dropped its reason says that it was not reranked."""
    config = HindsightConfig(recall=RecallConfig(rerank_deadline_ms=0.0))
    bank = opener(reranker=FixedReranker(), config=config).bank("many")
    rows = [f"kayak trip number {n}" for n in range(10)]
    bank.retain([{"role": "user", "content": row, "id": row} for row in rows])
    found = bank.recall("kayak trip", k=8, trace=True)
    read = [unit.reranked is not None for unit in found.trace.units]
    assert read == [True] * 8 + [False] * 2
    assert found.trace.units[-1].reason == "k=8 was reached; the reranker did not score it"


EMAIL = "User drafted an email to the board about the budget. Recipients: Ann Lee and Bo Chen. Key points: travel; hiring."
REMOVAL = "User removed Bo Chen from the email; Ann Lee stays"


def test_a_memory_costs_what_was_taken_back_of_it_too(light: Hindsight) -> None:
    """The trace counts the statement shown under a memory; the memory that caused it is a separate candidate."""
    bank = light.bank("alice")
    for day, what, withdrawn in (
        (1, EMAIL, []),
        (3, REMOVAL, ["Bo Chen is a recipient of the budget email"]),
    ):
        fact = {"what": what, "sources": [f"d{day}"], "invalidates": withdrawn}
        message = {"role": "user", "content": what, "id": f"d{day}"}
        bank.retain([message], timestamp=f"2024-05-{day:02d}T10:00", facts=[fact])
    found = bank.recall("budget email recipients", trace=True)
    costs = {item.unit.text: item.tokens for item in found.units}
    assert {unit.text: (unit.fate, unit.tokens) for unit in found.trace.units} == {
        text: (Fate.RETURNED, cost) for text, cost in costs.items()
    }
    assert set(costs) == {EMAIL, REMOVAL}
    tight = bank.recall("budget email recipients", max_tokens=costs[EMAIL] - 1, trace=True)
    assert [item.unit.text for item in tight.units] == [REMOVAL]
    assert traces(tight)[EMAIL].fate is Fate.OVER_BUDGET
    assert traces(tight)[EMAIL].reason.startswith(f"it costs {costs[EMAIL]} tokens, ")


def test_a_memory_erased_meanwhile_is_traced_without_its_text(
    light: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit erased during the recall is traced as erased, without its text."""
    bank, real = fill(light.bank("street")), units._sound

    def without_the_first(*args: Any) -> dict[int, MemoryUnit]:
        return {row: unit for row, unit in real(*args).items() if unit.text != ROWS["a"]}

    monkeypatch.setattr(units, "_sound", without_the_first)
    found = bank.recall(QUERY, trace=True)
    (erased,) = [unit for unit in found.trace.units if unit.fate is Fate.ERASED]
    assert (erased.unit_id, erased.text, erased.rank) == ("", "", None)
    assert ROWS["a"] not in found.explain()


def test_explain_shows_question_window_stages_memories_and_drops(opener: Callable[..., Hindsight]) -> None:
    """The text contains the question, the time window, times, ranks and scores, and why other memories are missing."""
    bank = fill(opener(reranker=FixedReranker()).bank("street"), timestamp="2024-05-02", tags=["t"])
    query = "Which bicycle was it on 2 May 2024?"
    found = bank.recall(
        query,
        k=2,
        trace=True,
        tags=["t"],
        tag_groups=[{"not": {"tags": ["x"]}}],
        min_scores={"reranker": 0.1},
    )
    lines = found.explain().splitlines()
    assert lines[0] == f"recall  {query!r}"
    assert "k=2" in lines[1]
    assert "tags=t (any), tag_groups=not any_strict(x)" in lines[1]
    assert lines[2] == "window  2024-05-02 00:00 to 2024-05-03 00:00 UTC (end excluded)"
    assert lines[3] == f"found   2 memories, {found.tokens} of 4096 tokens, confidence {found.confidence:.2f}"
    for stage in found.trace.stages:
        assert any(line.split()[0] == stage.name.split()[0] and "ms" in line for line in lines if line)
    for note in found.trace.notes:
        assert f"  {note}" in lines
    for place, item in enumerate(found.units, 1):
        (row,) = [line for line in lines if line.startswith(f"  {place}  {item.score:.4f}  ")]
        assert item.unit.text[:60] in row
        assert all(f"{hit.rank}, {hit.score:.3f}" in row for hit in item.channels.values())
    dropped = [unit for unit in found.trace.units if unit.fate is not Fate.RETURNED]
    assert f"dropped  {len(dropped)}" in lines
    assert any("k=2 was reached" in line for line in lines)


def test_explain_without_a_trace_says_how_to_get_more(light: Hindsight) -> None:
    """It contains what is known, including ranks and scores, and names the option for the rest; also for an empty bank."""
    words = fill(light.bank("street")).recall(QUERY).explain()
    assert ROWS["a"] in words
    assert "1, 0." in words
    assert "trace=True" in words
    nothing = light.bank("empty").recall(QUERY, trace=True).explain()
    assert "memories  none" in nothing
    assert "filters: the bank has no memories" in nothing
    assert "dropped  none" in nothing


def test_explain_keeps_long_lists_and_texts_short(light: Hindsight) -> None:
    """A hundred dropped candidates are thirty lines and a count; a text of many lines is one line."""
    bank = light.bank("many")
    rows = [f"kayak trip\nnumber {n} " + "and so on " * 30 for n in range(100)]
    bank.retain([{"role": "user", "content": row, "id": str(n)} for n, row in enumerate(rows)])
    words = bank.recall("kayak trip", k=1, trace=True).explain().splitlines()
    assert "dropped  99" in words
    assert words[-1] == "  and 69 more in trace.units"
    assert max(map(len, words)) < 200
