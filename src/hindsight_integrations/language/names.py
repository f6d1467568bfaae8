"""Names: similarity of two names (paper eq. 2), finding names in texts, and quoted titles."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rapidfuzz.distance import Levenshtein

from hindsight_integrations.language.language import NEVER, Language, NameWords, NounWords, language_of
from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedEntity

TITLE = re.compile(r"(?<!\w)(['\"\u2018\u201c\u201e\u00ab])(.+?)(['\"\u2019\u201d\u201c\u00bb])(?!\w)")
_HIDDEN = re.compile(r"\x00(\d+)\x00")


def titles(text: str) -> list[str]:
    """Return the quoted titles of a text, without quotes."""
    return [match.group(2) for match in TITLE.finditer(text)]


def hidden(text: str) -> tuple[str, list[str]]:
    """Replace the quoted titles of a text by marks; return the text and the titles with their quotes."""
    found: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found.append(match.group())
        return f"\x00{len(found) - 1}\x00"

    return TITLE.sub(hide, text), found


def shown(text: str, quoted: list[str]) -> str:
    """Put the titles back into a text, or part of a text, in which `hidden` replaced them."""
    return _HIDDEN.sub(lambda match: f" {quoted[int(match.group(1))]} ", text)


USER_NAMES = frozenset({"user", "the user", "human", "me", "i", "myself"})
AGENT_NAMES = frozenset({"assistant", "the assistant", "ai", "ai assistant", "agent", "the agent", "bot"})

LONGEST_NAME = 4  # maximum number of words of an entity name that is searched in a text
ONE_EDIT_LETTERS = 5  # minimum number of letters of names that may differ by one edit; chosen by hand

_WORD = re.compile(r"[\w.&'\u2019-]+")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_DIGITS = re.compile(r"\d+")
_VAGUE = frozenset({EntityType.OTHER, EntityType.CONCEPT, EntityType.PRODUCT})


def compatible(first: EntityType, second: EntityType) -> bool:
    """Return whether two mentions may be one entity by type: equal, one unknown, or types that models often confuse.

    ORGANIZATION is compatible with neither PRODUCT nor CONCEPT, so Apple the company and apple the fruit stay separate.
    """
    return first == second or EntityType.OTHER in (first, second) or {first, second} <= _VAGUE


def same_numbers(first: str, second: str) -> bool:
    """Return whether both names contain the same numbers: Room 101 is not Room 102, UA123 not UA124."""
    return sorted(_DIGITS.findall(first)) == sorted(_DIGITS.findall(second))


def one_edit_apart(first: str, second: str) -> bool:
    """Return whether two names of at least five letters differ by at most one edit and share the first letter."""
    short, long = sorted((first, second), key=len)
    if len(short) < ONE_EDIT_LETTERS or short[:1] != long[:1]:
        return False
    return Levenshtein.distance(short, long, score_cutoff=1) <= 1


def contains_name(first: str, second: str) -> bool:
    """Return whether one name is a shorter form of the other: Alice / Alice Chen / Alice C.

    Tokens are compared from the given name on; an initial matches a token that starts with it. Names with a possessive
    ("Melanie's kids") never match, because they denote somebody else.
    """
    short, long = sorted((first.split(), second.split()), key=len)
    if not short or any(_POSSESSIVE.search(token) for token in (*short, *long)):
        return False
    return all(_token_fits(a, b) for a, b in zip(short, long, strict=False))


def _token_fits(first: str, second: str) -> bool:
    if first == second:
        return True
    short, long = sorted((first.rstrip("."), second.rstrip(".")), key=len)
    return len(short) == 1 and long.startswith(short)


def name_similarity(first: str, second: str) -> float:
    """Compute sim_str of paper eq. 2: normalised Levenshtein similarity in [0, 1]; 1 for a shorter form of the same name."""
    return 1.0 if contains_name(first, second) else Levenshtein.normalized_similarity(first, second)


def possible_names(text: str, languages: Sequence[Language]) -> list[str]:
    """Return the word sequences of a text that could name an entity, with and without a possessive ending ("Annas").

    Args:
        text: the text to search.
        languages: its possible languages.
    """
    words = [word.strip(".'\u2019-") for word in _WORD.findall(text)]
    spans = [
        " ".join(words[i : i + n]) for n in range(1, LONGEST_NAME + 1) for i in range(len(words) - n + 1)
    ]
    owners = [language.names.possessive.sub("", span) for language in languages for span in spans]
    return [name for name in dict.fromkeys([*spans, *owners]) if name.strip()]


_TOKEN = re.compile(r"[\w][\w./&@+'\u2019-]*[\w]|\w")
# maximum letters of an abbreviation: "Dr. Sommer" is one name; "... Bo. Key points" is two sentences
_ABBREVIATED = 3
_OWNER = re.compile(r"['\u2019]s?$")


def designations(text: str, language: Language) -> list[tuple[str, ...]]:
    """Return quoted titles, then runs of capitalised words and numbers, as case-folded tokens."""
    found = [tuple(match.group(2).casefold().split()) for match in TITLE.finditer(text)]
    bare = TITLE.sub(" , ", text)
    run: list[str] = []
    end = 0
    for match in _TOKEN.finditer(bare):
        word = _OWNER.sub("", match.group())
        named = word[:1].isupper() or (bool(run) and word[:1].isdigit())
        between = bare[end : match.start()].strip()
        adjoins = not between or (between == "." and bool(run) and len(run[-1]) <= _ABBREVIATED)
        if run and not (named and adjoins):
            found.append(tuple(run))
            run = []
        if named and (run or word.casefold() not in language.stop_words | USER_NAMES):
            run.append(word.casefold())
        if run and word != match.group():
            found.append(tuple(run))
            run = []
        end = match.end()
    return [*found, tuple(run)] if run else found


NameSpan = tuple[int, int, str]  # (start, negative length, name): sorts longer names first

# Latin, Greek, Cyrillic.
CAPITAL = f"[{''.join(letter for letter in map(chr, range(0x530)) if letter.isupper())}]"
WORD = rf"{CAPITAL}[^\W\d_]*(?:['\u2019-][^\W_]+)*(?:[0-9]+)?"
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:\u2026\u2014][\"')\u201d\u2019\u00bb]*\s|\n|[-*\u2022]\s)[\s\"'(\u201c\u2018\u201e\u00ab\u00bf\u00a1*-]*$"
    r"|[\u00bf\u00a1]$"
)


def spans(text: str, seen: Collection[str], small: Collection[str], names: NameWords) -> Iterator[NameSpan]:
    """Find the capitalised names in a text.

    Args:
        text: the text to search.
        seen: case-folded words known to be names from other texts.
        small: words that appear in lower case elsewhere.
        names: the name rules of the text's language.
    """
    for match in _joined(names).finditer(text):
        begins = begins_sentence(text, match, names)
        words = _trimmed(match[0].split(" "), names)
        if words and begins and match[0].startswith(words[0]):
            first = names.possessive.sub("", words[0]).casefold()
            leads = len(words) > 1 and first not in small and not names.verb.fullmatch(words[0])
            if first not in seen and not leads:
                words = _trimmed(words[1:], names)
        start = match[0].index(words[0]) if words else 0
        before = match[0][:start].split()[-1:]
        if before and before[0].casefold() in names.articles and not (begins and len(before[0]) + 1 == start):
            words, start = [*before, *words], start - len(before[0]) - 1
        name = names.possessive.sub("", " ".join(words))
        if name and not name.isupper():
            yield match.start() + start, -len(name), name


def inside_words(text: str, names: NameWords) -> Iterator[str]:
    """Yield capitalised words inside sentences, case-folded."""
    for match in _joined(names).finditer(text):
        words = match[0].split(" ")
        for word in words[1:] if begins_sentence(text, match, names) else words:
            plain = names.possessive.sub("", word).casefold()
            if plain not in names.no_names:
                yield plain


@cache
def _joined(names: NameWords) -> re.Pattern[str]:
    """Compile the pattern of consecutive capitalised words with connectors."""
    joints = "|".join((" ", *names.connectors))
    return re.compile(rf"(?<![\w@#/]){WORD}(?:(?:{joints}){WORD})*(?![\w@])")


@cache
def _after_title(names: NameWords) -> re.Pattern[str] | None:
    if not names.abbreviations:
        return None
    return re.compile(rf"\b(?:{'|'.join(names.abbreviations)})\.\s$")


def begins_sentence(text: str, match: re.Match[str], names: NameWords) -> bool:
    """Return whether a match is at the start of a sentence, where a capital letter does not indicate a name."""
    before = text[max(0, match.start() - 8) : match.start()]
    title = _after_title(names)
    return _SENTENCE_START.search(before) is not None and not (title and title.search(before))


def _trimmed(words: Sequence[str], names: NameWords) -> Sequence[str]:
    """Strip words that are not part of a name, such as titles, from both ends."""
    while words and _is_no_name(words[0], names):
        words = words[1:]
    while words and _is_no_name(words[-1], names):
        words = words[:-1]
    return words


def _is_no_name(word: str, names: NameWords) -> bool:
    plain = word.casefold().replace("\u2019", "'")
    owner = names.possessive.sub("", plain)
    return (
        plain in names.no_names or owner in names.no_names or owner in names.titles or not plain[:1].isalpha()
    )


_RUN = re.compile(rf"(?<![\w@#/])(?:St\. )?{WORD}(?: {WORD})*(?![\w@])")
_MIXED = re.compile(r"(?<![\w@#/.])[a-z]{1,2}[A-Z][a-z]\w*(?![\w@])")  # iPhone, eBay
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_BEFORE = re.compile(r"([^\W\d_]+)\.?[ \t]$")
_AFTER = re.compile(r" ([^\W\d_]+)")
_AND = re.compile(r"(?: und | oder | & |, )$")


# For languages that capitalise all nouns, where a capital letter is not enough to recognise a name.
@dataclass(frozen=True, slots=True)
class _Place:
    """Context of capitalised words: the word before (case-folded), the word after, and whether they start a sentence."""

    before: str
    after: str
    begins: bool
    joined: bool  # whether "und" or a comma connects the words to a preceding name


def noun_spans(text: str, seen: Collection[str], names: NameWords, nouns: NounWords) -> Iterator[NameSpan]:
    """Find the names in a text of a language that capitalises all nouns.

    A capitalised word needs other evidence: the word before it ("bei", "Frau", "Bruder", "heißt"), a singular
    verb after it (a noun would have an article), a second capitalised word, foreign letters, or a list of
    common names. Doubtful words are skipped, because a noun mistaken for a name would link half of the
    memories in a bank.

    Args:
        text: the text to search.
        seen: case-folded words known to be names from other texts.
        names: the name rules of the text's language.
        nouns: the noun rules of the text's language.
    """
    for match in _MIXED.finditer(text):
        yield match.start(), -len(match[0]), match[0]
    end, last = -1, ""  # end and last word of the previous name
    for match in _RUN.finditer(text):
        for at, phrase in _pieces(match, names, nouns, seen):
            if last in nouns.given_names and text[end:at] in nouns.of:
                start = text.rindex(" ", 0, end) + 1 if " " in text[:end] else 0
                name: str | None = text[start : at + len(phrase)]
            else:
                begins = at == match.start() and begins_sentence(text, match, names)
                place = _place(text, at, phrase, begins=begins, ended=end)
                name = _name_in(phrase, place, seen, names, nouns)
                start = at + phrase.index(name) if name else at
            if name is None:
                continue
            tail = nouns.tail.match(text, start + len(name))
            name += tail[0] if tail else ""
            end, last = start + len(name), name.split()[-1].casefold()
            yield start, -len(name), name


def names_seen(text: str, names: NameWords, nouns: NounWords) -> Iterator[str]:
    """Yield case-folded words that are certainly names: one-word names and the words of people's names."""
    for _, _, name in noun_spans(text, (), names, nouns):
        words = name.casefold().split()
        if len(words) == 1 or words[0] in nouns.given_names:
            yield from words


def _pieces(
    match: re.Match[str], names: NameWords, nouns: NounWords, seen: Collection[str]
) -> Iterator[tuple[int, str]]:
    """Split a run of capitalised words after an owner ("Annas Schwester"); drop leading words that are not names."""
    words = match[0].split(" ")
    at = match.start()
    while (
        words
        and _plain(words[0]) in names.no_names
        and not (len(words) > 1 and _plain(words[0]) in names.titles)
    ):
        at += len(words.pop(0)) + 1
    for index, word in enumerate(words[:-1]):
        owner = _owner(word, nouns, seen)
        if owner and _is_noun(_plain(words[index + 1]), nouns):
            yield at, " ".join(words[: index + 1])[: len(owner) - len(word)]
            at += len(" ".join(words[: index + 1])) + 1
            words = words[index + 1 :]
            break
    if words:
        yield at, " ".join(words)


def _owner(word: str, nouns: NounWords, seen: Collection[str]) -> str:
    """Return the owner in a possessive ("Anna" for "Annas"), or an empty string."""
    owner = word[:-1] if word.endswith("s") else ""
    known = owner.casefold() in nouns.given_names or owner.casefold() in seen
    return owner if known and word.casefold() not in nouns.given_names else ""


def _place(text: str, at: int, phrase: str, *, begins: bool, ended: int) -> _Place:
    before = _BEFORE.search(text[max(0, at - 30) : at])
    after = _AFTER.match(text, at + len(phrase))
    joined = ended >= 0 and _AND.fullmatch(text[ended:at]) is not None
    return _Place(
        before[1].casefold() if before and not begins else "", after[1] if after else "", begins, joined
    )


def _name_in(
    phrase: str, place: _Place, seen: Collection[str], names: NameWords, nouns: NounWords
) -> str | None:
    """Return the name within a run of capitalised words, or None."""
    words = phrase.split(" ")
    if _plain(words[0]) in nouns.heads and len(words) > 1:
        return phrase
    titled = described = False
    while len(words) > 1 and _plain(words[0]) in names.titles | nouns.roles:
        titled |= _plain(words[0]) in names.titles
        described = True
        words = words[1:]
    if titled or (place.before in names.titles):
        return " ".join(words)
    if len(words) > 1:
        return _several(words, place, described, seen, nouns)
    word = words[0]
    if described:
        return word if not _is_noun(_plain(word), nouns) or _listed(word, seen, nouns) else None
    return word if _single(word, place, seen, nouns) else _owner(word, nouns, seen) or None


def _several(
    words: list[str], place: _Place, described: bool, seen: Collection[str], nouns: NounWords
) -> str | None:
    """Return the name within a run of two or more capitalised words, or None."""
    first, last = _plain(words[0]), _plain(words[-1])
    if _listed(words[0], seen, nouns) and _is_noun(last, nouns):  # "hat Anna Kuchen gebacken"
        return words[0]
    if first in nouns.measures or last in nouns.nouns or (first in nouns.nouns and not described):
        return words[-1] if _listed(words[-1], seen, nouns) else None
    adjective = place.begins and not described and nouns.adjective.search(words[0])
    if adjective and not _listed(words[0], seen, nouns):  # "Neue Schuhe"
        return words[-1] if len(words) == 2 and _listed(words[-1], seen, nouns) else None
    return " ".join(words)


def _single(word: str, place: _Place, seen: Collection[str], nouns: NounWords) -> bool:
    """Return whether one capitalised word is a name."""
    plain = _plain(word)
    if _listed(word, seen, nouns):
        return True
    if _is_noun(plain, nouns) or plain in nouns.roles or plain in nouns.heads or plain in nouns.measures:
        return False
    if place.before in nouns.naming or nouns.place.fullmatch(word) or place.joined:
        return True
    if nouns.plural.search(plain):
        return False
    if place.before in nouns.before or place.before in nouns.meeting:
        return True
    return place.begins and nouns.singular.fullmatch(place.after) is not None


def _listed(word: str, seen: Collection[str], nouns: NounWords) -> bool:
    """Return whether a word is a known name, or has letters or capitals that words of the language do not have."""
    plain = word.casefold()
    known = plain in seen or plain in nouns.given_names or plain in nouns.other_names
    if known:
        return True
    foreign = not nouns.letters.fullmatch(word) and plain not in nouns.borrowed and "-" not in word
    return foreign or (_INNER_CAPITAL.search(word) is not None and "-" not in word)


def _is_noun(plain: str, nouns: NounWords) -> bool:
    """Return whether a word is a known or derived noun; in a hyphenated compound, the last part decides."""
    last = plain.rsplit("-", 1)[-1]
    forms = {
        last,
        nouns.inflection.sub("", last),
        *(last[:-n] for n in (1, 2) if nouns.inflection.search(last)),
    }
    return not forms.isdisjoint(nouns.nouns | nouns.roles) or nouns.noun_ending.search(last) is not None


def _plain(word: str) -> str:
    return word.casefold().strip(".")


_HANDLE = re.compile(r"(?<![\w@])@[A-Za-z0-9_](?:[\w.-]*\w)?")
_LETTERS = re.compile(r"\b[^\W\d_]+\b")
_ACRONYM = re.compile(r"(?<![\w@#-])[A-Z]{2,6}(?![\w-])")


class NameSpotter:
    """Finds the names in the texts of one conversation or document.

    A single capitalised word that begins a sentence counts only if it is also capitalised inside a sentence of these
    texts, or is the name of a speaker or another known name.
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
        """Return the names in a text in order of appearance, without case-insensitive duplicates."""
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

    def _capitals(self, text: str, names: NameWords) -> Iterator[NameSpan]:
        if names.nouns:
            return noun_spans(text, self._seen, names, names.nouns)
        return spans(text, self._seen, self._small, names)

    def _type(self, name: str, language: Language) -> EntityType:
        if name.casefold() in self._people:
            return EntityType.PERSON
        organisation = language.names.organisation.search(name)
        return EntityType.ORGANIZATION if organisation else EntityType.OTHER


def _certain(text: str, names: NameWords) -> Iterator[str]:
    """Yield case-folded words of a text that are certainly names."""
    return names_seen(text, names, names.nouns) if names.nouns else inside_words(text, names)


def _known_pattern(aliases: Iterable[str]) -> re.Pattern[str]:
    names = sorted({name.strip() for name in aliases if name.strip()}, key=len, reverse=True)
    if not names:
        return NEVER
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[NameSpan]:
    for match in pattern.finditer(text):
        yield match.start(), -len(match[0]), match[0]


def is_shouted(text: str) -> bool:
    """Return whether most of a text is in capitals, so that capitals do not mark acronyms."""
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) > 6 and sum(letter.isupper() for letter in letters) * 2 > len(letters)


def _acronyms(text: str, shouted: frozenset[str]) -> Iterator[NameSpan]:
    """Find words of two to six capitals, except in shouting: several of them in a row, or a mostly upper-case text."""
    if is_shouted(text):
        return
    for match in _ACRONYM.finditer(text):
        neighbour = re.match(r"\s+[A-Z]{2,}\b", text[match.end() : match.end() + 12])
        before = re.search(r"\b[A-Z]{2,}\s+$", text[max(0, match.start() - 12) : match.start()])
        if match[0] not in shouted and not neighbour and not before:
            yield match.start(), -len(match[0]), match[0]
