"""The confidence of one recall: gathers the signals that `confidence` weighs, and tells them in the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.recall.confidence import Asked, answer_signals, confidence
from hindsight_integrations.tempr.recall.plan import RecallPlan
from hindsight_integrations.tempr.recall.reranking import Ranking
from hindsight_integrations.tempr.recall.timing import Timer
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.text.name_spotting import NameSpotter
from hindsight_integrations.text.names import normalise_name


class Judging:
    """How far the units of one recall are to be trusted to answer its question."""

    def __init__(self, recalled: RecallPlan, view: BankView, tools: RecallTools, timer: Timer) -> None:
        self._plan, self._view, self._tools, self._timer = recalled, view, tools, timer

    def confidence(self, units: Mapping[int, RecalledUnit], ranked: Ranking) -> float:
        """Confidence in [0, 1]; 0 for no units.

        Args:
            units: what is returned, by row id, best first.
            ranked: the reranker's logits, if it read any.
        """
        if not units:
            return 0.0
        with self._timer.stage("confidence") as detail:
            asked = asked_in(self._plan.query.text, self._plan.named.speaker)
            thresholds = self._tools.embedder.identity.thresholds
            signals = answer_signals(list(units.values()), asked, thresholds, _logits(units, ranked))
            if asked.speaker:
                detail["about"] = " or ".join(sorted(asked.speaker))
            told = asdict(signals).items()
            detail |= {name: round(value, 3) for name, value in told if value is not None}
            return confidence(signals)


def _logits(units: Mapping[int, RecalledUnit], ranked: Ranking) -> dict[str, float]:
    """The reranker's logits by unit id, of the units it read."""
    if ranked.read is None:
        return {}
    read = dict(zip(ranked.ids.tolist(), ranked.read.logits.tolist(), strict=False))  # they stand first
    return {item.unit.id: read[row] for row, item in units.items() if row in read}


def asked_in(text: str, speaker: frozenset[str]) -> Asked:
    """The names in a question.

    Args:
        text: the question.
        speaker: normalised names of the speaker it asks about, if there is one.
    """
    spotted = NameSpotter([text], people=speaker, aliases=()).names_in(text)
    return Asked(speaker, frozenset(normalise_name(name.text) for name in spotted) - speaker - {""})
