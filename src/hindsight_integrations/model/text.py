"""Text as it may be stored: valid UTF-8 in NFC, without control characters. Pure."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import as_utc


@dataclass(frozen=True, slots=True)
class StoredSnippet:
    """What the task of a merge keeps. Data directories hold it as JSON: the names of its fields stay as they are.

    An erasure knows it by its thread and sources, or by its document, and takes the task with it.

    Attributes:
        text: as it was said.
        said_at: when (aware UTC).
        thread: the conversation, or the document's own.
        sources: id of the message; none for a document.
        document: id of the document; empty for a message.
    """

    text: str
    said_at: datetime
    thread: str = ""
    sources: tuple[str, ...] = ()
    document: str = ""

    def dumped(self) -> str:
        """As the payload of a task."""
        fields: dict[str, object] = {
            "text": self.text,
            "said_at": self.said_at.isoformat(),
            "thread": self.thread,
            "sources": [*self.sources],
        }
        return json.dumps(fields | ({"document": self.document} if self.document else {}), ensure_ascii=False)


def stored_snippet(payload: str, task: int) -> StoredSnippet:
    """What the payload of a task keeps.

    Raises:
        InvalidRequest: it is damaged.
    """
    try:
        fields = json.loads(payload)
        text, said_at = fields["text"], datetime.fromisoformat(fields["said_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            f"task {task}", "its payload cannot be read", "Retain the input again."
        ) from error
    if not isinstance(text, str):
        raise InvalidRequest(f"task {task}", "its payload holds no text", "Retain the input again.")
    return StoredSnippet(text, as_utc(said_at))


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` in NFC, without control characters (newline and tab stay); lone surrogates become U+FFFD.

    Such characters cannot be stored as UTF-8 or make tokenizers fail, and carry no meaning worth refusing the text for.
    """
    if text.isascii() and not _CONTROL.search(text):
        return text.strip()
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", _CONTROL.sub("", _SURROGATE.sub("\ufffd", repaired))).strip()


def is_storable(text: str) -> bool:
    """Whether a text has neither control characters (newline and tab aside) nor lone surrogates."""
    return not (_CONTROL.search(text) or _SURROGATE.search(text))


def normalised_text(text: str) -> str:
    """Text as it counts for identity: compatibility-normalised, case-folded, single-spaced."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def folded_text(text: str) -> str:
    """Text as exact words are looked for: as `normalised_text`, and without diacritics."""
    if text.isascii():  # most are, and every turn of a bank may be looked at
        return " ".join(text.lower().split())
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(bare.casefold().split())


def content_hash(*parts: str) -> str:
    """A hash over texts, unambiguous about where one ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.encode())
    return digest.hexdigest()
