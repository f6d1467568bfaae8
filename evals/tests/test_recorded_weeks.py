"""Two weeks of Memora with the recorded answers of a strong model: what the memory holds at the end.

The answers were given to the extraction prompt request by request, by somebody who saw nothing but the requests. Misses are named, so that
another one is noticed: `docs/benchmarks.md` explains each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_evals.benchmarks.memora.bank import LIGHT, held, retain_session
from hindsight_evals.benchmarks.memora.state import present
from hindsight_evals.benchmarks.memora.totals import category_totals, question_totals
from hindsight_evals.benchmarks.memora.truth import final_state
from hindsight_evals.datasets.memora import read_memora
from hindsight_evals.recorded import ReplayedModel, week_file
from hindsight_integrations import Hindsight, HindsightConfig

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


@pytest.mark.parametrize("name", STALE)
def test_a_recorded_week_ends_as_it_did(name: str, tmp_path: Path) -> None:
    """Withdrawn values are gone and said ones are there but for the misses named, and every total and goal is exact."""
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
        assert dropped == []
