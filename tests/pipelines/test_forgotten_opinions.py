"""Forgetting a fact erases its effect on the agent's opinions: wordings, reasons and confidence, in every file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from opinion_writing import commit, reinforced

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.model.opinions import (
    Assessment,
    FormationWrite,
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
)

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
WRECK = "quinquereme"
FACTS = ("The harbour has a crane.", f"The {WRECK} sank at the mole.", "The pilots are well trained.")


def files_with(folder: Path, needle: str) -> list[Path]:
    """Files that contain the word, in UTF-8 or UTF-16."""
    forms = [needle.encode(), needle.encode("utf-16-le")]
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if any(form in path.read_bytes().lower() for form in forms)]


def believing(bank: MemoryBank) -> tuple[str, ...]:
    """Three facts; an opinion formed from the first and reworded because of the second, which was assessed together with others."""
    facts = tuple(
        bank.retain(text, facts=[{"what": text}], timestamp=START + day * DAY).unit_ids[0]
        for day, text in enumerate(FACTS)
    )
    formed = FormationWrite(
        "safe", 0.7, START, OpinionOrigin.REFLECT, reasoning="it has a crane", based_on=facts[:1]
    )
    beside = FormationWrite(
        "busy", 0.6, START, OpinionOrigin.REFLECT, reasoning="busy as ever", based_on=facts[:1]
    )
    worded = [
        ("safe", "I think the harbour is safe, since it has a crane."),
        ("busy", "I feel it is busy, for ships come."),
    ]
    commit(bank, OpinionsWrite((formed, beside)), *worded, at=START)
    rows = (
        reinforced("safe", facts[1], START + DAY, Assessment.CONTRADICT, reason=f"the {WRECK} sank"),
        reinforced("busy", facts[2], START + 2 * DAY, reason=f"pilots, whatever befell the {WRECK}"),
    )
    commit(bank, OpinionsWrite(evidence=rows))
    rewording = RewordingWrite("safe", "unsafe", f"the {WRECK} sank", facts[1:2])
    text = f"I think the harbour is unsafe, since the {WRECK} sank."
    commit(bank, OpinionsWrite(reworded=(rewording,)), ("unsafe", text), at=START + 3 * DAY, closing="safe")
    return facts


@pytest.mark.directory
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_a_forgotten_fact_is_in_no_opinion_and_in_no_file(real: Hindsight, tmp_path: Path) -> None:
    """The previous wording is valid again, in recall too; confidences are those of a bank that never had the fact."""
    bank = real.bank("harbour")
    facts = believing(bank)
    assert bank.opinions.get("safe").unit_id == "unsafe"
    assert bank.opinions.get("safe").confidence == pytest.approx(0.4)
    receipt = bank.forget(unit=facts[1])
    assert set(receipt.unit_ids) == {facts[1], "unsafe"}
    assert receipt.files_clean
    opinion = bank.opinions.get("safe")
    assert (opinion.unit_id, opinion.confidence, opinion.closed_at) == ("safe", 0.7, None)
    found = bank.recall("is the harbour safe?", types=["opinion"]).units
    assert {each.unit.id: each.unit.confidence for each in found} == {"safe": 0.7, "busy": 0.75}
    assert [entry.evidence.reason for entry in bank.opinions.history("busy").entries] == [""]
    real.close()
    assert files_with(tmp_path, WRECK) == []


def test_a_withdrawn_ground_ends_the_opinion_and_its_return_brings_it_back(light: Hindsight) -> None:
    """An opinion without valid grounds is not recalled, but was held before; it is restored with its fact."""
    bank = light.bank("harbour")
    facts = believing(bank)
    taken_back = {"what": "The harbour lost its crane.", "invalidates": [FACTS[0]]}
    bank.retain(str(taken_back["what"]), facts=[taken_back], timestamp=START + 5 * DAY)
    assert bank.get(facts[0]).closed_at is not None
    assert [opinion.id for opinion in bank.opinions.list()] == ["safe"]
    assert [opinion.id for opinion in bank.opinions.list(as_of=START + 4 * DAY)] == ["safe", "busy"]
    assert "busy" not in {each.unit.id for each in bank.recall("is it busy?", types=["opinion"]).units}
    bank.restore(facts[0])
    assert [opinion.id for opinion in bank.opinions.list()] == ["safe", "busy"]
    assert "busy" in {each.unit.id for each in bank.recall("is it busy?", types=["opinion"]).units}


def test_what_is_withdrawn_by_hand_takes_its_opinions_along(light: Hindsight) -> None:
    """An opinion cannot be withdrawn: it is valid as long as its grounds, and is closed and restored with them."""
    bank = light.bank("harbour")
    facts = believing(bank)
    with pytest.raises(InvalidRequest, match=r"'busy' is an opinion, .* or erase it with opinions\.forget"):
        bank.withdraw("busy")
    assert bank.withdraw(facts[0])
    assert bank.opinions.get("busy").closed_at is not None
    assert bank.restore(facts[0])
    assert bank.opinions.get("busy").closed_at is None


def test_an_earlier_wording_is_not_restored_beside_the_newest(light: Hindsight) -> None:
    """An opinion has one valid wording at a time: the error names the newest, which can be restored."""
    bank = light.bank("harbour")
    believing(bank)
    with pytest.raises(InvalidRequest, match=r"reworded.*'unsafe'"):
        bank.restore("safe")
    assert bank.get("safe").closed_at is not None
    assert bank.opinions.get("safe").unit_id == "unsafe"
