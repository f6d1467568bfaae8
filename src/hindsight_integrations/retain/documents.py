"""Compare a document with its stored version to determine its known, new and removed passages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.ledger.values import StoredDocument
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, DocumentWrite
from hindsight_integrations.validation.intake import DocumentIntake

Cut = Callable[[str], Sequence[str]]
"""A function that cuts a text into passages; their concatenation is the text."""


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """The changes that retaining a document makes.

    Attributes:
        write: the document's row; its hash covers the whole text, which with `append` includes the stored text.
        basis: the content hash of the stored version that was compared; None for a new document.
        fresh: the new passages to extract, with new ordinals.
        moved: the known passages with a new position.
        removed: the passages that are no longer part of the document.
    """

    write: DocumentWrite
    basis: str | None
    fresh: tuple[ChunkWrite, ...]
    moved: tuple[ChunkWrite, ...] = ()
    removed: tuple[ChunkWrite, ...] = ()

    @property
    def chunks(self) -> tuple[ChunkWrite, ...]:
        """The rows of all passages that change."""
        return (*self.fresh, *self.moved, *self.removed)

    @property
    def unread(self) -> tuple[ChunkWrite, ...]:
        """The new passages that are not blank."""
        return tuple(chunk for chunk in self.fresh if chunk.text.strip())


def plan_document(
    document: DocumentIntake,
    stored: StoredDocument | None,
    cut: Cut | None,
    *,
    context: str = "",
    tags: tuple[str, ...] = (),
) -> DocumentPlan:
    """Compare a document with its stored version.

    Stored passages are located in the new text, and only the text between them is cut, so that a sentence added at the
    top does not move the boundaries of all later passages.

    Args:
        document: the new version, or the text to append.
        stored: the version in the ledger; None for a new document.
        cut: the function that cuts passages; None for facts that the caller extracted, which have no passage.
        context: the description of the source, for the document's row.
        tags: the visibility tags, for the document's row.
    """
    known = stored.chunks if stored else ()
    text = _appended(stored, document.text) if document.append and stored else document.text
    places = {} if cut is None and not document.append else _places(text, known)
    pieces = _pieces(text, places, cut or (lambda whole: [whole]))
    ordinal = stored.next_ordinal if stored else 0
    fresh: list[ChunkWrite] = []
    moved: list[ChunkWrite] = []
    for position, piece in enumerate(pieces):
        if isinstance(piece, str):
            fresh.append(
                ChunkWrite(document.id, ordinal + len(fresh), piece, content_hash(piece), position=position)
            )
        elif piece.position != position:
            moved.append(replace(piece, position=position))
    kept = {chunk.ordinal for chunk in places.values()}
    write = DocumentWrite(
        id=document.id,
        content_hash=content_hash(text),
        context=context,
        mentioned_at=document.mentioned_at,
        metadata=document.metadata,
        tags=tags,
    )
    return DocumentPlan(
        write=write,
        basis=stored.content_hash if stored else None,
        fresh=tuple(fresh),
        moved=tuple(moved),
        removed=tuple(replace(chunk, position=NOWHERE) for chunk in known if chunk.ordinal not in kept),
    )


def _appended(stored: StoredDocument, text: str) -> str:
    before = stored.text
    return before + text if before.endswith("\n") else f"{before}\n{text}"


def _places(text: str, chunks: Sequence[ChunkWrite]) -> dict[int, ChunkWrite]:
    """Locate the stored passages in the text: first those in their old order, then moved ones."""
    places: dict[int, ChunkWrite] = {}
    cursor = 0
    missing = []
    for chunk in (chunk for chunk in chunks if chunk.text):  # erased passages have no text
        at = _find(text, chunk.text, cursor, ())
        if at < 0:
            missing.append(chunk)
            continue
        places[at] = chunk
        cursor = at + len(chunk.text)
    for chunk in missing:
        at = _find(text, chunk.text, 0, places.items())
        if at >= 0:
            places[at] = chunk
    return places


def _find(text: str, passage: str, start: int, taken: Iterable[tuple[int, ChunkWrite]]) -> int:
    """Return the position of the passage's first occurrence at or after `start`; -1 if there is none.

    Occurrences that begin or end inside a word, or overlap a passage in `taken`, do not count.
    """
    at = text.find(passage, start)
    while at >= 0:
        end = at + len(passage)
        free = all(end <= first or at >= first + len(chunk.text) for first, chunk in taken)
        if free and _is_break(text, at) and _is_break(text, end):
            return at
        at = text.find(passage, at + 1)
    return -1


def _is_break(text: str, at: int) -> bool:
    """Return whether a position is not inside a word, so that a passage may begin or end there."""
    return at in (0, len(text)) or not (text[at - 1].isalnum() and text[at].isalnum())


def _pieces(text: str, places: dict[int, ChunkWrite], cut: Cut) -> list[str | ChunkWrite]:
    """Return the known passages and the pieces of text between them, in order; their concatenation is the text."""
    pieces: list[str | ChunkWrite] = []
    cursor = 0
    for at in sorted(places):
        pieces += _cut_gap(text[cursor:at], cut)
        pieces.append(places[at])
        cursor = at + len(places[at].text)
    return [*pieces, *_cut_gap(text[cursor:], cut)]


def _cut_gap(text: str, cut: Cut) -> list[str]:
    return list(cut(text)) if text else []
