"""The simulator's seed data: every phrasing can be filled in, none is repeated, a third is held out."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from table import every_row

from hindsight_evals.simulator.memories import ALLOWED, MemoryKind, Operation
from hindsight_evals.simulator.seeds import Family, load_seeds
from hindsight_evals.simulator.simulate import simulate
from hindsight_evals.simulator.statistics import statistics

SEEDS = load_seeds()
SAID_OF = {
    MemoryKind.PREFERENCE: {"item", "domain", "group", "liking"},
    MemoryKind.TODO: {"task"},
    MemoryKind.CALENDAR_EVENT: {"event", "day"},
    MemoryKind.FOOD_EXPENSE: {"amount", "category"},
    MemoryKind.STEPS: {"steps"},
    MemoryKind.DOCUMENT: {"kind", "title", "field", "value"},
    MemoryKind.FOOD_BUDGET: {"category", "amount"},
    MemoryKind.STEP_TARGET: {"steps"},
}
NEEDED = {  # the value that the turn must contain
    MemoryKind.PREFERENCE: {"item"},
    MemoryKind.TODO: {"task"},
    MemoryKind.CALENDAR_EVENT: {"event", "day"},
    MemoryKind.FOOD_EXPENSE: {"amount", "category"},
    MemoryKind.STEPS: {"steps"},
    MemoryKind.DOCUMENT: {"title", "value"},
    MemoryKind.FOOD_BUDGET: {"category", "amount"},
    MemoryKind.STEP_TARGET: {"steps"},
}
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def names(wording: str) -> set[str]:
    return set(PLACEHOLDER.findall(wording))


@every_row("family", SEEDS.families, ids=lambda family: family.id)
def test_every_wording_can_be_filled_in(family: Family) -> None:
    """With the values of its change; the turn that states an addition or update contains the new value."""
    known = set(SAID_OF[family.memory])
    if family.operation is Operation.UPDATE:
        known |= {f"old_{name}" for name in known}
    for wording in (*family.lead_in, *family.user, *family.reply, *family.fact, *family.invalidates):
        assert names(wording) <= known, wording
    needed = NEEDED[family.memory]
    if family.operation is Operation.DELETE:
        needed = needed - {"day"}
    assert all(needed <= names(wording) for wording in family.user)
    assert all(needed - {"title"} <= names(wording) for wording in family.fact)
    assert bool(family.invalidates) is (family.operation is not Operation.ADD)


def test_every_operation_is_told_in_manners_for_work_and_for_reports() -> None:
    """About a third of them is held out, for each operation."""
    held_out = Counter(family.held_out for family in SEEDS.families)
    assert 0.25 <= held_out[True] / sum(held_out.values()) <= 0.45
    told = {(family.memory, family.operation, family.held_out) for family in SEEDS.families}
    wanted = {(kind, operation) for kind, allowed in ALLOWED.items() for operation in allowed}
    assert told == {(*pair, held) for pair in wanted for held in (True, False)}


def test_nothing_is_worded_twice() -> None:
    """Neither a statement nor a question; held-out phrasings occur nowhere else."""
    tellings = [wording for family in SEEDS.families for wording in family.user]
    assert [wording for wording, times in Counter(tellings).items() if times > 1] == []
    questions = [wording for family in SEEDS.questions for wording in family.text]
    assert len(set(questions)) == len(questions)
    ids = [*(family.id for family in SEEDS.families), *(family.id for family in SEEDS.questions)]
    assert len(set(ids)) == len(ids)
    assert {family.target for family in SEEDS.questions if family.held_out} == {
        family.target for family in SEEDS.questions if not family.held_out
    }


@every_row("part", ["lead_in", "user", "reply", "fact", "invalidates"])
def test_held_out_manners_share_no_wording_with_the_others(part: str) -> None:
    """Development phrasings share no text with those used for reports, neither in turns nor in gold sentences."""
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for family in SEEDS.families:
        said[family.held_out].update(getattr(family, part))
    assert said[True]
    assert said[True] & said[False] == set()


def test_every_family_has_wordings_to_choose_from() -> None:
    """Four ways to state it, three to answer, three of each gold sentence."""
    for family in SEEDS.families:
        assert len(family.user) >= 4, family.id
        assert min(len(family.reply), len(family.fact)) >= 3, family.id
        assert not family.invalidates or len(family.invalidates) >= 3, family.id


@every_row("held_out", [True, False])
@every_row("persona", [persona.id for persona in SEEDS.personas])
def test_every_persona_can_live_a_week(persona: str, held_out: bool) -> None:
    """No change without a phrasing, no question without its values."""
    life = simulate(persona, held_out=held_out)
    assert {question.kind for question in life.episode.questions} >= {"remembering", "reasoning"}


def test_a_month_has_the_numbers_of_memora() -> None:
    """Table 2: 615 sessions of 15.6 turns, 374 operations, 63 / 16 / 21 %, and as little common text between sessions."""
    life = simulate("software_engineer", period="month")
    counted = statistics(life.episode, life.trace)
    assert counted.sessions == pytest.approx(615, rel=0.02)
    assert counted.turns == pytest.approx(15.6, abs=0.6)
    assert counted.operations == pytest.approx(374.3, rel=0.02)
    assert counted.shares[Operation.ADD] == pytest.approx(0.63, abs=0.02)
    assert counted.shares[Operation.UPDATE] == pytest.approx(0.16, abs=0.02)
    assert counted.overlap[1] < 0.18
    assert counted.overlap[3] < 0.05
