"""What a plain message brings up to date, without a statement that says what ends (decision 172). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.retraction.matching import Match, Outcome
from hindsight_integrations.tempr.retain.retraction.part_taken_back import has_more
from hindsight_integrations.tempr.retain.retraction.similarity import Bar, Candidate
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.updates import replaced_sentences, updates


def updated(
    by: MemoryUnit, candidates: Sequence[Candidate], thresholds: Thresholds, bar: Bar, language: Language
) -> list[tuple[str, Match]]:
    """The sentences of earlier messages that a message replaces, each with what becomes of its unit.

    Of several memories that one sentence may replace the nearest counts, if it is nearer than the next by the margin.

    Args:
        by: the message's unit.
        candidates: units near to it.
        thresholds: of the embedder.
        bar: what a match must reach.
        language: of all.
    """
    if by.fact_type is not FactType.WORLD:
        return []
    found = []
    for update in updates(_said(by), language):
        fitting = [
            (passage_cosine(each.cosine, thresholds), each.unit, told)
            for each in candidates
            if not each.closed and each.unit.speaker == by.speaker
            for told in replaced_sentences(_said(each.unit), update, language)
        ]
        fitting = sorted((item for item in fitting if item[0] >= bar.similarity), key=lambda item: -item[0])
        if not fitting:
            continue
        similarity, unit, told = fitting[0]
        rivals = {each.id: each for score, each, _ in fitting if similarity - score < bar.margin}
        if len(rivals) > 1:
            units = tuple(rivals.values())
            found.append((update, Match(Outcome.AMBIGUOUS, units, (similarity,) * len(units))))
            continue
        more = has_more(content_stems(told, language), unit, language)
        found.append((told, Match(Outcome.AMENDS if more else Outcome.CLOSES, (unit,), (similarity,))))
    return found


def _said(unit: MemoryUnit) -> str:
    return unit.text.removeprefix(f"{unit.speaker}: ")
