"""Synthetic memories: seeded facts with topics, names and dates, and an embedder with clusters of topics.

Their cost is that of real memories; retrieval quality cannot be measured with them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np

from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.model.requests import Message

DIMENSION = 384  # like bge-small
TOPICS = 300  # number of clusters of vectors, as in earlier measurements of the stack
WORDS = 42  # mean number of words in a fact
VOCABULARY = 20_000
NAMES_PER_FACT = 0.1  # distinct entities added per fact; their popularity follows Zipf's law
FACTS_PER_MESSAGE = 5  # 2 to 5 facts per exchange in the paper
DAYS = 3 * 365  # duration of the conversation, regardless of the number of facts
BEGIN = datetime(2022, 1, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=DAYS)
THRESHOLDS = Thresholds(semantic_link=0.822, channel_floor=0.466, duplicate=0.966)  # calibrated for bge-small

_TOPIC = re.compile(r"topic(\d+)")
_SYLLABLES = [
    "ba",
    "den",
    "ro",
    "mi",
    "lu",
    "tar",
    "vo",
    "ne",
    "sha",
    "kel",
    "pi",
    "go",
    "ran",
    "tho",
    "li",
    "mar",
    "esu",
    "fen",
    "ja",
    "qui",
]


class SyntheticEmbedder:
    """Deterministic vectors without a model; texts of the same topic have similar vectors.

    Half of each vector is common to all, as with real embedders (cosine 0.5 between unrelated texts); the
    rest is divided between the topic and noise specific to the text. `seconds` is the total time spent here,
    so that it can be subtracted.
    """

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        frame, _ = np.linalg.qr(rng.standard_normal((DIMENSION, TOPICS + 1)))
        self._common, self._topics = frame[:, 0], frame[:, 1:].T
        self.seconds = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        """The embedder's name, with bge-small's thresholds."""
        return EmbedderIdentity("synthetic", DIMENSION, "", THRESHOLDS)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return vectors (n, dimension), float32, unit norm."""
        started = time.perf_counter()
        vectors = np.array([self._vector(text) for text in texts], np.float32).reshape(-1, DIMENSION)
        self.seconds += time.perf_counter() - started
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Return a vector (dimension,), float32, unit norm."""
        vector: Vector = self.embed_documents([text])[0]
        return vector

    def _vector(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        rng = np.random.default_rng(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big"))
        found = _TOPIC.search(text)
        topic = self._topics[int(found[1]) % TOPICS if found else int(rng.integers(TOPICS))]
        noise = rng.standard_normal(DIMENSION)
        shared = rng.uniform(0.5, 0.95)
        mixed = self._common + np.sqrt(shared) * topic + np.sqrt(1 - shared) * noise / np.linalg.norm(noise)
        return np.asarray(mixed / np.linalg.norm(mixed))


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of one retain: messages, and the facts extracted from them."""

    messages: list[Message]
    facts: list[dict[str, Any]]


class World:
    """A seeded source of facts and questions about them.

    Args:
        facts: total number of facts, which determines the number of names.
    """

    def __init__(self, facts: int, seed: int = 7) -> None:
        self._random = Random(seed)
        self._facts = facts
        self._names = _names(self._random, max(50, int(NAMES_PER_FACT * facts)))
        self._vocabulary = [_word(self._random) for _ in range(VOCABULARY)]
        self._word_odds = _zipf(VOCABULARY)
        self._name_odds = _zipf(len(self._names))

    def batches(self, size: int, *, begin: int = 0, end: int | None = None) -> Iterator[Batch]:
        """Yield the facts from `begin` to `end` (None for all) in order of time, `size` (or fewer, at the end) per retain."""
        end = self._facts if end is None else end
        for first in range(begin, end, size):
            count = min(size, end - first)
            messages = [self._message(first, n) for n in range(-(-count // FACTS_PER_MESSAGE))]
            facts = [self._fact(first + n, messages[n // FACTS_PER_MESSAGE]) for n in range(count)]
            yield Batch(messages, facts)

    def questions(self, count: int) -> list[tuple[str, str]]:
        """Return (kind, text) pairs: alternately plain, with a name, and with a time expression."""
        kinds = ("plain", "name", "time")
        return [(kinds[n % 3], self._question(kinds[n % 3])) for n in range(count)]

    def _question(self, kind: str) -> str:
        topic, words = self._random.randrange(TOPICS), " ".join(self._words(4))
        if kind == "name":
            return f"what did {self._some_names(1)[0]} say about topic{topic} {words}?"
        if kind == "time":
            moment = BEGIN + timedelta(days=self._random.randrange(DAYS))
            return f"what happened to topic{topic} {words} in {moment:%B %Y}?"
        return f"what is known of topic{topic} {words}?"

    def _message(self, first: int, place: int) -> Message:
        number = first + place * FACTS_PER_MESSAGE
        speaker = ("Alice Example", "assistant")[place % 2]
        return Message(
            f"message about {' '.join(self._words(20))}", speaker, self._moment(number), f"m{number}"
        )

    def _fact(self, number: int, message: Message) -> dict[str, Any]:
        names = self._some_names(self._random.randint(1, 3))
        moment = self._moment(number) - timedelta(days=self._random.choice((0, 0, 1, 7, 30)))
        text = self._words(int(self._random.gauss(WORDS - 8, 8)))
        text[1:1] = [f"topic{self._random.randrange(TOPICS)}", *names]
        back = self._random.randrange(1, 5)
        caused = number % FACTS_PER_MESSAGE >= back and self._random.random() < 0.1
        return {
            "what": " ".join(text),
            "when": f"{moment:%A, %B} {moment.day}, {moment.year}",
            "fact_type": "world" if self._random.random() < 0.8 else "experience",
            "occurred_start": f"{moment:%Y-%m-%d}",
            "entities": [{"text": name, "type": "PERSON"} for name in names],
            "sources": [message.id],
            "causal_relations": [{"target_fact_index": back - 1, "relation_type": "caused_by"}]
            if caused
            else [],
        }

    def _moment(self, number: int) -> datetime:
        return BEGIN + number * timedelta(days=DAYS) / self._facts

    def _words(self, count: int) -> list[str]:
        return self._random.choices(self._vocabulary, cum_weights=self._word_odds, k=max(3, count))

    def _some_names(self, count: int) -> list[str]:
        return list(dict.fromkeys(self._random.choices(self._names, cum_weights=self._name_odds, k=count)))


def _zipf(count: int) -> list[float]:
    """Return cumulative weights 1 / rank."""
    return list(accumulate(1.0 / rank for rank in range(1, count + 1)))


def _word(random: Random) -> str:
    return "".join(random.choices(_SYLLABLES, k=random.randint(1, 4)))


def _names(random: Random, count: int) -> list[str]:
    """Return distinct pairs of given name and surname."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"{_word(random).title()} {_word(random).title()}{random.choice(_SYLLABLES)}"] = None
    return list(found)
