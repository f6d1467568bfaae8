"""The background in sentences: put into the first person, appended where they are new, their conflicts found. Pure.

A model merges two backgrounds (paper eq. 27). Without one nothing is judged: a snippet is appended unless it is there, and
another value of what a person has one of (name, age, birthplace, year of birth, residence) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.errors import BackgroundRefused
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.text.language import Language, Person
from hindsight_integrations.text.person import first_person, persons

MAX_CHARACTERS = 500  # a merged background is shorter [earlier paper 10.2]

_SENTENCE = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)]*\s+|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Inc|Ltd|Co|Nr|ca|bzw|usw|z|B|e|g|i|vs|No)|\b[A-Z]|\b(?:wurde|bin|geboren) am \d{1,2})\.$"
)
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sentences that give an attribute two values.

    Attributes:
        attribute: its name, "birthplace".
        old: the earlier sentence.
        new: the later one.
        value: the value in the earlier one.
    """

    attribute: str
    old: str
    new: str
    value: str


def appended(current: Sequence[str], snippet: Sequence[str], languages: Sequence[Language]) -> str:
    """The background with the sentences of a snippet that are not there yet.

    Args:
        current: sentences of the background, in the first person.
        snippet: sentences of the snippet, in the first person.
        languages: of the bank.

    Raises:
        BackgroundRefused: they give one attribute two values, or the result has 500 characters or more.
    """
    for conflict in conflicts([*current, *snippet], snippet, languages):
        raise BackgroundRefused(
            f"it gives two values for {conflict.attribute}: the background has {conflict.old!r}, the snippet {conflict.new!r}",
            "Set the whole background with bank.profile.set, or open the engine with a model, which can merge the two.",
            undecided=True,
        )
    return checked_length(joined([*current, *new_sentences(current, snippet)]))


def new_sentences(current: Sequence[str], snippet: Sequence[str]) -> list[str]:
    """The sentences of a snippet that are not in the background, each once."""
    known = {same_sentence(sentence) for sentence in current}
    fresh = {key: sentence for sentence in snippet if (key := same_sentence(sentence)) not in known}
    return list(fresh.values())


def conflicts(old: Sequence[str], new: Sequence[str], languages: Sequence[Language]) -> Iterator[Conflict]:
    """Attributes of which a person has one and to which two groups of sentences give different values."""
    for language in languages:
        for attribute, pattern in language.person.unique.items():
            for earlier in old:
                value = pattern.search(earlier)
                for later in new if value else ():
                    other = _value(attribute, later, languages)
                    if value and other and normalised_text(other) != normalised_text(value[1]):
                        yield Conflict(attribute, earlier, later, value[1])


def _value(attribute: str, sentence: str, languages: Sequence[Language]) -> str:
    patterns = (language.person.unique.get(attribute) for language in languages)
    found = (pattern.search(sentence) for pattern in patterns if pattern)
    return next((match[1] for match in found if match), "")


def background_sentences(text: str, languages: Sequence[Language]) -> list[str]:
    """The sentences of a background; where it does not speak in the first person yet, it is put into it."""
    if Person.FIRST in persons(text, spoken_language(text, languages)):
        return _sentences(text)  # "I help you remember" stays
    return own_sentences(text, languages)


def own_sentences(text: str, languages: Sequence[Language]) -> list[str]:
    """The sentences of a text about the agent, in the first person (earlier paper 10.3)."""
    told = first_person(text.strip(), spoken_language(text, languages))
    return [sentence[:1].upper() + sentence[1:] for sentence in _sentences(told)]


def spoken_language(text: str, languages: Sequence[Language]) -> Language:
    """The language of a text about a person: its pronouns count as much as its stop words."""
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())

    def score(language: Language) -> int:
        spoken = sum(len(pattern.findall(text)) for pattern in language.person.words.values())
        return sum(word in language.stop_words for word in words) + spoken

    return max(languages, key=score)


def same_sentence(sentence: str) -> str:
    """A sentence as it is compared: without its full stop and its case."""
    return normalised_text(sentence).rstrip(".!")


def joined(sentences: Sequence[str]) -> str:
    """Sentences as one text; each ends with a full stop where there are several."""
    if len(sentences) < 2:
        return "".join(sentences)
    return " ".join(text if text[-1:] in ".!?\u201d\"'\u00bb" else f"{text}." for text in sentences)


def checked_length(background: str) -> str:
    """The background, if it is short enough to stand in every prompt.

    Raises:
        BackgroundRefused: it has 500 characters or more; nothing is cut silently.
    """
    if len(background) < MAX_CHARACTERS:
        return background
    raise BackgroundRefused(
        f"merged it would have {len(background)} characters, and it must stay under {MAX_CHARACTERS}",
        "Shorten it with bank.profile.set, then merge the rest with bank.profile.merge_background.",
    )


def _sentences(text: str) -> list[str]:
    """The sentences of a text, each with its full stop if it has one."""
    found: list[str] = []
    for piece in _SENTENCE.split(text):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {piece.strip()}"
        elif piece.strip():
            found.append(piece.strip())
    return found
