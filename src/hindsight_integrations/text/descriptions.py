"""What a description of oneself says: statements, and the attributes of which a person has one at a time. Pure.

Two statements are about the same thing where their attributes agree, where one says what the other denies, or where all the
words of one are in the other. Anything else nobody can tell without knowing the world, and is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise

from hindsight_integrations.text.attributes import Attribute
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import content_stems

LONGEST_SENTENCE = 600  # characters; a longer one is one statement, and only its words are compared

_SENTENCE = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)]*\s+|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Inc|Ltd|Co|Nr|ca|bzw|usw|z|B|e|g|i|vs|No)|\b[A-Z])\.$"
)
_MANY_KINDS = 3  # steps from a word to what is more general: pianist, musician, artist


class Compared(StrEnum):
    """What one value of an attribute is to another one."""

    SAME = "same"
    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Claim:
    """That an attribute has a value.

    Attributes:
        attribute: its name, and its key where it has one.
        value: stems of the value.
        wider: stems of what those are kinds of.
        text: the value as it is written.
        start: where the value begins in the statement.
        span: stems of all that states it.
        several: whether another value may stand beside it.
        head: stem of the profession it names, if any.
    """

    attribute: str
    value: frozenset[str]
    wider: frozenset[str]
    text: str
    start: int
    span: frozenset[str]
    several: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a description says, in the first person.

    Attributes:
        text: as it is written.
        language: in which it was read.
        content: stems of what it is about.
        wider: stems of what those are kinds of.
        attitude: whether it says what the speaker likes or does not.
        negative: whether it says that something is not so, is no more, or is not liked.
        past: whether it says what was.
        besides: whether it says that it comes to what is there.
        subject: of whom: "" for the speaker, stems of somebody or something of theirs, or a name.
        claims: attributes it gives a value.
        pair: stems of what is put before what.
    """

    text: str
    language: Language
    content: frozenset[str]
    wider: frozenset[str]
    attitude: bool
    negative: bool
    past: bool
    besides: bool
    subject: frozenset[str]
    claims: tuple[Claim, ...]
    pair: tuple[frozenset[str], frozenset[str]] | None


def sentences(text: str) -> list[str]:
    """The sentences of a description, each with its full stop if it has one."""
    found: list[str] = []
    for piece in _SENTENCE.split(text):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {piece.strip()}"
        elif piece.strip():
            found.append(piece.strip())
    return found


def statements(sentence: str, language: Language) -> list[str]:
    """The statements that a sentence in the first person joins, each able to stand alone; itself where it is one.

    "I was born in Bergen and love boats." are "I was born in Bergen" and "I love boats".
    """
    words = language.description
    bare = sentence.strip().rstrip(".!")
    if len(sentence) > LONGEST_SENTENCE or not is_of_speaker(bare, language):
        return [bare]
    found: list[str] = []
    begun, own = 0, ""
    for joint in words.joint.finditer(bare):
        if not _balanced(bare[: joint.start()]):
            continue
        found.append(_alone(bare[begun : joint.start()], own, language) if begun else bare[: joint.start()])
        begun, own = joint.end(), joint["own"]
    rest = bare[begun:]
    return [*found, _alone(rest, own, language) if begun else rest]


def is_of_speaker(statement: str, language: Language) -> bool:
    """Whether the speaker is the subject of the first clause of a sentence in the first person."""
    return not _subject(statement, language)


def read(text: str, language: Language) -> Statement:
    """One statement in the first person, read."""
    words = language.description
    short = len(text) <= LONGEST_SENTENCE
    rest, former = words.former.subn(" ", text)
    rest, negations = words.negation.subn(" ", rest)
    rest, disliked = words.disliked.subn(" ", rest)
    rest, liked = words.liked.subn(" ", rest)
    rest, besides = words.besides.subn(" ", rest)
    content = _numbered(content_stems(rest, language) or content_stems(text, language), language)
    return Statement(
        text=text,
        language=language,
        content=content,
        wider=wider(content, language),
        attitude=bool(liked or disliked),
        negative=bool(former or negations) != bool(disliked),
        past=not former and words.past.search(text) is not None,
        besides=bool(besides),
        subject=_subject(text, language),
        claims=tuple(_claims(text, language)) if short else (),
        pair=_pair(text, language) if short else None,
    )


def compared(old: Claim, new: Claim) -> Compared:
    """What the new value of an attribute is to the old one."""
    if old.value == new.value:
        return Compared.SAME
    alike = bool(old.head) and old.head == new.head  # then a field says nothing: both belong to it
    if old.value <= new.value | (frozenset() if alike else new.wider):
        return Compared.NARROWER
    if new.value <= old.value | (frozenset() if alike else old.wider):
        return Compared.WIDER
    return Compared.UNCLEAR if alike else Compared.OTHER  # a creative engineer may be a software engineer


def wider(stems: Iterable[str], language: Language) -> frozenset[str]:
    """Stems of what words are kinds of, and of the fields professions belong to."""
    more = _kinds(language)
    found: set[str] = set()
    front = set(stems)
    for _ in range(_MANY_KINDS):
        front = {general for stem in front for general in more.get(stem, ())} - found
        found |= front
    return frozenset(found)


def _claims(text: str, language: Language) -> Iterator[Claim]:
    for attribute in language.description.attributes:
        for match in attribute.pattern.finditer(text):
            if claim := _claim(match, attribute, language):
                yield claim
                if claim.head and (field := language.description.professions.get(claim.head)):
                    yield Claim("field", frozenset({field}), frozenset(), "", -1, claim.span, several=True)
    yield from _alternatives(text, language)


def _claim(match: re.Match[str], attribute: Attribute, language: Language) -> Claim | None:
    """The claim of a match; None where its value is none of that attribute."""
    groups = match.groupdict()
    group = next((name for name in ("value", "value2") if groups.get(name)), None)
    if group is None:
        return None
    value, name, words = match[group].strip(), attribute.name, language.description
    stems = _numbered(content_stems(value, language), language)
    folded = re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", value.casefold())
    head = next((word for word in reversed(folded) if word in words.professions), "")
    if name == "field":
        fields = {words.fields[word] for word in folded if word in words.fields}
        if not fields:
            return None
        stems = frozenset(fields)
    if (name == "profession" and not head) or (
        name == "employer" and any(word in words.fields for word in folded)
    ):
        return None
    if name == "name" and any(word in group_ for word in folded for group_ in words.alternatives):
        return None
    key = " ".join(groups.get(part) or "" for part in ("key", "key2")).strip()
    name = {"profession": "occupation"}.get(name, name)
    label = f"{name} {' '.join(sorted(content_stems(key, language)))}".strip()
    if not stems:
        return None
    return Claim(
        attribute=label,
        value=stems,
        wider=wider(stems, language),
        text=value,
        start=match.start(group),
        span=_numbered(content_stems(match[0], language), language),
        several=attribute.several,
        head=head,
    )


def _alternatives(text: str, language: Language) -> Iterator[Claim]:
    """What a person says they are, of words of which only one can be true of them."""
    words = language.description
    being = words.being.search(text)
    if being is None:
        return
    said = list(re.finditer(r"[^\W\d_]+(?:-[^\W\d_]+)*", text[being.end() :]))
    pairs = [(first, f"{first[0]} {second[0]}") for first, second in pairwise(said)]
    for match, found in [*((word, word[0]) for word in said), *pairs]:
        for number, group in enumerate(words.alternatives):
            if found.casefold() in group:
                stems = content_stems(found, language)
                yield Claim(
                    f"alternative {number}",
                    stems,
                    frozenset(),
                    found,
                    being.end() + match.start(),
                    stems,
                    several=True,
                )


def _pair(text: str, language: Language) -> tuple[frozenset[str], frozenset[str]] | None:
    match = language.description.preferred.search(text)
    if match is None:
        return None
    return content_stems(match["first"], language), content_stems(match["second"], language)


def _subject(text: str, language: Language) -> frozenset[str]:
    """Stem of the first thing a statement speaks of, nothing where that is the speaker."""
    if language.description.speaker.search(text):
        return frozenset()
    words = re.findall(r"\w+", text)
    return next((stems for word in words if (stems := content_stems(word, language))), frozenset())


def _alone(statement: str, own: str | None, language: Language) -> str:
    """A statement that was joined to another one, as a sentence of its own."""
    told = statement if own else language.description.subject + statement
    return told[:1].upper() + told[1:]


def _balanced(text: str) -> bool:
    """Whether no parenthesis or quote is open at the end of a text."""
    pairs = (("(", ")"), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb"))
    return text.count('"') % 2 == 0 and all(text.count(left) <= text.count(right) for left, right in pairs)


def _numbered(stems: frozenset[str], language: Language) -> frozenset[str]:
    """The stems with number words as digits: "ten" is 10."""
    numerals = _numerals(language)
    return frozenset(numerals.get(stem, stem) for stem in stems)


@cache
def _numerals(language: Language) -> Mapping[str, str]:
    return {language.stem(word): str(number) for number, word in enumerate(language.parts.words.numerals)}


@cache
def _kinds(language: Language) -> Mapping[str, frozenset[str]]:
    """Each stem with those of what it is a kind of; of a profession all words for its field."""
    words = language.description
    more: dict[str, set[str]] = {}
    for word, general in words.kinds.items():
        more.setdefault(language.stem(word), set()).add(language.stem(general))
    people = {
        language.stem(word) for word in words.professions
    }  # a nurse is in nursing, which not every healer is
    for word, label in words.professions.items():
        names = {language.stem(name) for name, known in words.fields.items() if known == label} - people
        more.setdefault(language.stem(word), set()).update(names)
    return {stem: frozenset(general) for stem, general in more.items()}
