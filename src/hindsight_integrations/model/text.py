"""Text as it may be stored: valid UTF-8 in NFC, without control characters. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata

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
