"""Relevance cut-off and confidence: how likely the recalled memories are to answer the question.

Scores measure how similar a memory is to a question, not whether it answers it. `answer_signals` collects further
evidence of an answer, and a logistic model turns it into a probability. `hindsight-evals bench abstention` fits the
constants and prints their accuracy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np

from hindsight_integrations.indexes.embedding import question_cosine
from hindsight_integrations.indexes.hybrid import RRF_K
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.names import NameSpotter
from hindsight_integrations.model.arrays import Hits
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.recalled import RecalledUnit, RecallReason
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.requests import RelevanceLevel
from hindsight_integrations.model.trace import Channel, Fate
from hindsight_integrations.recall.context import RecallContext, timed
from hindsight_integrations.recall.rerank import Ranking
from hindsight_integrations.recall.retrieval import ChannelResults

EVERYTHING, NOTHING = -math.inf, math.inf
"""Minimum final scores that accept the whole ranking, or none of it."""

WORD = 0.05
"""Cosine, on the reference scale, equivalent to 1 BM25 point per word of the question."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Thresholds that a memory must reach to be considered likely to help.

    Attributes:
        nearness: minimum nearness of the best memory; if it is not reached, no memory is likely to help,
            unless `logit` is.
        logit: reranker logit that is sufficient if the nearness is too low; infinity if only the nearness
            counts.
        behind: maximum difference between the best final score and that of a memory.
    """

    nearness: float
    logit: float
    behind: float


# On LoCoMo (1,024 tokens), these values lose at most 0.5 points of evidence recall; on Memora, no answer.
UNREAD = Bar(nearness=0.44, logit=math.inf, behind=2.5 / RRF_K)
READ_BY: Mapping[str, Bar] = MappingProxyType(
    {"cross-encoder/ms-marco-MiniLM-L12-v2": Bar(nearness=0.45, logit=-6.0, behind=14.0)}
)
"""Thresholds for each reranker whose logits are calibrated, by the reranker's name."""
READ_BY_OTHERS = Bar(nearness=UNREAD.nearness, logit=math.inf, behind=math.inf)
"""Thresholds for other rerankers, whose logits are not calibrated."""

_WORDS = re.compile(r"\w+")


def nearness(cosine: float, bm25: float, text: str) -> float:
    """Combine the best semantic and keyword scores: cosine + 0.05 * BM25 / distinct words of the question.

    The cosine is on the reference scale; BM25 is at least 0.
    """
    return cosine + WORD * bm25 / max(1, len(set(_WORDS.findall(text.casefold()))))


def likely_from(run: RecallContext, channels: ChannelResults, ranking: Ranking) -> float:
    """Return the minimum final score of a memory likely to help; minus infinity to accept all memories, infinity to reject all.

    All memories are accepted if the question only names a time, because its answers are not similar to it, or
    if a channel failed, because low scores may then be due to missing results.
    """
    query = run.query
    asked_for_all = query.relevance is RelevanceLevel.ALL or run.time_alone
    if asked_for_all or run.view.failures or not len(ranking.ids):
        return EVERYTHING
    bar, logits = UNREAD, ranking.logits[ranking.read]
    if len(logits) and run.services.reranker is not None:
        bar = READ_BY.get(run.services.reranker.name, READ_BY_OTHERS)
    thresholds = run.services.embedder.identity.thresholds
    cosine = _relevance_best(channels.lists[Channel.SEMANTIC], thresholds.channel_floor)
    near = nearness(
        question_cosine(cosine, thresholds), _relevance_best(channels.lists[Channel.KEYWORD], 0.0), query.text
    )
    if near < bar.nearness and not (len(logits) and float(logits.max()) >= bar.logit):
        run.trace.notes.append(
            f"relevance: no memory is likely to help (nearness {near:.2f}, minimum {bar.nearness})"
        )
        return NOTHING
    return float(ranking.scores.max()) - bar.behind


def likely(ranking: Ranking, minimum: float) -> tuple[Ranking, dict[int, Fate]]:
    """Drop units with a final score below `minimum`; return the remaining ranking, and the fate of each dropped unit by row id."""
    count = int(np.count_nonzero(ranking.scores >= minimum))
    unlikely = dict.fromkeys(ranking.ids[count:].tolist(), Fate.UNLIKELY)
    return (ranking.at(np.arange(count)) if unlikely else ranking), unlikely


def _relevance_best(hits: Hits, missing: float) -> float:
    return float(hits.scores.max()) if len(hits.scores) else missing


# Number of best units, by cosine and BM25, used for the signals. Of 5 to 30, 15 and 20 fitted best.
UNITS_READ = 15
CHARACTERS_READ = 2_000  # maximum number of characters of a unit that are read (chosen by hand)

# Used for `words` and `share` unless the question names one speaker: means over questions that do.
NEUTRAL_WORDS, NEUTRAL_SHARE = 0.2, 0.76


# Names are needed, because similarity does not show whom the units are about.
@dataclass(frozen=True, slots=True)
class QuestionNames:
    """The names in a question, normalised.

    Attributes:
        speaker: normalised names of the speaker, if the question names exactly one; else empty.
        others: all other names, including those the bank does not contain.
    """

    speaker: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnswerSignals:
    """Evidence of an answer among the returned units; higher is better for each signal.

    "Own" units are those in which the named speaker comes first: the speaker's turns, and facts about the speaker. If no
    speaker is named, every unit is an own unit.

    Attributes:
        cosine: cosine of the best own unit, on the reference scale, where 0.3 is the channel floor and 0.7 a semantic link.
        words: BM25 of the best own unit minus that of the best other unit, relative to the higher one, in [-1, 1].
        share: share of own units among the first 15, the n-th weighted by 1/n, in [0, 1].
        names: share of the question's other names that the first 15 units mention, in [0, 1]; 1 if there are no such names.
        logit: reranker logit of the best own unit; None if the reranker scored no own unit.
    """

    cosine: float
    words: float
    share: float
    names: float
    logit: float | None = None


def names_in_question(text: str, speaker: frozenset[str], languages: Sequence[Language]) -> QuestionNames:
    """Extract the names in a question; `speaker` has the normalised names of the speaker among them, if there is one."""
    spotted = NameSpotter([text], people=speaker, aliases=(), languages=languages).names_in(text)
    others = frozenset(normalise_name(name.text) for name in spotted) - speaker - {""}
    return QuestionNames(speaker, others)


def answer_signals(
    units: Sequence[RecalledUnit], names: QuestionNames, thresholds: Thresholds, logits: Mapping[str, float]
) -> AnswerSignals:
    """Compute the answer signals of the returned units, at least one.

    They are reordered by cosine and BM25 only, because the graph channel favours the named speaker, which would bias the
    signals. `logits` has the reranker's logits by unit id, for the units that it scored.
    """
    seen = sorted(units, key=_fused, reverse=True)[:UNITS_READ]
    texts = [item.unit.text[:CHARACTERS_READ].casefold() for item in seen]
    own = [
        not names.speaker or comes_first(text, names.speaker, item.entities)
        for text, item in zip(texts, seen, strict=True)
    ]
    cosines = [_score(item, Channel.SEMANTIC, thresholds.channel_floor) for item in seen]
    least = min(logits.values(), default=0.0)
    read = [logits.get(item.unit.id, least) for item in seen]
    return AnswerSignals(
        cosine=question_cosine(_best(cosines, own, min(cosines)), thresholds),
        words=_words([_score(item, Channel.KEYWORD, 0.0) for item in seen], own)
        if names.speaker
        else NEUTRAL_WORDS,
        share=_share(own) if names.speaker else NEUTRAL_SHARE,
        names=_mentioned(names.others, texts),
        logit=_best(read, own, least) if logits else None,
    )


def comes_first(text: str, names: Collection[str], entities: Collection[str]) -> bool:
    """Return whether one of the normalised names precedes every other entity in a case-folded text, as its subject or speaker.

    Entities that contain one of the names ("Maria's aunt") are ignored.
    """
    first = min(word_position(name, text) for name in names)
    before = text[:first]
    if first == len(text):
        return False
    if not before:
        return True
    rivals = [other.casefold() for other in entities]
    return not any(
        word_position(other, before) < first
        and not any(word_position(name, other) < len(other) for name in names)
        for other in rivals
    )


def word_position(name: str, text: str) -> int:
    """Return the offset of a name's first whole-word occurrence in a text; the text's length if there is none."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return at
        at = text.find(name, at + 1)
    return len(text)


def _fused(item: RecalledUnit) -> float:
    """Fuse the ranks of the two channels that compare texts with the question by RRF (paper eq. 15)."""
    near, worded = item.channels.get(Channel.SEMANTIC), item.channels.get(Channel.KEYWORD)
    by_cosine = 1.0 / (RRF_K + near.rank) if near else 0.0
    return by_cosine + 1.0 / (RRF_K + worded.rank) if worded else by_cosine


def _score(item: RecalledUnit, channel: Channel, missing: float) -> float:
    hit = item.channels.get(channel)
    return missing if hit is None else hit.score


def _best(values: Sequence[float], own: Sequence[bool], missing: float) -> float:
    return max((value for value, mine in zip(values, own, strict=True) if mine), default=missing)


def _words(scores: Sequence[float], own: Sequence[bool]) -> float:
    most = max(scores)
    if most <= 0.0:
        return 0.0
    return (_best(scores, own, 0.0) - _best(scores, [not mine for mine in own], 0.0)) / most


def _share(own: Sequence[bool]) -> float:
    counts = [1.0 / rank for rank in range(1, len(own) + 1)]
    return sum(count for count, mine in zip(counts, own, strict=True) if mine) / sum(counts)


def _mentioned(names: Collection[str], texts: Sequence[str]) -> float:
    if not names:
        return 1.0
    found = sum(any(word_position(name, text) < len(text) for text in texts) for name in names)
    return found / len(names)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a logistic model of the answer signals; `relevance` weighs the logit, or the cosine without a reranker."""

    bias: float
    relevance: float
    words: float
    share: float
    names: float


# Printed by `hindsight-evals bench abstention`, 2026-11-22: LoCoMo conversations 26, 41, 43 (turns) and 26, 41 (facts).
WITHOUT_RERANKER = Weights(bias=-9.70, relevance=11.29, words=0.83, share=2.94, names=1.39)
WITH_RERANKER = Weights(bias=-4.12, relevance=0.32, words=0.26, share=3.28, names=0.76)


WHOLE = 0.9
"""Confidence if all memories of a kind or time are returned.

All 24 complete tables on Memora weeks contained the answer; Laplace's rule of succession gives 25/26, rounded
down here.
"""


def confidence(signals: AnswerSignals, *, named: bool = True) -> float:
    """Return the probability that the units contain an answer, in [0, 1]; increases with every signal.

    With a reranker there are two models, one that uses its logit and one that uses the cosine. If no speaker is `named`, the higher
    probability counts: a cross-encoder is trained on passages that answer a query, and scores a list of meals low for "what should
    I cook". If a speaker is named, only the probability from the logit counts, because cosines do not distinguish speakers.
    """
    if signals.logit is None:
        return _probability(WITHOUT_RERANKER, signals.cosine, signals)
    reranked = _probability(WITH_RERANKER, signals.logit, signals)
    return reranked if named else max(reranked, _probability(WITHOUT_RERANKER, signals.cosine, signals))


def _probability(weights: Weights, relevance: float, signals: AnswerSignals) -> float:
    odds = weights.bias + weights.relevance * relevance + weights.names * signals.names
    odds += weights.words * signals.words + weights.share * signals.share
    return 1.0 / (1.0 + math.exp(-max(-500.0, min(500.0, odds))))


def recall_confidence(
    run: RecallContext,
    units: Mapping[int, RecalledUnit],
    ranking: Ranking,
    digests: Sequence[RecordDigest],
) -> float:
    """Compute the confidence of one recall, in [0, 1]; 0 if nothing is returned. The signals are written to the trace."""
    with timed(run.trace, "confidence") as detail:
        if whole := _whole(run, units, digests):
            detail["all"] = whole
            return WHOLE
        if not units:
            return 0.0
        names = names_in_question(run.query.text, run.named.speaker, run.services.languages)
        thresholds = run.services.embedder.identity.thresholds
        scored = dict(
            zip(ranking.ids[ranking.read].tolist(), ranking.logits[ranking.read].tolist(), strict=True)
        )
        logits = {item.unit.id: scored[row] for row, item in units.items() if row in scored}
        signals = answer_signals(list(units.values()), names, thresholds, logits)
        if names.speaker:
            detail["about"] = " or ".join(sorted(names.speaker))
        detail |= {name: round(value, 3) for name, value in asdict(signals).items() if value is not None}
        return confidence(signals, named=bool(names.speaker))


def _whole(run: RecallContext, units: Mapping[int, RecalledUnit], digests: Sequence[RecordDigest]) -> str:
    """Describe the complete set of memories that was returned; empty if the result may be incomplete."""
    if complete := next((digest for digest in digests if digest.rows and digest.complete), None):
        return f"{complete.kind} records"
    if any(unit.reason is RecallReason.OVERVIEW for unit in units.values()):
        return "of an overview"
    return "of the time asked for" if units and run.time_alone else ""
