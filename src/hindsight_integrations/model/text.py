"""Text normalisation: cleaning for storage, folding for comparison, removal of a model's reasoning, and hashing."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import as_utc

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` in NFC without control characters (newline and tab stay); lone surrogates become U+FFFD.

    Lone surrogates cannot be stored as UTF-8, and control characters break tokenizers. Removing them is better than rejecting
    the text.
    """
    if text.isascii() and not _CONTROL.search(text):
        return text.strip()
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", _CONTROL.sub("", _SURROGATE.sub("\ufffd", repaired))).strip()


def is_storable(text: str) -> bool:
    """Return whether a text has no control characters (except newline and tab) and no lone surrogates."""
    return not (_CONTROL.search(text) or _SURROGATE.search(text))


def normalised_text(text: str) -> str:
    """Normalise a text for comparison: NFKC, case-folded, single-spaced."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def folded_text(text: str) -> str:
    """Normalise a text for exact word search: like `normalised_text`, but without diacritics."""
    if text.isascii():  # fast path for most texts, because a search may fold every turn of a bank
        return " ".join(text.lower().split())
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(bare.casefold().split())


def content_hash(*parts: str) -> str:
    """Hash several texts together with their lengths, so that different splits of a text have different hashes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.encode())
    return digest.hexdigest()


_TAG = r"(?:think|thinking|thought|reasoning|reflection|scratchpad)"
_CLOSED = re.compile(rf"(?<!`)<({_TAG})>.*?</\1>(?!`(?!``))", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(rf"^(?:(?!<{_TAG}>).)*?(?<!`)</{_TAG}>(?!`(?!``))", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(rf"^\s*<{_TAG}>.*$", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(
    r"<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:end|return|start|channel)\|>|$)",
    re.DOTALL,
)
_CHANNEL = "<|channel|>"


def without_reasoning(text: str) -> str:
    """Remove a model's reasoning from its answer; return "" if the answer is reasoning only.

    This removes closed reasoning blocks, an unclosed block at the start of the text, all text before a closing tag without an
    opening one, and all channels of OpenAI's harmony format except the final one. Tags in single backticks are kept.

    Args:
        text: the model's answer.
    """
    if _CHANNEL in text:
        return "\n".join(answer.strip() for answer in _FINAL.findall(text)).strip()
    if "<" not in text:
        return text
    answer = _CLOSED.sub("", text)
    answer = _UNCLOSED.sub("", _UNOPENED.sub("", answer, count=1))
    return answer.strip() if answer != text else text


@dataclass(frozen=True, slots=True)
class StoredSnippet:
    """The payload of a background merge. It is stored as JSON in data directories, so its fields must not be renamed.

    An erasure finds the task by thread and sources, or by document, and deletes it.

    Attributes:
        text: the text about the agent.
        said_at: the time of the text (aware UTC).
        thread: the id of the conversation, or the document's thread.
        sources: the id of the message; empty for a document.
        document: the id of the document; empty for a message.
    """

    text: str
    said_at: datetime
    thread: str = ""
    sources: tuple[str, ...] = ()
    document: str = ""

    def dumped(self) -> str:
        """Serialise the snippet as a task payload."""
        fields: dict[str, object] = {
            "text": self.text,
            "said_at": self.said_at.isoformat(),
            "thread": self.thread,
            "sources": [*self.sources],
        }
        return json.dumps(fields | ({"document": self.document} if self.document else {}), ensure_ascii=False)


def stored_snippet(payload: str, task: int) -> StoredSnippet:
    """Parse the payload of a background merge; thread, sources and document are not needed and stay empty.

    Raises:
        InvalidRequest: the payload is damaged.
    """
    try:
        fields = json.loads(payload)
        text, said_at = fields["text"], datetime.fromisoformat(fields["said_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"task {task}", "the payload is damaged", "Retain the input again.") from error
    if not isinstance(text, str):
        raise InvalidRequest(f"task {task}", "the payload contains no text", "Retain the input again.")
    return StoredSnippet(text, as_utc(said_at))
