"""Names in plain text, by rules: capitals, handles, acronyms and names already known. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedEntity
from hindsight_integrations.text.capitalised_names import Span, inside_words, spans
from hindsight_integrations.text.capitalised_nouns import names_seen, noun_spans
from hindsight_integrations.text.language import NEVER, Language, NameWords
from hindsight_integrations.text.which_language import language_of

_HANDLE = re.compile(r"(?<![\w@])@[A-Za-z0-9_](?:[\w.-]*\w)?")
_LETTERS = re.compile(r"\b[^\W\d_]+\b")
_ACRONYM = re.compile(r"(?<![\w@#-])[A-Z]{2,6}(?![\w-])")


class NameSpotter:
    """Finds the names in the texts of one conversation or document.

    A single capitalised word that begins a sentence counts only if the same word is capitalised inside a sentence
    elsewhere in these texts, or is a speaker's or a known name.
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        people: Iterable[str],
        aliases: Iterable[str],
        languages: Sequence[Language],
    ) -> None:
        self._people = frozenset(name.casefold() for name in people)
        self._languages = languages
        known = [name for name in (*people, *aliases) if name.strip()]
        self._known = _known_pattern(aliases)
        self._small = {word for text in texts for word in _LETTERS.findall(text) if word.islower()}
        inside = {part for text in texts for part in _certain(text, self._language(text).names)}
        self._seen = inside | {part.casefold() for name in known for part in name.split()}

    def names_in(self, text: str) -> list[ExtractedEntity]:
        """The names of a text in order of appearance, each once however its case varies."""
        language = self._language(text)
        capitals = self._capitals(text, language.names)
        acronyms = _acronyms(text, language.names.shouted)
        found = sorted([*_matches(self._known, text), *_matches(_HANDLE, text), *acronyms, *capitals])
        names: dict[str, str] = {}
        covered = -1
        for start, negative_length, name in found:
            if start >= covered:
                names.setdefault(name.casefold(), name)
                covered = start - negative_length
        return [ExtractedEntity(text=name, type=self._type(name, language)) for name in names.values()]

    def _language(self, text: str) -> Language:
        return language_of(text, self._languages)

    def _capitals(self, text: str, names: NameWords) -> Iterator[Span]:
        if names.nouns:
            return noun_spans(text, self._seen, names, names.nouns)
        return spans(text, self._seen, self._small, names)

    def _type(self, name: str, language: Language) -> EntityType:
        if name.casefold() in self._people:
            return EntityType.PERSON
        organisation = language.names.organisation.search(name)
        return EntityType.ORGANIZATION if organisation else EntityType.OTHER


def _certain(text: str, names: NameWords) -> Iterator[str]:
    """Case-folded words of a text that name something wherever they stand."""
    return names_seen(text, names, names.nouns) if names.nouns else inside_words(text, names)


def _known_pattern(aliases: Iterable[str]) -> re.Pattern[str]:
    names = sorted({name.strip() for name in aliases if name.strip()}, key=len, reverse=True)
    if not names:
        return NEVER
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        yield match.start(), -len(match[0]), match[0]


def _acronyms(text: str, shouted: frozenset[str]) -> Iterator[Span]:
    """Words of two to six capitals; several in a row, or most of a text in capitals, are shouting."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter.isupper() for letter in letters) * 2 > len(letters) and len(letters) > 6:
        return
    for match in _ACRONYM.finditer(text):
        neighbour = re.match(r"\s+[A-Z]{2,}\b", text[match.end() : match.end() + 12])
        before = re.search(r"\b[A-Z]{2,}\s+$", text[max(0, match.start() - 12) : match.start()])
        if match[0] not in shouted and not neighbour and not before:
            yield match.start(), -len(match[0]), match[0]
