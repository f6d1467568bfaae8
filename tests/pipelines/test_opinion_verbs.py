"""`bank.opinions`: the agent's opinions, now and at other times, and after they are forgotten."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations import Conviction, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    OpinionsWrite,
    UpdateRule,
)
from hindsight_integrations.model.writes import WriteSet

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
BELIEF = "I think the ferry is the better way to town because it is never late."
Opener = Callable[..., Hindsight]


def believing(bank: MemoryBank, text: str = BELIEF, *, day: int = 0, tags: tuple[str, ...] = ()) -> str:
    """Id of a given opinion."""
    facts = [{"what": text, "fact_type": "opinion", "entities": ["Ferry"]}]
    (unit,) = bank.retain(text, facts=facts, timestamp=START + day * DAY, tags=tags).unit_ids
    return unit


def weigh(bank: MemoryBank, opinion: str, assessment: Assessment, *, day: int) -> str:
    """Id of a fact that was retained and assessed as strong evidence for an opinion."""
    text = f"The ferry was checked on day {day}."
    (unit,) = bank.retain(
        text, facts=[{"what": text}], timestamp=START + day * DAY, document_id=f"log {day}"
    ).unit_ids
    context = bank.asynchronous._context

    def commit() -> None:
        with context.transaction() as (view, transaction):
            row = EvidenceWrite(
                opinion_id=opinion,
                unit_id=unit,
                sources=(f"document:log {day}",),
                assessment=assessment,
                strength=EvidenceStrength.STRONG,
                rule=UpdateRule.ADDITIVE,
                step=0.15,
                reason="It was checked.",
                version=opinion,
                effective_at=START + day * DAY,
            )
            writes = OpinionsWrite(evidence=(row,))
            transaction.commit(WriteSet(view.bank, view.revision, opinions=writes))
        context.catch_up()

    bank._loop.run(lambda: context.services.workers.write(commit))
    return unit


def test_an_opinion_is_listed_with_how_firmly_it_is_held(light: Hindsight) -> None:
    """Text, entities, confidence and its word; filtered by entity or tag."""
    bank = light.bank("alice")
    first = believing(bank, tags=("travel",))
    second = believing(bank, "I believe early mornings are best for work because the house is quiet.", day=1)
    held = bank.opinions.list()
    assert [opinion.id for opinion in held] == [first, second]
    assert (held[0].text, held[0].entities, held[0].confidence) == (BELIEF, ("Ferry",), 0.5)
    assert held[0].strength is Conviction.MODERATE
    assert [each.id for each in bank.opinions.list(tags=("travel",), tags_match="any_strict")] == [first]
    assert bank.opinions.get(first) == held[0]


def test_the_confidence_follows_from_the_history(light: Hindsight) -> None:
    """Every fact with the confidence before and after it, the trajectory, and any day in between."""
    bank = light.bank("alice")
    opinion = believing(bank)
    for day, assessment in ((1, Assessment.REINFORCE), (2, Assessment.CONTRADICT), (3, Assessment.NEUTRAL)):
        weigh(bank, opinion, assessment, day=day)
    history = bank.opinions.history(opinion)
    assert [(each.before, each.after) for each in history.entries] == [
        (0.5, 0.65),
        (0.65, 0.35),
        (0.35, 0.35),
    ]
    assert bank.opinions.get(opinion).confidence == history.confidence == 0.35
    assert [point.after for point in bank.opinions.trajectory(opinion)] == [0.5, 0.65, 0.35]
    assert bank.opinions.get(opinion, as_of=START + 1.5 * DAY).confidence == 0.65
    recorded = history.entries[0].evidence.revision
    assert bank.opinions.get(opinion, as_of_revision=recorded).confidence == 0.65


def test_a_forgotten_fact_is_evidence_no_more(light: Hindsight) -> None:
    """The confidence is the same as if the fact had never been retained."""
    bank = light.bank("alice")
    opinion = believing(bank)
    unit = weigh(bank, opinion, Assessment.CONTRADICT, day=1)
    weigh(bank, opinion, Assessment.REINFORCE, day=2)
    assert bank.opinions.get(opinion).confidence == 0.35
    bank.forget(unit=unit)
    assert bank.opinions.get(opinion).confidence == 0.65
    assert len(bank.opinions.history(opinion).entries) == 1


@pytest.mark.directory
def test_an_opinion_is_forgotten_with_its_log(tmp_path: Path, opener: Opener) -> None:
    """It is in no result and no file; the facts stay."""
    with opener(tmp_path) as hindsight:
        bank = hindsight.bank("alice")
        opinion = believing(bank, "I think Xylofon Street is the best street because it is quiet.")
        unit = weigh(bank, opinion, Assessment.REINFORCE, day=1)
        receipt = bank.opinions.forget(opinion)
        assert receipt.unit_ids == (opinion,)
        assert receipt.files_clean
        assert bank.opinions.list(include_closed=True) == []
        assert bank.get(unit).text
        with pytest.raises(InvalidRequest, match="has no opinion"):
            bank.opinions.history(opinion)
    files = (path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(b"xylofon" in content.lower() for content in files)


def test_an_opinion_that_is_not_there_is_refused(light: Hindsight) -> None:
    """An unknown id, a memory that is not an opinion, and a time before its formation give different errors."""
    bank = light.bank("alice")
    opinion = believing(bank)
    (fact,) = bank.retain("Plums are ripe.").unit_ids
    for unknown in ("x", fact):
        with pytest.raises(InvalidRequest, match="has no opinion"):
            bank.opinions.get(unknown)
    with pytest.raises(InvalidRequest, match="not been formed"):
        bank.opinions.get(opinion, as_of=START - DAY)
    assert bank.opinions.list(as_of=START - DAY) == []
