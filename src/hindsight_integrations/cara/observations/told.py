"""A fact as an observation tells it where no model does: as it is if in the third person, else in quotes, with who said it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.text.language import Language, Person, language_of
from hindsight_integrations.text.person import persons
from hindsight_integrations.text.stems import content_stems

LONGEST = 600  # characters: two or three narrative sentences; of a longer fact only some sentences are told
GAP = "\u2026"
SUBJECT_WORDS = 6  # of a text, among which its subject is named
MENTIONED = 0.25  # weight of a fact that begins with somebody else: of a talk of two every fact mentions both, and is about one
AGENT = "assistant"
_LETTERS = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def told(fact: MemoryUnit, names: Sequence[str], languages: Sequence[Language]) -> str:
    """The fact in the third person. Nothing is reworded: what speaks of itself is quoted, with who said it and when.

    Args:
        fact: as it stands.
        names: of the entity it is told of.
        languages: the fact may be in.
    """
    language = language_of(fact.text, languages)
    words = fact.text.removeprefix(f"{fact.speaker}: ") if fact.speaker else fact.text
    words = excerpt(" ".join(words.split()), names, language)
    who = fact.speaker or (AGENT if fact.fact_type is FactType.EXPERIENCE else "")
    if fact.speaker or persons(words, language) & {Person.FIRST, Person.SECOND}:
        when = readable_time(None, fact.mentioned_at)
        words = f'{who} ({when}): "{words}"' if who else f'"{words}" ({when})'
    return words


def weight(text: str, names: Sequence[str]) -> float:
    """How far a fact should stand for what is known of an entity, in (0, 1].

    Wholly if it begins with its name, a quarter if it only mentions it.

    Args:
        text: the fact, as it stands.
        names: of the entity.
    """
    begins = f" {' '.join(_LETTERS.findall(normalised_text(text))[:SUBJECT_WORDS])} "
    spoken = (" ".join(_LETTERS.findall(normalised_text(name))) for name in names)
    return 1.0 if any(f" {name} " in begins for name in spoken if name) else MENTIONED


def excerpt(text: str, names: Sequence[str], language: Language) -> str:
    """A text of bounded length: whole sentences, those that name the entity first, with a mark for what is left out.

    Args:
        text: on one line.
        names: of the entity.
        language: of the text.
    """
    if len(text) <= LONGEST:
        return text
    sentences = _SENTENCE.split(text)
    named = content_stems(" ".join(names), language)
    order = sorted(range(len(sentences)), key=lambda at: not named & content_stems(sentences[at], language))
    kept: set[int] = set()
    for place in order:
        if sum(len(sentences[at]) + len(GAP) + 2 for at in {*kept, place}) <= LONGEST:
            kept.add(place)
    if not kept:
        return f"{sentences[order[0]][: LONGEST - 2].rsplit(' ', 1)[0]} {GAP}"
    pieces = []
    for place in range(len(sentences)):
        if place in kept:
            pieces.append(sentences[place])
        elif not pieces or pieces[-1] != GAP:
            pieces.append(GAP)
    return " ".join(pieces)
