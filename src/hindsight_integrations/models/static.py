"""A static embedder: a text's vector is the mean of its tokens' vectors (model2vec). Needs only numpy and tokenizers.

No neural network runs, so it is several hundred times faster than a transformer, but it ignores word order. Questions
and passages are embedded alike. As in model2vec's own `encode`, no special tokens are added, unknown tokens
are skipped, and a model may have a weight and a row number per token; unlike in model2vec, long texts are not
truncated (the model has no positions: its config.json says seq_length 1,000,000).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from hindsight_integrations.config import EmbedderBackend
from hindsight_integrations.errors import InvalidRequest, MissingDependency
from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.models.weights import (
    Once,
    PinnedFile,
    PinnedFiles,
    ResolvedWeights,
    WeightsSpec,
    calibrate,
    encodable,
    resolve_weights,
    unit_rows,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer


Tensor = npt.NDArray[Any]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1",
}  # fmt: skip
LENGTH_BYTES = 8


# Format: huggingface/safetensors, README "Format".
def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Return every tensor of a file by name, as read-only views of one buffer.

    Raises:
        ValueError: the file is truncated, is not safetensors, or has a dtype that numpy lacks.
    """
    content = path.read_bytes()
    start = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
    if len(content) < LENGTH_BYTES or len(content) < start:
        raise ValueError("the header is truncated")
    header = json.loads(content[LENGTH_BYTES:start])
    if not isinstance(header, dict):
        raise ValueError("the header is not a table of tensors")  # noqa: TRY004 - the content is invalid, as the docstring says
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    return {name: _tensor(name, entry, memoryview(content)[start:]) for name, entry in entries.items()}


def _tensor(name: str, entry: dict[str, object], data: memoryview) -> Tensor:
    """Return one tensor, after validating its header entry and bytes."""
    try:
        dtype = np.dtype(DTYPES[cast("str", entry["dtype"])])
        shape = tuple(int(size) for size in cast("list[int]", entry["shape"]))
        first, last = cast("list[int]", entry["data_offsets"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"tensor {name!r} has an unreadable entry {entry!r}") from error
    if not 0 <= first <= last <= len(data) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"tensor {name!r} does not fit its bytes {first} to {last}")
    return np.frombuffer(data[first:last], dtype).reshape(shape)


WEIGHTS = "model.safetensors"
FOLDER = "qa/assets/embedders/potion-base-8M"
POTION_SHA256 = "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"
POTION_TOKENIZER_SHA256 = "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50"

# Commit and hashes as pinned by several public repositories (looked up 2026-11-22).
POTION_BASE_8M = WeightsSpec(
    name=EmbedderBackend.STATIC.model,
    revision="bf8b056651a2c21b8d2565580b8569da283cab23",
    setting="HINDSIGHT_EMBEDDER_PATH (embedder_path)",
    package="mostlyai",
    requirement="mostlyai-qa==1.10.11",
    packaged=PinnedFiles(
        model=PinnedFile(f"{FOLDER}/{WEIGHTS}", POTION_SHA256),
        tokenizer=PinnedFile(f"{FOLDER}/tokenizer.json", POTION_TOKENIZER_SHA256),
    ),
    hub=PinnedFiles(
        model=PinnedFile(WEIGHTS, POTION_SHA256),
        tokenizer=PinnedFile("tokenizer.json", POTION_TOKENIZER_SHA256),
    ),
    extra="",
    file=WEIGHTS,
)

POTION_DIMENSION = 256

# Printed by `python -m hindsight_integrations.models.weights`, 2026-11-22; recomputed in tests/torch.
POTION_THRESHOLDS = Thresholds(semantic_link=0.661, channel_floor=0.213, duplicate=0.869)


@dataclass(frozen=True, slots=True)
class _Model:
    """A tokenizer, a matrix (vocabulary, d) with a row per token id, and the id of the unknown token, if any."""

    tokenizer: Tokenizer
    table: Matrix
    unknown: int | None

    def means(self, texts: Sequence[str]) -> Matrix:
        """Return the mean of the rows of each text's known tokens, (n, d); zeros for a text without known tokens."""
        means = np.zeros((len(texts), self.table.shape[1]), np.float32)
        for row, encoding in enumerate(self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            if ids := [token for token in encoding.ids if token != self.unknown]:
                means[row] = self.table[ids].mean(axis=0)
        return means


class StaticEmbedder:
    """`minishlab/potion-base-8M`, or a folder with a model2vec model. Loads on first use; thread-safe.

    Args:
        folder: folder with model.safetensors and tokenizer.json; by default that of the installed package, else from
            the hub.
        offline: never use the network.
    """

    def __init__(self, *, folder: Path | None = None, offline: bool = False) -> None:
        weights = Once(lambda: resolve_weights(POTION_BASE_8M, folder=folder, offline=offline))
        self._name = folder.name if folder else POTION_BASE_8M.name
        self._weights, self._model = weights, Once(lambda: _load(weights()))

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The identity: a constant for the pinned weights, otherwise calibrated.

        Raises:
            MissingDependency: the weights are not on this machine.
            InvalidRequest: the given folder does not contain the weights, or they cannot be read.
        """
        sha256 = self._weights().sha256
        if sha256 == POTION_SHA256:
            return EmbedderIdentity(POTION_BASE_8M.name, POTION_DIMENSION, sha256, POTION_THRESHOLDS)
        thresholds = calibrate(self._name, self.embed_documents, self.embed_query)
        return EmbedderIdentity(self._name, self._model().table.shape[1], sha256, thresholds)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts, (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        return unit_rows(self._model().means([encodable(text) for text in texts]), POTION_BASE_8M.name)

    def embed_query(self, text: str) -> Vector:
        """Embed a question like a passage, (dimension,), float32, unit norm."""
        vector: Vector = self.embed_documents([text])[0]
        return vector


def _load(weights: ResolvedWeights) -> _Model:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingDependency(str(error.name), "pip install tokenizers") from error
    tokenizer = Tokenizer.from_file(str(weights.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    try:
        table = _table(read_safetensors(weights.model), tokenizer.get_vocab_size())
    except (KeyError, IndexError, ValueError) as error:
        raise InvalidRequest(
            POTION_BASE_8M.setting,
            f"{weights.model} cannot be read as a static model: {error}",
            "Set it to a folder with a model2vec model.",
        ) from error
    unknown = getattr(tokenizer.model, "unk_token", None)
    return _Model(tokenizer, table, tokenizer.token_to_id(unknown) if unknown else None)


def _table(tensors: dict[str, Tensor], vocabulary: int) -> Matrix:
    """Return a row per token id: `embeddings`, reordered by `mapping` and scaled by `weights` if the file has these."""
    table = tensors["embeddings"].astype(np.float32)
    if table.ndim != 2:
        raise ValueError(f"embeddings of shape {table.shape}")
    if "mapping" in tensors:
        table = table[tensors["mapping"]]
    if "weights" in tensors:
        table = table * tensors["weights"].astype(np.float32)[:, None]
    if len(table) < vocabulary:
        raise ValueError(f"{len(table)} rows for {vocabulary} tokens")
    return table
