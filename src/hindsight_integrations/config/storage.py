"""Settings of the projections: which backends hold them, how many banks are open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hindsight_integrations.choices import as_choices
from hindsight_integrations.errors import InvalidRequest


class VectorBackend(StrEnum):
    """Which vector index serves."""

    CHROMA = "chroma"
    EXACT = "exact"


class KeywordBackend(StrEnum):
    """Which keyword index serves; AUTO takes Lucene where a JVM is installed, else FTS5."""

    AUTO = "auto"
    LUCENE = "lucene"
    FTS5 = "fts5"


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Which backends hold the projections.

    Attributes:
        open_banks: how many banks have their indexes open at once, at least 1; of others the least recently used is closed
            and opens again when it is next needed. A small open bank takes 3 MB and 8 files, a large one what its memories
            take (decision 094).
        server_directory: the data directory of an engine that Agent Server opens by itself (decision 155); `open` is always
            told one.
    """

    vectors: VectorBackend | str = VectorBackend.CHROMA
    keywords: KeywordBackend | str = KeywordBackend.AUTO
    reader_threads: int = 4
    open_banks: int = 64
    server_directory: Path = Path(".hindsight")

    def __post_init__(self) -> None:
        """Refuses a number of banks that could not serve one."""
        as_choices(self, vectors=VectorBackend, keywords=KeywordBackend)
        if self.open_banks < 1:
            raise InvalidRequest(
                "open_banks", f"{self.open_banks} banks cannot serve one", "Allow 1 or more."
            )
