"""The statistics that Memora publishes about its episodes (Table 2), for a simulated one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from random import Random

from hindsight_evals.episode import Episode
from hindsight_evals.simulator.memories import Operation
from hindsight_evals.simulator.trace import Step

PAIRS = 5_000  # maximum number of compared pairs of sessions; a week has 12,000

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of Table 2 for one episode.

    Attributes:
        sessions: number of sessions.
        turns: mean number of turns in a session.
        operations: number of sessions that change memory.
        shares: share of these by operation, in [0, 1].
        questions: number of questions.
        overlap: mean share in [0, 1] of 1-, 2- and 3-grams that two sessions have in common (Jaccard).
    """

    sessions: int
    turns: float
    operations: int
    shares: dict[Operation, float]
    questions: int
    overlap: dict[int, float]


def statistics(episode: Episode, trace: tuple[Step, ...], *, seed: int = 0) -> Statistics:
    """Count an episode and its trace; overlaps over at most `PAIRS` pairs of sessions."""
    done = Counter(step.changes[0].operation for step in trace if step.changes)
    operations = sum(done.values())
    turns = sum(len(session.messages) for session in episode.sessions)
    texts = [
        _WORD.findall(" ".join(message.text for message in session.messages).casefold())
        for session in episode.sessions
    ]
    return Statistics(
        len(episode.sessions),
        turns / len(episode.sessions),
        operations,
        {operation: done[operation] / operations for operation in Operation},
        len(episode.questions),
        {size: _overlap(texts, size, Random(seed)) for size in (1, 2, 3)},
    )


def _overlap(texts: list[list[str]], size: int, random: Random) -> float:
    grams = [{tuple(words[at : at + size]) for at in range(len(words) - size + 1)} for words in texts]
    count = len(grams)
    if count * (count - 1) // 2 <= PAIRS:
        pairs = list(combinations(range(count), 2))
    else:
        pairs = [tuple(random.sample(range(count), 2)) for _ in range(PAIRS)]  # type: ignore[misc] # two of each
    return sum(len(grams[a] & grams[b]) / max(len(grams[a] | grams[b]), 1) for a, b in pairs) / max(
        len(pairs), 1
    )
