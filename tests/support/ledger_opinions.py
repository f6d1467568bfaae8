"""Shared helpers of the ledger's tests of opinions and evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from builders import (
    BANK,
    at,
    make_event,
    make_unit,
    make_write_set,
    with_vector,
)
from ledger_support import CLOSED, RESTORED, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    FormationWrite,
    OpinionLog,
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
    UpdateRule,
)
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import UnitWrite, WriteSet

REINFORCE, CONTRADICT = Assessment.REINFORCE, Assessment.CONTRADICT


def opinion_unit(unit_id: str, *, hours: float = 5, tags: tuple[str, ...] = ()) -> UnitWrite:
    """The unit of an opinion's wording."""
    return with_vector(make_unit(unit_id, fact_type=FactType.OPINION, hours=hours, tags=tags))


def formation(unit_id: str, *based_on: str, confidence: float = 0.7, operation: str = "") -> FormationWrite:
    """A formation, five hours after START."""
    return FormationWrite(
        unit_id, confidence, at(5), OpinionOrigin.REFLECT, operation, 3, "because", based_on, assessed_to=1
    )


def evidence(
    opinion: str,
    fact: str,
    assessment: Assessment = REINFORCE,
    *,
    version: str = "",
    hours: float = 6,
    restates: tuple[str, ...] = (),
) -> EvidenceWrite:
    """Strong evidence from a separate source, by the additive rule."""
    return EvidenceWrite(
        opinion_id=opinion,
        unit_id=fact,
        sources=(f"speaker of {fact}",),
        assessment=assessment,
        strength=EvidenceStrength.STRONG,
        rule=UpdateRule.ADDITIVE,
        step=0.15,
        reason=f"seen {fact}",
        version=version or opinion,
        effective_at=at(hours),
        restates=restates,
    )


def writing(ledger: Ledger, write: OpinionsWrite, *units: UnitWrite, **more: object) -> WriteSet:
    """A write set of opinions with the units of their wordings, and other fields."""
    writes = make_write_set(ledger.revision(BANK), units=units, **more)  # type: ignore[arg-type] # as given
    return replace(writes, opinions=write)


def form(ledger: Ledger, unit_id: str, *based_on: str, confidence: float = 0.7) -> None:
    """Commit an opinion based on these facts."""
    formed = formation(unit_id, *based_on, confidence=confidence)
    commit(ledger, writing(ledger, OpinionsWrite((formed,)), opinion_unit(unit_id)))


def reword(
    ledger: Ledger, opinion: str, unit_id: str, *based_on: str, closing: str = "", hours: float = 8
) -> None:
    """Commit a new wording that replaces another one, by default the first."""
    write = OpinionsWrite(reworded=(RewordingWrite(opinion, unit_id, f"reworded as {unit_id}", based_on),))
    closed = make_event(closing or opinion, CLOSED, hours, by_unit=unit_id, reason="reworded")
    commit(ledger, writing(ledger, write, opinion_unit(unit_id, hours=hours), events=[closed]))


def add(ledger: Ledger, *rows: EvidenceWrite) -> None:
    """Commit rows of evidence."""
    commit(ledger, writing(ledger, OpinionsWrite(evidence=rows)))


def close(ledger: Ledger, *facts: str, hours: float = 10) -> None:
    """Close facts."""
    events = [make_event(fact, CLOSED, hours) for fact in facts]
    commit(ledger, make_write_set(ledger.revision(BANK), events=events))


def restore(ledger: Ledger, *facts: str, hours: float = 11) -> None:
    """Make facts valid again."""
    events = [make_event(fact, RESTORED, hours) for fact in facts]
    commit(ledger, make_write_set(ledger.revision(BANK), events=events))


def log_of(ledger: Ledger, opinion: str = "o") -> OpinionLog:
    """The log of an existing opinion."""
    (log,) = ledger.opinions.get(BANK, [opinion])
    return log


def valid(ledger: Ledger, *unit_ids: str) -> list[bool]:
    """Which units are valid, in the order given."""
    rows = ledger.units.row_ids(BANK, unit_ids)
    units = ledger.units.get(BANK, np.array(list(rows.values())))
    return [units[rows[unit]].closed_at is None for unit in unit_ids]
