"""Facts as evidence: what they say, where they lie, and who says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType, MemoryUnit, UnitKind
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.search.documents import as_they_stand
from hindsight_integrations.text.language import Language, language_of
from hindsight_integrations.text.specifics import Specifics, specifics


# Who says what a memory says: whose word it is as evidence of an opinion.
def sources_of(unit: MemoryUnit, turns: Sequence[SourceTurn]) -> tuple[str, ...]:
    """The sources of a memory, sorted; none if it is no evidence at all.

    A source is who spoke, not who is quoted. Where no turns are kept, it is the document, else the conversation. The
    agent's own words are no evidence: it must not talk itself into its beliefs. Nor is what it experienced in a
    conversation whose turns were not kept, of which nobody can say any more whether it was only said by the agent.

    Args:
        unit: the memory.
        turns: those that it was made from.
    """
    if unit.kind is not UnitKind.MEMORY or unit.fact_type not in OBSERVED_NETWORKS:
        return ()
    if turns:
        return tuple(sorted({normalised_text(turn.speaker) for turn in turns if turn.role is Role.USER}))
    if unit.document_id:
        return (f"document:{unit.document_id}",)
    if unit.fact_type is FactType.EXPERIENCE and (unit.speaker or unit.sources):
        return ()
    return (normalised_text(unit.speaker),) if unit.speaker else (f"thread:{unit.thread}",)


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A memory as it is weighed.

    Attributes:
        unit: a document with the items that hold.
        vector: as stored (dimension,).
        sources: who says so; none if it is no evidence, see `sources_of`.
        specifics: what it pins down.
    """

    unit: MemoryUnit
    vector: Vector
    sources: tuple[str, ...]
    specifics: Specifics


def read_facts(
    ledger: LedgerReader, bank: str, unit_ids: Sequence[str], languages: Sequence[Language]
) -> dict[str, Fact]:
    """These memories as facts, by unit id; unknown and damaged ones are left out, and those without a readable vector.

    Args:
        ledger: of the bank.
        bank: its name.
        unit_ids: which memories; closed ones are read like others.
        languages: their texts may be in.
    """
    rows: IntArray = np.array(sorted(ledger.row_ids(bank, unit_ids).values()), np.int64)
    units = as_they_stand(ledger.units(bank, rows), ledger, bank)
    vectors, turns = ledger.vectors_of(bank, rows), ledger.turns_of_units(bank, rows)
    return {
        unit.id: Fact(
            unit,
            vectors[row],
            sources_of(unit, turns.get(row, ())),
            specifics(unit.text, language_of(unit.text, languages)),
        )
        for row, unit in units.items()
        if row in vectors
    }
