"""Banks with mental models, for tests: a model that answers from its prompt, and records it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from hindsight_integrations import HindsightConfig, MemoryBank
from hindsight_integrations.config import (
    KeywordBackend,
    MentalModelConfig,
    ObservationConfig,
    StorageConfig,
    VectorBackend,
)

LIGHT = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
REAL = StorageConfig(VectorBackend.CHROMA, KeywordBackend.LUCENE)
_SHOWN = re.compile(r"^\[([^\]\s]+)\] (.*)$", re.MULTILINE)


@dataclass
class Answering:
    """A language model that answers with the shown memories that contain a word, and cites them.

    Attributes:
        about: the word.
        prompts: all text of each prompt.
        meanwhile: called once before an answer.
        verdict: whether the answer claims to be sufficient.
        wording: makes the answer from the memories' texts.
    """

    about: str = "likes"
    prompts: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    verdict: bool = True
    wording: Callable[[Sequence[str]], str] = " / ".join

    def __call__(self, messages: Sequence[Any]) -> dict[str, Any]:
        self.prompts.append("\n\n".join(str(message.content) for message in messages))
        if self.meanwhile:
            happening, self.meanwhile = self.meanwhile, None
            happening()
        shown = _SHOWN.findall(self.prompts[-1])
        used = [(key, text.split(") ", 1)[-1]) for key, text in shown if self.about in text]
        text = self.wording([text for _, text in used])
        return {
            "text": text or "I do not know.",
            "based_on": [key for key, _ in used],
            "sufficient": self.verdict and bool(used),
        }


def config(storage: StorageConfig = LIGHT, *, delay_s: float = 60.0) -> HindsightConfig:
    """Settings without observations, whose tasks would also call the model."""
    return HindsightConfig(
        storage=storage,
        observations=ObservationConfig(mode="off"),
        mental_models=MentalModelConfig(delay_s=delay_s),
    )


def told(bank: MemoryBank, *texts: str, about: str = "", tags: Sequence[str] = (), **facts: Any) -> list[str]:
    """Retain facts, each in a separate document, optionally about an entity; return their ids."""
    entities = [{"text": about, "type": "PERSON"}] if about else []
    found: list[str] = []
    for text in texts:
        fact = {"what": text, "entities": entities, **facts}
        found += bank.retain(
            text, facts=[fact], document_id=blake2b(text.encode()).hexdigest(), tags=tags
        ).unit_ids
    return found
