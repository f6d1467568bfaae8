"""Two weeks of Memora with the recorded answers of a strong model: the content of memory at the end.

The answers to the extraction prompt were given request by request, by somebody who saw only the requests.
Misses are listed, so that a new one is noticed: `docs/benchmarks.md` explains each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from hindsight_evals.benchmarks.memora.bank import LIGHT, held, retain_session
from hindsight_evals.benchmarks.memora.state import present
from hindsight_evals.benchmarks.memora.totals import category_totals, question_totals
from hindsight_evals.benchmarks.memora.truth import final_state
from hindsight_evals.datasets.memora import MemoraPersona, read_memora
from hindsight_evals.recorded import ReplayedModel, week_file
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.langgraph import create_recall_node

STALE = {
    "weekly-content_writer": ["Mom's birthday"],
    "weekly-business_executive": ["Strategic OEM Partners", "Chief Operating Officer", "climate change"],
}
LOST = {
    "weekly-content_writer": ["Exercise/walk for inspiration"],
    "weekly-business_executive": [
        "18 months with Phase 1: Requirements & ",
        "18 months with Phase 1: Requirements & ",
    ],
}


NUMBERS = ("total_amount", "expense_count", "category_total", "total_steps", "actual_value", "goal_value")
"""What the evidence of a reasoning question says in numbers."""


def untold(bank: MemoryBank, week: MemoraPersona) -> Iterator[str]:
    """Numbers of the reasoning questions whose answer is not in the recall node's digest."""
    node = create_recall_node(bank).called()
    for question in week.evaluation.questions["reasoning"]:
        shown = node.invoke({"messages": [HumanMessage(question.question)]})["memories"]
        digests = " ".join(memory["text"] for memory in shown if memory["kind"] == "table")
        for name in NUMBERS:
            if name in question.memory_evidence:
                value = Decimal(str(question.memory_evidence[name])).quantize(Decimal("0.01"))
                if not re.search(
                    rf"(?<![\d.]){re.escape(f'{value:f}'.removesuffix('.00'))}(?![\d])", digests
                ):
                    yield f"{question.question} {name} {value}"


@pytest.mark.parametrize("name", STALE)
def test_a_recorded_week_ends_as_it_did(name: str, tmp_path: Path) -> None:
    """Withdrawn values are absent and stated ones present, except for the listed misses, and every total and goal is exact."""
    week = read_memora(week_file(name, tmp_path))
    config = HindsightConfig(storage=LIGHT)
    with Hindsight.open(
        ":memory:", model=ReplayedModel(name), reranker=None, config=config, worker=False
    ) as engine:
        bank = engine.bank("memora")
        dropped = [
            each.reason for session in week.sessions for each in retain_session(bank, session, None).dropped
        ]
        units = held(bank)
        values = final_state(week.sessions, said_only=True)
        stale = [value.key[-1] for value in values if not value.held and present(value, units)]
        lost = [value.key[-1] for value in values if value.held and not present(value, units)]
        assert stale == STALE[name]
        assert [text[: len(expected)] for text, expected in zip(lost, LOST[name], strict=True)] == LOST[name]
        inexact = [
            str(total)
            for total in (*question_totals(bank, week), *category_totals(bank, week))
            if not total.exact
        ]
        assert inexact == []
        assert list(untold(bank, week)) == []
        assert dropped == []
