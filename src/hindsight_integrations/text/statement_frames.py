"""What a statement is about, apart from the grammar that frames it (decision 115). Pure.

"Buying milk as an open task" and "has the task 'buy milk' on the list" are about buying milk, and both say of it that it
is still to be done. How that is worded differs from model to model and costs nothing; what is said must agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hindsight_integrations.text.language import Frame, Language
from hindsight_integrations.text.part_whole import LONGEST_TEXT, account
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import hidden, shown

_PAIRED = 3  # content words of the second of two joined things; longer ones are clauses
LONGEST_SENTENCE = (
    1_000  # characters, as for texts (`LONGEST_TEXT`): of a longer one only the words are compared
)
_CALLED = re.compile(r",? ([A-Z\u00c0-\u00de][\w-]+)")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")


@dataclass(frozen=True, slots=True)
class Reading:
    """A text without its frame.

    Attributes:
        content: stems of what it is about; of a text that is all frame, of all of it.
        frames: what is said of that.
        negated: whether it says that something is not, or no longer, so.
        kin: stems of the people around the user of whom it says something, or whose something is.
        kin_names: stems of what they are called ("User's sister Greta").
        about_kin: whether one of those is its subject.
        owner: stems of the name of whose something is, where it begins with one.
    """

    content: frozenset[str]
    frames: frozenset[Frame]
    negated: bool
    kin: frozenset[str]
    kin_names: frozenset[str]
    about_kin: bool
    owner: frozenset[str]


def read(text: str, language: Language) -> Reading:
    """The content of a sentence and what is said of it. Nothing inside a quoted title is read as grammar."""
    if len(text) > LONGEST_SENTENCE:
        nobody = frozenset[str]()
        return Reading(content_stems(text, language), frozenset(), False, nobody, nobody, False, nobody)
    words = language.frames
    rest, titles = hidden(kin_in_one_word(text, language))
    found = [
        (match["kin"] or "", _CALLED.match(rest, match.end("kin"))) for match in words.kin.finditer(rest)
    ]
    kin = frozenset(stem for each, _ in found for stem in content_stems(each, language))
    called = frozenset(stem for _, name in found if name for stem in content_stems(name[1], language))
    owner = words.owner.search(rest)
    about_kin = bool(words.about_kin.search(rest))
    frames = set()
    for frame, pattern in words.frames:
        rest, count = pattern.subn(" ", rest)
        if count:
            frames.add(frame)
    negated = bool(words.negation.search(rest))
    content = content_stems(shown(words.fillers.sub(" ", words.negation.sub(" ", rest)), titles), language)
    return Reading(
        content=content or content_stems(text, language),
        frames=frozenset(frames),
        negated=negated,
        kin=kin,
        kin_names=called,
        about_kin=about_kin,
        owner=content_stems(owner["owner"], language) if owner else frozenset(),
    )


def kin_in_one_word(text: str, language: Language) -> str:
    """The text with one word for the people around the user of whom there are several: "mum" is "mother"."""
    for word, others in language.frames.kin_words.items():
        text = others.sub(word, text)
    return text


def sentences(text: str, language: Language) -> list[Reading]:
    """Each sentence of a text's account, read by itself; a semicolon ends one as well."""
    told = account(text)
    pieces = [told] if len(told) > LONGEST_TEXT else _SENTENCE.split(told)
    return [read(piece, language) for piece in pieces if piece.strip()]


def clauses(text: str, language: Language) -> list[str]:
    """Each clause or list item of a text's account that says something, in order; a quoted title is never cut."""
    rest, titles = hidden(account(text))
    pieces = (shown(piece, titles) for piece in language.parts.clause_end.split(rest))
    return [piece for piece in pieces if content_stems(piece, language)]


def names_one_of_two(content: frozenset[str], text: str, language: Language) -> bool:
    """Whether a statement's content names one of two things that a text joins ("rowing" of "swimming and rowing").

    Of the first only the last word is known to belong to it; of the second all, up to the end of the clause.
    """
    rest, titles = hidden(account(text))
    if len(rest) > LONGEST_TEXT:
        return False
    for match in language.frames.pair.finditer(rest):
        first, second = (content_stems(shown(match[side], titles), language) for side in ("first", "second"))
        if not first or not 1 <= len(second) <= _PAIRED:
            continue
        if (second <= content and not first & content) or (first <= content and not second & content):
            return True
    return False
