"""What an embedder's cosines mean: its own equivalents of the papers' 0.7 and 0.3 (earlier paper 2.5.2 and 3.1.1).

The papers' thresholds were set with sentence-transformers models, whose scale all-MiniLM-L6-v2 stands for here. On a
small table of held pairs every embedder has a median cosine for related and for unrelated texts; the straight line
through the two medians carries a threshold from MiniLM's scale to the embedder's own.

`python -m hindsight_integrations.backends.local_models.calibration [module:factory]` prints the constants of an embedder.
"""

from __future__ import annotations

import json
import logging
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from hindsight_integrations.model.embedder import REFERENCE, Thresholds
from hindsight_integrations.ports.arrays import FloatArray, Matrix, Vector

logger = logging.getLogger(__name__)

DEFAULT_EMBEDDER = "hindsight_integrations.backends.local_models.onnx:OnnxEmbedder"


@dataclass(frozen=True, slots=True)
class Scale:
    """Median cosines of related and of unrelated texts under one embedder, both in [-1, 1]."""

    related: float
    unrelated: float


# Medians of all-MiniLM-L6-v2 (fp32, weights sha256 53aa51172d14...) on calibration_pairs.json, computed in numpy
# 2026-11-21: paraphrases .837, unrelated passages .048 (other pairs gave .82 and .06); questions
# with their passage .600, with another's .081.
MINILM_PASSAGES = Scale(related=0.837, unrelated=0.048)
MINILM_QUESTIONS = Scale(related=0.600, unrelated=0.081)

# The same text embedded in another batch by an int8 model agrees to .990 at worst: a
# duplicate threshold must stay below, or the same sentence written twice would not be one.
DUPLICATE_CEILING = 0.985

# Share of relevant (question, passage) pairs of the table that the channel floor may cut off, at most.
FLOOR_QUANTILE = 0.05

# Related pairs must lie higher than unrelated ones at these quantiles, or the medians are chance (a random embedder).
LOW_RELATED, HIGH_UNRELATED = 0.25, 0.75


@dataclass(frozen=True, slots=True)
class HeldPairs:
    """The table: (text, paraphrase) and (question, passage) pairs, every pair with a topic of its own."""

    paraphrases: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, str], ...]


@cache
def held_pairs() -> HeldPairs:
    """The table shipped as `calibration_pairs.json`."""
    source = files("hindsight_integrations.backends.local_models") / "calibration_pairs.json"
    table = json.loads(source.read_text(encoding="utf-8"))
    return HeldPairs(
        paraphrases=tuple((first, second) for first, second in table["paraphrases"]),
        questions=tuple((question, passage) for question, passage in table["questions"]),
    )


def equivalent_cosine(
    reference: float, *, paraphrase: float, unrelated: float, scale: Scale = MINILM_PASSAGES
) -> float:
    """A cosine on the reference scale carried to an embedder's own.

    t' = u' + (t - u) / (p - u) * (p' - u'), with p, u the reference medians and p', u' the embedder's.

    Args:
        reference: t, the cosine on the reference scale.
        paraphrase: p', the embedder's median for related texts.
        unrelated: u', its median for unrelated texts.
        scale: p and u; MiniLM's passage-to-passage medians by default.
    """
    share = (reference - scale.unrelated) / (scale.related - scale.unrelated)
    return unrelated + share * (paraphrase - unrelated)


def calibrate(
    embed_documents: Callable[[Sequence[str]], Matrix], embed_query: Callable[[str], Vector]
) -> Thresholds:
    """Thresholds of an embedder, from its cosines on the held pairs.

    Links and duplicates compare passages with passages, the channel floor questions with passages. An embedder that
    does not tell related from unrelated texts (a random one in a test) keeps the reference thresholds.

    Args:
        embed_documents: texts to unit-norm rows (n, dimension); called once, with 68 texts.
        embed_query: a question to a unit-norm vector; called 20 times.
    """
    pairs = held_pairs()
    texts = [text for pair in pairs.paraphrases for text in pair]
    rows = embed_documents([*texts, *(passage for _, passage in pairs.questions)])
    passages = _cosines(rows[0 : len(texts) : 2], rows[1 : len(texts) : 2])
    queries = np.stack([embed_query(question) for question, _ in pairs.questions])
    questions = _cosines(queries, rows[len(texts) :])
    duplicate = min(_equivalent(REFERENCE.duplicate, passages, MINILM_PASSAGES), DUPLICATE_CEILING)
    link = _equivalent(REFERENCE.semantic_link, passages, MINILM_PASSAGES)
    floor = _equivalent(REFERENCE.channel_floor, questions, MINILM_QUESTIONS)
    relevant = float(np.quantile(np.diag(questions), FLOOR_QUANTILE))
    return Thresholds(min(link, duplicate), min(floor, relevant), duplicate)


def _cosines(first: Matrix, second: Matrix) -> FloatArray:
    """All cosines (n, n) between two lists of unit vectors; related pairs on the diagonal."""
    return np.asarray(first @ second.T, dtype=np.float32)


def _parts(cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The related (diagonal) and the unrelated cosines of a square matrix of them."""
    return np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]


def measured_scale(cosines: FloatArray) -> Scale:
    """Medians of a square matrix of cosines: its diagonal (related) and the rest (unrelated)."""
    related, unrelated = _parts(cosines)
    return Scale(related=float(np.median(related)), unrelated=float(np.median(unrelated)))


def tells_apart(cosines: FloatArray) -> bool:
    """Whether three quarters of the related pairs lie above three quarters of the unrelated ones."""
    related, unrelated = _parts(cosines)
    return bool(np.quantile(related, LOW_RELATED) > np.quantile(unrelated, HIGH_UNRELATED))


def _equivalent(reference: float, cosines: FloatArray, scale: Scale) -> float:
    if not tells_apart(cosines):
        logger.warning(
            "this embedder does not tell related from unrelated texts; keeping threshold %s", reference
        )
        return reference
    own = measured_scale(cosines)
    return equivalent_cosine(reference, paraphrase=own.related, unrelated=own.unrelated, scale=scale)


def main(arguments: Sequence[str]) -> None:
    """Print the thresholds of the embedder named "module:factory" (the default one if none is named)."""
    embedder = pkgutil.resolve_name(arguments[0] if arguments else DEFAULT_EMBEDDER)()
    sys.stdout.write(f"{calibrate(embedder.embed_documents, embedder.embed_query)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
