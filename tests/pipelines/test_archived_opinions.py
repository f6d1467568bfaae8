"""Archives contain opinions with everything that determines their confidence; invalid opinions in an archive do no harm."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from archived import archived_lines, sealed, without_numbers
from opinion_writing import commit, reinforced

from hindsight_integrations import ArchiveInvalid, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.ledger.values import ArchiveRow
from hindsight_integrations.model.opinions import (
    Assessment,
    FormationWrite,
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
)

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
FACTS = ("The baker opened at six.", "The baker sold out by nine.", "The baker closed for a month.")
Line = list[Any]


def believing(bank: MemoryBank) -> list[str]:
    """Ids of three facts: the opinion "good" is based on the first, reinforced by the second, and reworded because of the third."""
    facts = [
        bank.retain(text, facts=[{"what": text}], timestamp=START + hour * HOUR).unit_ids[0]
        for hour, text in enumerate(FACTS)
    ]
    formed = FormationWrite(
        "good", 0.7, START, OpinionOrigin.REFLECT, "run", reasoning="early", based_on=(facts[0],)
    )
    commit(
        bank,
        OpinionsWrite((formed,), operation="run"),
        ("good", "I think the baker is good, because early."),
        at=START,
    )
    for hour, assessment, source in ((1, Assessment.REINFORCE, "Ann"), (2, Assessment.CONTRADICT, "Ben")):
        row = reinforced(
            "good", facts[hour], START + hour * HOUR, assessment, reason="as seen", source=source
        )
        commit(bank, OpinionsWrite(evidence=(replace(row, restates=(facts[1],)),)))
    reworded = RewordingWrite("good", "fair", "closed for long", (facts[2],))
    commit(
        bank,
        OpinionsWrite(reworded=(reworded,)),
        ("fair", "I think the baker is fair."),
        at=START + 9 * HOUR,
        closing="good",
    )
    return facts


def lines_of(bank: MemoryBank) -> list[Line]:
    return archived_lines(bank.archive.export)


def load(bank: MemoryBank, lines: list[Line]) -> None:
    """Load an archive of these lines, with a valid seal."""
    bank.archive.load(io.StringIO(sealed(lines)))


@pytest.fixture
def other(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> MemoryBank:
    """An empty bank of another engine."""
    return opener(config=light_config).bank("copy")


@pytest.mark.promise("An archive is loaded completely or not at all.")
def test_a_loaded_bank_believes_what_was_archived(light: Hindsight, other: MemoryBank) -> None:
    """Ids, history and confidences are equal: now, at any time, and at any revision."""
    bank = light.bank("alice")
    believing(bank)
    load(other, lines_of(bank))
    assert other.opinions.list() == bank.opinions.list()
    assert other.opinions.history("good") == bank.opinions.history("good")
    assert other.opinions.trajectory("good") == bank.opinions.trajectory("good")
    assert other.get("fair").confidence == bank.get("fair").confidence == pytest.approx(0.55)
    for hours in (0, 1, 2, 10):
        moment = START + hours * HOUR
        assert other.opinions.get("good", as_of=moment) == bank.opinions.get("good", as_of=moment)
    revisions = range(bank.opinions.history("good").log.revision, 8)
    for revision in revisions:
        assert other.opinions.list(as_of_revision=revision) == bank.opinions.list(as_of_revision=revision)
    assert len({bank.opinions.get("good", as_of_revision=revision).confidence for revision in revisions}) > 1
    ours, theirs = ([ArchiveRow(*line) for line in lines_of(each)] for each in (bank, other))
    assert without_numbers(theirs) == without_numbers(ours)


def test_a_loaded_opinion_lives_on(light: Hindsight, other: MemoryBank) -> None:
    """Forgetting a fact in the loaded bank erases wordings based on it there, and nothing in the original bank."""
    facts = believing(light.bank("alice"))
    load(other, lines_of(light.bank("alice")))
    other.forget(unit=facts[2])
    assert other.opinions.get("good").text == "I think the baker is good, because early."
    assert other.opinions.get("good").confidence == pytest.approx(0.85)
    assert light.bank("alice").opinions.get("good").unit_id == "fair"


def test_an_opinion_without_its_lines_is_refused(light: Hindsight, other: MemoryBank) -> None:
    """Without a formation, the confidence of an opinion would change without evidence."""
    bank = light.bank("alice")
    believing(bank)
    lines = [line for line in lines_of(bank) if not line[0].startswith(("opinion", "evidence"))]
    with pytest.raises(ArchiveInvalid, match="opinion_wordings"):
        load(other, lines)
    assert other.count() == 0


def test_opinions_that_stand_on_each_other_do_no_harm(light: Hindsight, other: MemoryBank) -> None:
    """An archive may contain wordings that are based on themselves and on each other: closing and forgetting still terminate."""
    bank = light.bank("alice")
    facts = believing(bank)
    bank.retain("I feel so.", facts=[{"what": "I feel that bread is dear.", "fact_type": "opinion"}])
    third = next(opinion.id for opinion in bank.opinions.list() if opinion.id != "good")
    lines = lines_of(bank)
    rows = {fields["unit_id"]: fields["id"] for kind, fields in lines if kind == "units"}
    cycle = [("fair", "fair"), ("fair", third), (third, "fair"), (third, third), ("fair", "good")]
    lines += [
        ["opinion_grounds", {"wording": rows[one], "fact": rows[two]}]
        for one, two in (*cycle, ("good", "fair"))
    ]
    load(other, lines)
    other.retain(
        "The baker never opened.", facts=[{"what": "The baker never opened.", "invalidates": list(FACTS)}]
    )
    assert len(other.opinions.list(include_closed=True)) == 2
    assert set(other.forget(unit=facts[0]).unit_ids) >= {facts[0], "good", "fair", third}
    assert other.opinions.list(include_closed=True) == []


@pytest.mark.promise("An archive is loaded completely or not at all.")
@pytest.mark.parametrize("left_out", ["opinion_wordings", "opinions"])
def test_half_an_opinion_is_refused(light: Hindsight, other: MemoryBank, left_out: str) -> None:
    """An opinion without a wording, or a wording without an opinion, rejects the whole archive."""
    bank = light.bank("alice")
    believing(bank)
    kept = {"opinion_wordings": ("opinion_grounds", "evidence"), "opinions": ()}[left_out]
    lines = [line for line in lines_of(bank) if line[0] not in (left_out, *kept)]
    with pytest.raises(ArchiveInvalid, match="opinion"):
        load(other, lines)
    assert other.count() == 0
