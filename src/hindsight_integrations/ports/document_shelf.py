"""DocumentShelf: what the ledger holds of documents and messages, and which units stand on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations.model.writes import ChunkWrite
from hindsight_integrations.ports.arrays import IntArray


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as last retained.

    Attributes:
        id: the caller's (or the text's own) id.
        content_hash: hash of its text.
        chunks: its passages in order; their texts, one after the other, are its text.
        next_ordinal: an ordinal no chunk of it ever had.
    """

    id: str
    content_hash: str
    chunks: tuple[ChunkWrite, ...]
    next_ordinal: int

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(chunk.text for chunk in self.chunks)


class DocumentShelf(Protocol):
    """Documents, and the way from a chunk or a message to the units made from it."""

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """A document and its present chunks, in order; None if it was never retained."""
        ...

    def units_of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Row ids of the valid units made from these chunks of a document, ascending."""
        ...

    def units_of_messages(self, bank: str, messages: Sequence[tuple[str, str]]) -> IntArray:
        """Row ids of the valid units with one of these (thread, message id) among their sources, ascending."""
        ...
