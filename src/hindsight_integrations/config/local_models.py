"""Settings of the models that run here: which embedder serves, where weights come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hindsight_integrations.choices import as_choices


class EmbedderBackend(StrEnum):
    """Which local embedder serves where `open` is given none.

    ONNX is bge-small (the default); STATIC is potion-base-8M, faster and less exact; SENTENCE_TRANSFORMERS runs on torch.
    """

    ONNX = "onnx"
    STATIC = "static"
    SENTENCE_TRANSFORMERS = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which local embedder serves, and where weights come from: a folder, else an installed package, else the hub."""

    embedder_path: Path | None = None
    reranker_path: Path | None = None
    offline: bool = False
    embedder: EmbedderBackend | str = EmbedderBackend.ONNX

    def __post_init__(self) -> None:
        as_choices(self, embedder=EmbedderBackend)
