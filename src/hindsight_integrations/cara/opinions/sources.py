"""Who says what a memory says: whose word it is as evidence of an opinion (decision 131). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType, MemoryUnit, UnitKind


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
