"""Opinions written directly to a bank's ledger and indexes, as a reflection would write them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from builders import at as hours_on
from builders import make_unit

from hindsight_integrations import MemoryBank
from hindsight_integrations.indexes.embedding import embed_units
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    OpinionsWrite,
    UpdateRule,
)
from hindsight_integrations.model.units import FactType, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import UnitWrite, WriteSet


def commit(
    bank: MemoryBank,
    opinions: OpinionsWrite,
    *worded: tuple[str, str],
    at: datetime | None = None,
    closing: str = "",
) -> None:
    """Write opinions, with the units that word them.

    Args:
        bank: the sync face of a bank.
        opinions: what becomes of them.
        worded: ids and texts of units.
        at: when these were formed.
        closing: id of a wording that the first of them closes.
    """
    context, moment = bank.asynchronous._context, at or hours_on(0)

    def write() -> None:
        units = [
            replace(make_unit(name, text, bank=context.name, fact_type=FactType.OPINION), mentioned_at=moment)
            for name, text in worded
        ]
        vectors = embed_units(units, context.services.embedder)
        events = (
            [ValidityEvent(closing, ValidityKind.CLOSED, moment, worded[0][0], "reworded")] if closing else []
        )
        with context.transaction() as (view, transaction):
            transaction.commit(
                WriteSet(
                    view.bank,
                    view.revision,
                    units=tuple(
                        UnitWrite(unit, vector.tobytes()) for unit, vector in zip(units, vectors, strict=True)
                    ),
                    events=tuple(events),
                    opinions=opinions,
                )
            )
        context.catch_up()

    bank._loop.run(lambda: context.services.workers.write(write))


def reinforced(
    opinion: str,
    fact: str,
    effective_at: datetime,
    assessment: Assessment = Assessment.REINFORCE,
    *,
    reason: str = "",
    source: str = "Ann",
) -> EvidenceWrite:
    """Strong evidence by the additive rule, assessed against the opinion's first wording."""
    return EvidenceWrite(
        opinion_id=opinion,
        unit_id=fact,
        sources=(source,),
        assessment=assessment,
        strength=EvidenceStrength.STRONG,
        rule=UpdateRule.ADDITIVE,
        step=0.15,
        reason=reason,
        version=opinion,
        effective_at=effective_at,
    )
