"""Names in plain English text, by rules: capitals, handles, acronyms and names already known. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedEntity

_WORD = r"[A-Z][^\W\d_]*(?:['\u2019-][^\W_]+)*(?:[0-9]+)?"
_JOINED = re.compile(rf"(?<![\w@#/]){_WORD}(?:(?: |(?: of the | of | de | van | von | & )){_WORD})*(?![\w@])")
_HANDLE = re.compile(r"(?<![\w@])@[A-Za-z0-9_](?:[\w.-]*\w)?")
_ACRONYM = re.compile(r"(?<![\w@#-])[A-Z]{2,6}(?![\w-])")
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:\u2026\u2014][\"')\u201d\u2019]*\s|\n|[-*\u2022]\s)[\s\"'(\u201c\u2018*-]*$"
)
_AFTER_TITLE = re.compile(r"\b(?:Mrs?|Ms|Dr|Prof|St)\.\s$")
_VERB = re.compile(r"[A-Z][a-z]{2,}ed|[A-Z][a-z]{3,}ing")  # "Visited Paris": the verb is no part of the name
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "professor", "sir", "miss"})
_POSSESSIVE = re.compile(r"['\u2019]s?$")

# Capitalised without being names: time words, greetings, interjections and what English sentences begin with.
_COMMON_WORDS = """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays today yesterday
    tomorrow tonight spring summer autumn winter fall last next this that these those i i'm i've i'd i'll im ive
    hi hey hello bye goodbye thanks thank congrats congratulations cheers welcome sorry please yes yeah yep yup no nope
    ok okay oh ah aw aww wow whoa yay haha hah ha lol omg hmm hm ugh phew oops sure great good nice cool awesome amazing
    wonderful lovely perfect fantastic absolutely definitely exactly totally really right well so and but or nor yet
    the a an my your his her its our their he she it we you they me him them us who what when where why which how whose
    is are was were am be been being do does did done have has had can could will would shall should may might must
    let let's there here then now soon later once after before since until while if because although though as at by for
    from in into of off on onto out over to under up with without about above across against along around between during
    not never always often sometimes usually maybe perhaps also too just only even still again already almost some any
    all both each every few many more most much other another such own same one two three four five six seven eight nine
    ten first second third finally actually honestly anyway however meanwhile luckily sadly hopefully unfortunately
    speaking looking hope glad happy merry remember guess think got get go going come see look take make keep try wish
    love like need want feel sounds sound dear mom mum dad everyone everybody someone something nothing anything god
    christmas easter halloween thanksgiving
"""
_NO_NAMES = frozenset(_COMMON_WORDS.split())
_COMMON_CAPITALS = "OK LOL OMG WOW YES NO NOT HA AM PM FYI BTW IMO IMHO TBH ASAP PS RSVP AND THE BUT SO IT IS MY YOU ALL VERY"
_SHOUTED = frozenset(_COMMON_CAPITALS.split())
_ORGANISATION = re.compile(
    r"\b(?:Inc|Ltd|LLC|Corp|Corporation|GmbH|Company|University|College|Institute|Foundation|Hospital|School|Council"
    r"|Association|Society|Bank)\b"
)


class NameSpotter:
    """Finds the names in the texts of one conversation or document.

    A single capitalised word that begins a sentence counts only if the same word is capitalised inside a sentence
    elsewhere in these texts, or is a speaker's or a known name.
    """

    def __init__(self, texts: Sequence[str], *, people: Iterable[str], aliases: Iterable[str]) -> None:
        self._people = frozenset(name.casefold() for name in people)
        known = [name for name in (*people, *aliases) if name.strip()]
        self._known = _known_pattern(aliases)
        self._small = {word for text in texts for word in re.findall(r"\b[a-z]+\b", text)}
        inside = {part for text in texts for part in _inside_words(text)}
        self._seen = inside | {part.casefold() for name in known for part in name.split()}

    def names_in(self, text: str) -> list[ExtractedEntity]:
        """The names of a text in order of appearance, each once however its case varies."""
        found = sorted([*self._known_names(text), *_handles(text), *_acronyms(text), *self._capitals(text)])
        names: dict[str, str] = {}
        covered = -1
        for start, negative_length, name in found:
            if start >= covered:
                names.setdefault(name.casefold(), name)
                covered = start - negative_length
        return [ExtractedEntity(text=name, type=self._type(name)) for name in names.values()]

    def _type(self, name: str) -> EntityType:
        if name.casefold() in self._people:
            return EntityType.PERSON
        return EntityType.ORGANIZATION if _ORGANISATION.search(name) else EntityType.OTHER

    def _known_names(self, text: str) -> Iterator[tuple[int, int, str]]:
        if self._known:
            for match in self._known.finditer(text):
                yield match.start(), -len(match[0]), match[0]

    def _capitals(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in _JOINED.finditer(text):
            words = _trimmed(match[0].split(" "))
            if words and _begins_sentence(text, match) and not self._credible(words, match[0]):
                words = _trimmed(words[1:])
            name = _POSSESSIVE.sub("", " ".join(words))
            if name and not name.isupper():
                start = match.start() + match[0].index(words[0])
                yield start, -len(name), name

    def _credible(self, words: Sequence[str], phrase: str) -> bool:
        """Whether the first word of a sentence belongs to a name: seen inside one, or leading a longer name."""
        if not phrase.startswith(words[0]):
            return True
        first = _POSSESSIVE.sub("", words[0]).casefold()
        leads = len(words) > 1 and first not in self._small and not _VERB.fullmatch(words[0])
        return first in self._seen or leads


def _known_pattern(aliases: Iterable[str]) -> re.Pattern[str] | None:
    names = sorted({name.strip() for name in aliases if name.strip()}, key=len, reverse=True)
    if not names:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)


def _inside_words(text: str) -> Iterator[str]:
    """Capitalised words that stand inside sentences, case-folded."""
    for match in _JOINED.finditer(text):
        words = match[0].split(" ")
        for word in words[1:] if _begins_sentence(text, match) else words:
            plain = _POSSESSIVE.sub("", word).casefold()
            if plain not in _NO_NAMES:
                yield plain


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 8) : match.start()]
    return _SENTENCE_START.search(before) is not None and not _AFTER_TITLE.search(before)


def _trimmed(words: list[str]) -> list[str]:
    """The words without non-names, titles and connectors at either end."""
    while words and _is_no_name(words[0]):
        words = words[1:]
    while words and _is_no_name(words[-1]):
        words = words[:-1]
    return words


def _is_no_name(word: str) -> bool:
    plain = word.casefold().replace("\u2019", "'")
    return plain in _NO_NAMES or _POSSESSIVE.sub("", plain) in _NO_NAMES | _TITLES or not plain[:1].isalpha()


def _handles(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _HANDLE.finditer(text):
        yield match.start(), -len(match[0]), match[0]


def _acronyms(text: str) -> Iterator[tuple[int, int, str]]:
    """Words of two to six capitals; several in a row, or most of a text in capitals, are shouting."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter.isupper() for letter in letters) * 2 > len(letters) and len(letters) > 6:
        return
    for match in _ACRONYM.finditer(text):
        neighbour = re.match(r"\s+[A-Z]{2,}\b", text[match.end() : match.end() + 12])
        before = re.search(r"\b[A-Z]{2,}\s+$", text[max(0, match.start() - 12) : match.start()])
        if match[0] not in _SHOUTED and not neighbour and not before:
            yield match.start(), -len(match[0]), match[0]
