"""How likely it is that what was recalled answers the question.

Scores say how near a memory is to a question, not whether it answers it; `answer_signals` counts what else speaks for an
answer, and a logistic model weighs it. `hindsight-evals bench abstention` fits the constants and prints what they are worth.
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
"""The final scores from which on all of a ranking is likely to help, and none."""

WORD = 0.05
"""Cosine, on the reference scale, that a unit of BM25 per word of the question is worth."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What the best memory must reach, and how far behind it one that is still likely to help may stand.

    Attributes:
        nearness: the best memory must be as near to the question, else nothing is likely to help.
        logit: or the reranker must give one memory this; minus infinity where there is none, so that nearness decides.
        behind: a final score that is lower than the best by more is unlikely to help.
    """

    nearness: float
    logit: float
    behind: float


# Measured on LoCoMo conv-26, 41, 43: at 1,024 tokens each pair of nearness and distance costs at
# most 0.5 points of evidence there, and no answer of four Memora weeks and of the LongMemEval sample.
UNREAD = Bar(nearness=0.44, logit=math.inf, behind=2.5 / RRF_K)
READ_BY: Mapping[str, Bar] = MappingProxyType(
    {"cross-encoder/ms-marco-MiniLM-L12-v2": Bar(nearness=0.45, logit=-6.0, behind=14.0)}
)
"""The bar of each reranker whose logits were calibrated, by its name."""
READ_BY_OTHERS = Bar(nearness=UNREAD.nearness, logit=math.inf, behind=math.inf)
"""The bar where another reranker scored, whose logits may mean anything."""

_WORDS = re.compile(r"\w+")


def nearness(cosine: float, bm25: float, text: str) -> float:
    """How near the best memories are to a question by meaning and words: cosine + 0.05 * BM25 / distinct words.

    Args:
        cosine: the best one, on the reference scale.
        bm25: the best one, at least 0.
        text: the question.
    """
    return cosine + WORD * bm25 / max(1, len(set(_WORDS.findall(text.casefold()))))


def likely_from(run: RecallContext, channels: ChannelResults, ranking: Ranking) -> float:
    """The final score from which on a memory is likely to help; infinite where all are, or none is.

    All are where nothing but a time was asked for, as such a question is like none of its answers; and where a channel failed:
    what it did not find is no sign.

    Args:
        run: the recall under way.
        channels: what the channels found.
        ranking: what is to be returned as far as the budget goes.
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
            f"relevance: nothing found is likely to help (nearness {near:.2f}, {bar.nearness} at least)"
        )
        return NOTHING
    return float(ranking.scores.max()) - bar.behind


def likely(ranking: Ranking, least: float) -> tuple[Ranking, dict[int, Fate]]:
    """The ranking from a final score on, and the fate of the rest by row id."""
    count = int(np.count_nonzero(ranking.scores >= least))
    unlikely = dict.fromkeys(ranking.ids[count:].tolist(), Fate.UNLIKELY)
    return (ranking.at(np.arange(count)) if unlikely else ranking), unlikely


def _relevance_best(hits: Hits, missing: float) -> float:
    return float(hits.scores.max()) if len(hits.scores) else missing


# Units looked at, by cosine and BM25; 15 and 20 were the best of 5 to 30 on the fitting conversations.
UNITS_READ = 15
CHARACTERS_READ = 2_000  # of each; bounds the cost (no source)

# The two signals of own units where a question names no speaker, or several: their means where it names one, printed
# by hindsight-evals bench abstention.
NEUTRAL_WORDS, NEUTRAL_SHARE = 0.2, 0.76


# What the units found say for an answer to the question: whose words were found, not only how near they are.
# Of "What did Maria adopt?" and "What did John adopt?" one has no answer, and both find the same turn. So
# beside the best score it counts whether the units are about the person the question names.
@dataclass(frozen=True, slots=True)
class QuestionNames:
    """The names in a question, normalised.

    Attributes:
        speaker: normalised names of the one speaker named; empty if none is, or several are.
        others: the other names, whether the bank knows them or not.
    """

    speaker: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnswerSignals:
    """What speaks for an answer among the units returned; more is better in each.

    "Own" units are those in which the speaker named comes first: a turn of theirs, or a fact about them. Where no
    speaker is named, every unit is.

    Attributes:
        cosine: of the best own unit, on the reference scale, where 0.3 is the channel floor and 0.7 a semantic link.
        words: BM25 of the best own unit less that of the best other one, as a share of the better, in [-1, 1].
        share: own units among the first 15, the n-th counting 1/n, in [0, 1].
        names: share of the question's other names that those 15 mention, in [0, 1]; 1 where there are none.
        logit: the reranker's, of the best own unit; None where no reranker read any.
    """

    cosine: float
    words: float
    share: float
    names: float
    logit: float | None = None


def names_in_question(text: str, speaker: frozenset[str], languages: Sequence[Language]) -> QuestionNames:
    """The names in a question.

    Args:
        text: the question.
        speaker: normalised names of the speaker it names, if there is one.
        languages: it may be in.
    """
    spotted = NameSpotter([text], people=speaker, aliases=(), languages=languages).names_in(text)
    others = frozenset(normalise_name(name.text) for name in spotted) - speaker - {""}
    return QuestionNames(speaker, others)


def answer_signals(
    units: Sequence[RecalledUnit], names: QuestionNames, thresholds: Thresholds, logits: Mapping[str, float]
) -> AnswerSignals:
    """What the units returned say for an answer.

    Args:
        units: at least one. They are taken in the order of cosine and BM25 alone: fusion may prefer the words of the
            speaker named, of which nothing could be concluded then.
        names: the names in the question.
        thresholds: of the embedder their cosines are from.
        logits: the reranker's output by unit id, of the units it read.
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
    """Whether one of the names stands in a text before every other entity of it: its subject, or its speaker.

    Args:
        text: case-folded.
        names: normalised, at least one.
        entities: names of the text's entities; those that contain one of `names` ("Maria's aunt") do not count.
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
    """Where a name first stands in a text as whole words; the text's length if it does not."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return at
        at = text.find(name, at + 1)
    return len(text)


def _fused(item: RecalledUnit) -> float:
    """RRF of the two channels that compare texts with the question (paper eq. 15)."""
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
    """A logistic model: log-odds = bias + relevance * (logit or cosine) + words * ... + share * ... + names * ..."""

    bias: float
    relevance: float
    words: float
    share: float
    names: float


# Printed by hindsight-evals bench abstention: LoCoMo conv-26, 41, 43 (turns) and 26, 41 (facts), 2026-11-22.
WITHOUT_RERANKER = Weights(bias=-9.70, relevance=11.29, words=0.83, share=2.94, names=1.39)
WITH_RERANKER = Weights(bias=-4.12, relevance=0.32, words=0.26, share=3.28, names=0.76)


WHOLE = 0.9
"""Confidence where memories answer because all of a kind or time are there: of 24 complete tables on Memora weeks 24 held the
answer, which is 25 of 26 by Laplace's rule; rounded down."""


def confidence(signals: AnswerSignals, *, named: bool = True) -> float:
    """The probability of the model for these signals, in [0, 1]; rises with every signal.

    Where nobody is named, the better of two models: a cross-encoder, trained on passages that answer a search, gives "what
    should I cook" and a list of what was eaten little, though they are near. Where the question is about one speaker and not
    another, the cross-encoder alone sees it, and is believed.

    Args:
        signals: of the units returned.
        named: whether the question names a speaker.
    """
    if signals.logit is None:
        return _probability(WITHOUT_RERANKER, signals.cosine, signals)
    read = _probability(WITH_RERANKER, signals.logit, signals)
    return read if named else max(read, _probability(WITHOUT_RERANKER, signals.cosine, signals))


def _probability(weights: Weights, relevance: float, signals: AnswerSignals) -> float:
    """1 / (1 + exp(-log-odds)) of one model."""
    odds = weights.bias + weights.relevance * relevance + weights.names * signals.names
    odds += weights.words * signals.words + weights.share * signals.share
    return 1.0 / (1.0 + math.exp(-max(-500.0, min(500.0, odds))))


def recall_confidence(
    run: RecallContext,
    units: Mapping[int, RecalledUnit],
    ranking: Ranking,
    digests: Sequence[RecordDigest],
) -> float:
    """Confidence of one recall, in [0, 1]; 0 where nothing is returned. The trace tells the signals it was weighed from.

    Args:
        run: the recall under way.
        units: what is returned, by row id, best first.
        ranking: the reranker's logits, if it read any.
        digests: the records returned beside them.
    """
    with timed(run.trace, "confidence") as detail:
        if whole := _whole(run, units, digests):
            detail["all"] = whole
            return WHOLE
        if not units:
            return 0.0
        names = names_in_question(run.query.text, run.named.speaker, run.services.languages)
        thresholds = run.services.embedder.identity.thresholds
        read = dict(
            zip(ranking.ids[ranking.read].tolist(), ranking.logits[ranking.read].tolist(), strict=True)
        )
        logits = {item.unit.id: read[row] for row, item in units.items() if row in read}
        signals = answer_signals(list(units.values()), names, thresholds, logits)
        if names.speaker:
            detail["about"] = " or ".join(sorted(names.speaker))
        detail |= {name: round(value, 3) for name, value in asdict(signals).items() if value is not None}
        return confidence(signals, named=bool(names.speaker))


def _whole(run: RecallContext, units: Mapping[int, RecalledUnit], digests: Sequence[RecordDigest]) -> str:
    """Of what all is returned that the question asks for; empty where that cannot be told."""
    if complete := next((digest for digest in digests if digest.rows and digest.complete), None):
        return f"{complete.kind} records"
    if any(unit.reason is RecallReason.OVERVIEW for unit in units.values()):
        return "of an overview"
    return "of the time asked for" if units and run.time_alone else ""
