"""Whole names in texts: forgetting a name must erase what bears that name, and nothing that bears a longer one.

"Apollo 2", "Henry VIII" and "Anna-Maria" are other names than Apollo, Henry and Anna; "I owe Anna 20 euros" is about Anna. So a
number behind a name belongs to the name unless it counts something: a currency, or a lower-case word that is no function word. Where a
sentence begins with the name, it is the subject, and nothing is counted: "Apollo 2 ships in May". A capital behind the
name makes it longer as well: "Anna Schmidt", "Berlin Wall", "Sam's Club".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cached_property

from hindsight_integrations.model.names import ALSO_WORDS

_NUMBER = (
    r"(?P<number>(?:\s|\s?#\s?|\s(?:no|nr|v)\.?\s?)(?:\d+(?:\.\d+)*|(?-i:[IVXL]{2,5}|[VX]))(?!\w)(?!\s?[%$\u20ac\u00a3])(?![:.,]\d))"
    r"(?P<after>\s+[^\W\d_]+)?"
)
_UNCASED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
"""Scripts in which words stand together without blanks."""

_BEGINS = re.compile(
    r"(?:^|[.!?…:]\s|^\S{1,40}:\s)[\"'(\u201c]*$"
)  # verbatim memories begin with the speaker
_FOLLOWING = re.compile(r"(?:['\u2019]s)?\s(?:(?:de|del|la|le|van|von|di|da)\s)*([^\W\d_a-zà-öø-ÿ][\w-]*)")
_GERMAN = re.compile(
    r"\b(?:ich|der|die|das|und|ist|nicht|habe|hat|mit|den|dem|ein|eine|war|zu|auf)\b", re.IGNORECASE
)
_NO_NAMES = frozenset(
    [
        "i", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april",
        "may", "june", "july", "august", "september", "october", "november", "december",
    ]
)  # fmt: skip

_FUNCTION_WORDS = frozenset(
    [
        "a", "aber", "after", "al", "all", "als", "also", "am", "an", "and", "are", "arrived", "as", "at", "auf",
        "aus", "be", "became", "been", "before", "bei", "bis", "but", "by", "came", "can", "como", "con", "could",
        "cuando", "da", "das", "de", "del", "dem", "den", "der", "des", "desde", "did", "die", "does", "donde",
        "ein", "eine", "el", "ella", "en", "er", "era", "eran", "es", "esa", "ese", "esta", "este", "está", "for",
        "from", "fue", "fueron", "für", "got", "ha", "had", "han", "has", "hasta", "hat", "hatte", "have", "hay",
        "he", "her", "heute", "his", "ich", "if", "im", "in", "into", "is", "ist", "it", "its", "kam", "kann", "la",
        "las", "le", "left", "lo", "los", "may", "me", "mein", "mi", "might", "mit", "must", "my", "más", "nach",
        "needs", "new", "nicht", "no", "noch", "nos", "not", "now", "nun", "o", "oder", "of", "off", "on", "or",
        "our", "out", "over", "para", "pero", "por", "que", "schon", "se", "seit", "ser", "shall", "she", "should",
        "si", "sie", "sin", "since", "sind", "so", "sobre", "son", "started", "starts", "still", "su", "sus",
        "también", "than", "that", "the", "their", "then", "there", "they", "this", "tiene", "to", "too", "um",
        "un", "una", "und", "until", "up", "vom", "von", "vor", "war", "waren", "was", "we", "wegen", "wenn", "wer",
        "were", "when", "where", "which", "while", "who", "wie", "will", "wir", "wird", "with", "wo", "would",
        "wurde", "y", "ya", "yo", "you", "your", "zu", "zum", "zur",
    ]
)  # fmt: skip
"""Words that cannot be counted: behind "Apollo 2" they leave the number to the name."""


class WholeNames:
    """Finds names in texts.

    Args:
        names: normalised (`normalise_name`).
        texts: of the bank; longer names that these tell for certain count as such everywhere ("Apollo 2 launches").
    """

    def __init__(self, names: Collection[str], texts: Iterable[str] = ()) -> None:
        self._names = sorted(filter(None, names), key=len, reverse=True)
        self._longer = {longer for text in texts for longer in self._told_longer(text)}

    def __bool__(self) -> bool:
        return bool(self._names)

    def stand_in(self, text: str) -> bool:
        """Whether one of the names stands in a text, whole and not inside a longer one."""
        return any(self._whole(match) for match in self._matches(text))

    def only_inside_longer(self, text: str) -> bool:
        """Whether the names stand in a text, and nowhere but inside longer ones."""
        found = list(self._matches(text))
        return bool(found) and not any(map(self._whole, found))

    def _whole(self, match: re.Match[str]) -> bool:
        if match["name"].casefold() in ALSO_WORDS and not match["name"][0].isupper():
            return False
        if _goes_on(match):
            return False
        return not match["number"] or not (_is_part(match) or _spelled(match) in self._longer)

    def _told_longer(self, text: str) -> Iterable[str]:
        return [_spelled(match) for match in self._matches(text) if match["number"] and _is_part(match)]

    def _matches(self, text: str) -> Iterable[re.Match[str]]:
        if not self._names:
            return ()
        return self._pattern.finditer(" ".join(unicodedata.normalize("NFKC", text).split()))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        alternatives = "|".join(map(_bounded, self._names))
        return re.compile(rf"(?P<name>{alternatives})(?:{_NUMBER})?", re.IGNORECASE)


def looks_like_a_name(text: str) -> bool:
    """Whether what was given can be meant as a name: it has a capital, a digit, or letters of a script without capitals."""
    return any(letter.isupper() or letter.isdigit() for letter in text) or _UNCASED.search(text) is not None


def _bounded(name: str) -> str:
    written = re.escape(name)
    return written if _UNCASED.search(name) else rf"(?<![\w-]){written}(?!\w|-[^\W_])"


def _is_part(match: re.Match[str]) -> bool:
    """Whether the number behind a name belongs to it: what follows does not say of what it is the number."""
    if match["name"][-1].isdigit():
        return False
    if _begins(match):
        return True
    after = (match["after"] or "").strip()
    return not after or not after.islower() or after in _FUNCTION_WORDS


def _goes_on(match: re.Match[str]) -> bool:
    """Whether a capitalised word follows that makes the name longer. In German any noun has a capital, so there only a subject's counts."""
    following = _FOLLOWING.match(match.string, match.end("name"))
    if following is None or match["name"].islower() or following[1].casefold() in _NO_NAMES:
        return False
    return not _GERMAN.search(match.string) or _begins(match)


def _begins(match: re.Match[str]) -> bool:
    return _BEGINS.search(match.string, 0, match.start()) is not None


def _spelled(match: re.Match[str]) -> str:
    return " ".join(f"{match['name']}{match['number']}".casefold().split())
