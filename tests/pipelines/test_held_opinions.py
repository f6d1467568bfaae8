"""Every method that returns memories returns opinions with their current confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import make_write_set

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.opinions import OpinionReader
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    OpinionLog,
    OpinionsWrite,
    UpdateRule,
)
from hindsight_integrations.model.units import FactType
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

BANK = "ann"
OPINION = {
    "what": "I believe trams suit a hilly town, since they climb well",
    "fact_type": "opinion",
    "confidence": 0.7,
}
CLIMBED = {"what": "The tram climbed the icy hill in January"}
SLID = {"what": "The tram slid back down the hill twice in February"}


@pytest.fixture
def engine_at(tmp_path: Path, light_config: HindsightConfig, clock: FrozenClock) -> Callable[[], Hindsight]:
    """Opens the engine on the test's directory."""
    return lambda: Hindsight.open(
        tmp_path, config=light_config, embeddings=HashEmbedder(), reranker=None, clock=clock
    )


@pytest.fixture
def told(
    tmp_path: Path, engine_at: Callable[[], Hindsight], clock: FrozenClock
) -> tuple[list[str], FrozenClock]:
    """Ids of an opinion of 0.70, a fact that reinforced it an hour later, and one that contradicted it an hour after that."""
    with engine_at() as engine:
        bank = engine.bank(BANK)
        ids = [*bank.retain(str(OPINION["what"]), facts=[OPINION], timestamp=clock.now()).unit_ids]
        for hours, fact in ((1, CLIMBED), (2, SLID)):
            ids += bank.retain(
                fact["what"], facts=[fact], timestamp=clock.now() + timedelta(hours=hours)
            ).unit_ids
    with closing(Ledger.open(tmp_path, clock=clock)) as ledger:
        rows = [
            EvidenceWrite(ids[0], ids[at], ("Ann",), assessment, EvidenceStrength.STRONG, UpdateRule.ADDITIVE, 0.15, "",
                          ids[0], clock.now() + timedelta(hours=at))
            for at, assessment in ((1, Assessment.REINFORCE), (2, Assessment.CONTRADICT))
        ]  # fmt: skip
        with ledger.transaction(BANK) as transaction:
            writes = make_write_set(ledger.revision(BANK), bank=BANK)
            transaction.commit(replace(writes, opinions=OpinionsWrite(evidence=tuple(rows))))
    return ids, clock


@contextmanager
def served(engine_at: Callable[[], Hindsight]) -> Iterator[MemoryBank]:
    """The bank in an engine that reads stored data."""
    with engine_at() as engine:
        yield engine.bank(BANK)


def test_every_method_gives_the_confidence_of_now(
    engine_at: Callable[[], Hindsight], told: tuple[list[str], FrozenClock]
) -> None:
    """0.70, reinforced and contradicted, is 0.55 in every method."""
    (opinion, *_), _ = told
    with served(engine_at) as bank:
        assert bank.get(opinion).confidence == pytest.approx(0.55)
        units = {unit.id: unit for unit in bank.iterate_units()}
        assert units[opinion].confidence == pytest.approx(0.55)
        recalled = {
            each.unit.id: each.unit
            for each in bank.recall("trams in a hilly town", types=list(FactType)).units
        }
        assert recalled[opinion].confidence == pytest.approx(0.55)
        assert {unit.confidence for unit in recalled.values() if unit.fact_type is not FactType.OPINION} == {
            None
        }
        assert bank.edit(opinion, tags=["town"]).confidence == pytest.approx(0.55)


@pytest.mark.parametrize(("hours", "confidence"), [(0.5, 0.7), (1.5, 0.85), (2.5, 0.55)])
def test_the_past_shows_the_confidence_of_then(
    engine_at: Callable[[], Hindsight], told: tuple[list[str], FrozenClock], hours: float, confidence: float
) -> None:
    """Later evidence does not change the confidence in a recall or list with `as_of` an earlier moment."""
    (opinion, *_), clock = told
    then = clock.now() + timedelta(hours=hours)
    with served(engine_at) as bank:
        recalled = bank.recall("trams in a hilly town", as_of=then, types=list(FactType)).units
        assert {each.unit.id: each.unit.confidence for each in recalled}[opinion] == pytest.approx(confidence)
        listed = {unit.id: unit.confidence for unit in bank.units(as_of=then).units}
        assert listed[opinion] == pytest.approx(confidence)


def test_a_withdrawn_or_corrected_fact_no_longer_counts(
    engine_at: Callable[[], Hindsight], told: tuple[list[str], FrozenClock]
) -> None:
    """After forgetting the contradiction it is 0.85; after editing the reinforcement, 0.70 until it is assessed again."""
    (opinion, climbed, slid), _ = told
    with served(engine_at) as bank:
        bank.forget(unit=slid)
        assert bank.get(opinion).confidence == pytest.approx(0.85)
        bank.edit(climbed, text="The bus climbed the icy hill in January")
        assert bank.get(opinion).confidence == pytest.approx(0.7)


def test_memories_without_opinions_cost_no_read_of_evidence(
    engine_at: Callable[[], Hindsight], told: tuple[list[str], FrozenClock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evidence is read only for opinions, once for a whole result."""
    (opinion, *_), _ = told
    reads: list[object] = []
    read = OpinionReader.get

    def counted(
        reader: OpinionReader, bank: str, opinion_ids: Sequence[str] | None = None
    ) -> list[OpinionLog]:
        reads.append(opinion_ids)
        return read(reader, bank, opinion_ids)

    monkeypatch.setattr(OpinionReader, "get", counted)
    with served(engine_at) as bank:
        bank.recall("trams", types=["world", "experience"])
        assert reads == []
        bank.recall("trams in a hilly town", types=list(FactType))
        assert reads == [[opinion]]
