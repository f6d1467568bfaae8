"""Token counters: the contract, offline behaviour, and that the environment is unchanged."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_counter_contract import TokenCounterContract

from hindsight_integrations.errors import MissingDependency
from hindsight_integrations.models import tokens as tiktoken_counter
from hindsight_integrations.models.protocols import TokenCounter
from hindsight_integrations.models.tokens import (
    CACHE_FILE,
    CACHE_VARIABLE,
    CharacterCounter,
    TiktokenCounter,
    cl100k_folder,
    default_token_counter,
)
from hindsight_integrations.testing.doubles import WordCounter


class TestTiktokenCounter(TokenCounterContract):
    @pytest.fixture
    def counter(self) -> TokenCounter:
        return TiktokenCounter()

    def test_known_counts(self, counter: TokenCounter) -> None:
        """Budgets mean what OpenAI users expect: these are the counts of cl100k."""
        assert counter.count(["hello world", "tiktoken is great!", "antidisestablishmentarianism"]) == [
            2,
            6,
            6,
        ]

    def test_nothing_goes_over_the_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Counting works offline: the table is read from disk, also when it is loaded for the first time."""
        monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
        monkeypatch.setattr(socket, "create_connection", None)
        monkeypatch.setattr(socket.socket, "connect", None)
        assert TiktokenCounter().count(["hello world"]) == [2]

    @pytest.mark.parametrize("before", [None, "/somewhere/else"])
    def test_the_environment_is_left_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch, before: str | None
    ) -> None:
        """The host application's own use of tiktoken does not change."""
        monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
        if before is None:
            monkeypatch.delenv(CACHE_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(CACHE_VARIABLE, before)
        assert TiktokenCounter().count(["hello world"]) == [2]
        assert os.environ.get(CACHE_VARIABLE) == before


class TestCharacterCounter(TokenCounterContract):
    @pytest.fixture
    def counter(self) -> TokenCounter:
        return CharacterCounter()

    @given(st.text(max_size=100))
    def test_a_quarter_rounded_up(self, text: str) -> None:
        """The estimate can be computed by hand: ceil(characters / 4)."""
        (count,) = CharacterCounter().count([text])
        assert 4 * count - 3 <= len(text) <= 4 * count or not text


class TestWordCounter(TokenCounterContract):
    @pytest.fixture
    def counter(self) -> TokenCounter:
        return WordCounter()


@pytest.fixture
def no_bundled_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without llama-index-core."""
    monkeypatch.setattr(tiktoken_counter, "BUNDLED_CACHE", "no/such/folder")
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)


def test_the_bundled_table_is_found_without_importing_llama_index() -> None:
    """Finding the table costs milliseconds, not the two seconds of importing LlamaIndex."""
    loaded = "llama_index.core" in sys.modules
    folder = cl100k_folder()
    assert folder is not None
    assert (folder / CACHE_FILE).is_file()
    assert ("llama_index.core" in sys.modules) == loaded


def test_the_users_own_cache_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TIKTOKEN_CACHE_DIR is used, as in tiktoken."""
    bundled = cl100k_folder()
    assert bundled is not None
    shutil.copy(bundled / CACHE_FILE, tmp_path)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cl100k_folder() == tmp_path


def test_a_damaged_cache_is_passed_over_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A truncated download is neither used nor deleted, and nothing is fetched instead."""
    (tmp_path / CACHE_FILE).write_bytes(b"half of it")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cl100k_folder() not in {None, tmp_path}
    assert (tmp_path / CACHE_FILE).read_bytes() == b"half of it"


@pytest.mark.usefixtures("no_bundled_cache")
def test_without_a_table_characters_are_counted() -> None:
    """An offline machine without the table still has budgets, and doctor shows how tokens are counted."""
    counter = default_token_counter()
    assert counter.name == "characters/4"
    assert counter.count(["x" * 10]) == [3]


@pytest.mark.usefixtures("no_bundled_cache")
def test_asking_for_tiktoken_without_a_table_says_what_to_do() -> None:
    """The error for a required exact count says how to get the table."""
    with pytest.raises(MissingDependency, match=r"pip install llama-index-core.*TIKTOKEN_CACHE_DIR"):
        TiktokenCounter()


def test_where_the_table_is_installed_it_is_the_default() -> None:
    """Exact counts are used if they are available."""
    assert default_token_counter().name == "cl100k_base"
