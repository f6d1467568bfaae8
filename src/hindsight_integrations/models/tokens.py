"""Offline token counting: tiktoken's cl100k from a local cache, or an estimate by characters."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_integrations.errors import MissingDependency
from hindsight_integrations.models.protocols import TokenCounter
from hindsight_integrations.models.weights import Once, environment, file_sha256, package_root

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "cl100k_base"
CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
# The hash is checked first, because tiktoken deletes and downloads a file with other content.
CACHE_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
CACHE_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# path within llama-index-core's part of the llama_index namespace
BUNDLED_CACHE = "core/_static/tiktoken_cache"

CHARACTERS_PER_TOKEN = 4  # overestimates English text (205 for 161 tokens), so that budgets are not exceeded

_one_at_a_time = threading.Lock()


def cl100k_folder() -> Path | None:
    """Return a folder with an intact cl100k table: TIKTOKEN_CACHE_DIR, else llama-index-core's; None if there is none."""
    named = os.environ.get(CACHE_VARIABLE)
    root = package_root("llama_index", f"{BUNDLED_CACHE}/{CACHE_FILE}")
    folders = ([Path(named)] if named else []) + ([root / BUNDLED_CACHE] if root else [])
    for folder in folders:
        table = folder / CACHE_FILE
        if table.is_file() and file_sha256(table) == CACHE_SHA256:
            return folder
    return None


class TiktokenCounter:
    """Counts cl100k tokens. Loads the table on first use (0.7 s); thread-safe; never uses the network.

    Raises:
        MissingDependency: tiktoken is not installed, or no local cache contains the table.
    """

    def __init__(self) -> None:
        folder = cl100k_folder()
        if importlib.util.find_spec("tiktoken") is None:
            raise MissingDependency("tiktoken", "pip install 'hindsight-integrations[openai]'")
        if folder is None:
            raise MissingDependency(
                "the cl100k token table",
                f"pip install llama-index-core (its wheel contains it), or set {CACHE_VARIABLE} to a folder with it.",
            )
        self._encoding = Once(lambda: _load(folder))

    @property
    def name(self) -> str:
        """The name of the encoding, which `doctor` shows."""
        return ENCODING

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; 0 for an empty one. Special-token literals count as plain text."""
        encoding = self._encoding()
        return [len(encoding.encode_ordinary(text)) for text in texts]


def _load(folder: Path) -> Encoding:
    import tiktoken

    with _one_at_a_time, environment({CACHE_VARIABLE: str(folder)}):
        return tiktoken.get_encoding(ENCODING)


class CharacterCounter:
    """Estimates tokens as ceil(characters / 4), without dependencies: too high for English, too low for Chinese."""

    @property
    def name(self) -> str:
        """The name of the estimate, which `doctor` shows."""
        return f"characters/{CHARACTERS_PER_TOKEN}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the estimated number of tokens of each text; 0 for an empty one."""
        return [-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts]


def default_token_counter() -> TokenCounter:
    """Return a cl100k counter if tiktoken and its table are available, else a character counter."""
    try:
        return TiktokenCounter()
    except MissingDependency:
        return CharacterCounter()
