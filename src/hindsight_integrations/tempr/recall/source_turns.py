"""The source-turn signal: a memory is also scored by the words in which it was told.

Extraction words a conversation anew, and a question may use the words that were said. Ranks tell nothing of how much better
the first is than the second, so beside the ranks of fusion stands how near a memory is, and how well its turns' words match.
"""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.embedder import REFERENCE
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import Float64Array, FloatArray, Hits, IntArray
from hindsight_integrations.search.fusion import RRF_K
from hindsight_integrations.search.reference_scale import question_cosine
from hindsight_integrations.tempr.recall.context import RecallContext
from hindsight_integrations.tempr.recall.retrieval import ChannelResults

# In ranks: what a cosine higher by 1 on the reference scale counts, and the best match in words. Chosen on the facts of LoCoMo
# conv-26 and 41; half and twice as much change evidence by less than a point there.
NEARNESS, WORDS = 6.0, 1.0


def evidence(cosines: Float64Array, words: FloatArray) -> Float64Array:
    """E(f) = (6 * max(0, c - 0.3) + w / max w) / 60, (n,), in [0, 0.087]: what is added to RRF(f) of paper eq. 15.

    Args:
        cosines: c, of each memory with the question, on the reference scale, where 0.3 is the channel floor, (n,).
        words: w, BM25 of the memory with the turns it was made from, (n,), >= 0.
    """
    near = np.clip(cosines - REFERENCE.channel_floor, 0.0, 1.0 - REFERENCE.channel_floor)
    most = float(words.max(initial=0.0))
    worded = words.astype(np.float64) / most if most > 0.0 else np.zeros(len(words))
    return (NEARNESS * near + WORDS * worded) / RRF_K


def with_evidence(
    ids: IntArray, fused: Float64Array, channels: ChannelResults, run: RecallContext
) -> tuple[IntArray, Float64Array]:
    """Row ids and scores, best first, with the evidence of each; memories that only their turns' words found join.

    As they were in a bank whose memories have no turns beside themselves: turns word for word are smoothed over their
    neighbours instead, and both together cost evidence.

    Args:
        ids: row ids, (n,).
        fused: their scores by reciprocal rank fusion.
        channels: what the channels found, and the turns' words.
        run: the recall under way.
    """
    told = channels.told
    if not len(told):
        return ids, fused
    found = np.union1d(ids, told.ids)
    scores = np.zeros(len(found))
    scores[np.searchsorted(found, ids)] = fused
    cosines = run.view.scorer.similarities(run.vector, found)
    near = question_cosine(np.nan_to_num(cosines).astype(np.float64), run.tools.embedder.identity.thresholds)
    words = _scores_of(found, channels.lists[Channel.KEYWORD], told)
    scores += evidence(near, words)
    best = np.lexsort((found, -scores))
    return found[best], scores[best]


def _scores_of(ids: IntArray, *lists: Hits) -> FloatArray:
    """The score of each id in the last list that has it, else 0, (n,)."""
    scores = np.zeros(len(ids), np.float32)
    for hits in lists:
        scores[np.searchsorted(ids, hits.ids)] = hits.scores
    return scores
