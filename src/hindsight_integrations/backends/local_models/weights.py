"""Where model files come from: an explicit folder, else an installed weights package, else the hub.

Files of a package or of the hub are used only if their sha256 is the one pinned here, so that a bank's vectors are
never made by weights nobody measured. A folder named by the caller is trusted; its hash is recorded, not compared.
"""

from __future__ import annotations

import hashlib
import importlib.util
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit
from urllib.request import getproxies

from hindsight_integrations.errors import InvalidRequest, MissingDependency

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
