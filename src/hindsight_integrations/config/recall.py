"""Settings of recall: how far it looks, how long it reranks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.choices import as_choices


class OnChannelFailure(StrEnum):
    """What recall does when a channel fails: raise (default), or answer from the others and say so in the trace."""

    RAISE = "raise"
    DEGRADE = "degrade"


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """Numbers of the recall pipeline (paper section 4.2).

    Attributes:
        candidates: per channel, for low, mid and high effort (recall docs, "How Budget Maps to Pipeline Parameters").
        rerank_candidates: how many the reranker may read, likewise (decision 160).
        rerank_deadline_ms: when it stops, milliseconds.
        neighbours: relevance is smoothed over neighbouring turns of a conversation (decision 051).
        boosts: with a reranker, recency and the query's time window nudge its scores, by 10 % at most each (recall docs,
            "Stage 3: Combined Scoring (Boosts)"). Off: measured, they earn nothing (decision 053).
        on_channel_failure: what happens when a channel's index is broken.
    """

    candidates: tuple[int, int, int] = (100, 300, 1000)
    rerank_candidates: tuple[int, int, int] = (30, 60, 100)
    rerank_deadline_ms: float = 1000.0
    neighbours: bool = True
    boosts: bool = False
    on_channel_failure: OnChannelFailure | str = OnChannelFailure.RAISE

    def __post_init__(self) -> None:
        as_choices(self, on_channel_failure=OnChannelFailure)
