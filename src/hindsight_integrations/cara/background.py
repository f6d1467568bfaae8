"""Background merging by rule, h' = Merge(h, h_new) (paper eq. 27) without a model: careful, never silent. Pure.

What the new snippet contradicts is replaced by it, the more specific replaces the vaguer, what is there already is not said
twice, and everything else is kept side by side. Where old and new contradict and no rule can tell what of a sentence still
holds, the merge is refused (decision 123).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.errors import BackgroundRefused
from hindsight_integrations.text.descriptions import (
    Claim,
    Compared,
    Statement,
    compared,
    read,
    sentences,
    statements,
)
from hindsight_integrations.text.grammatical_person import first_person
from hindsight_integrations.text.language import Language

MAX_CHARACTERS = 500  # a merged background is shorter [earlier paper 10.2]

_WORD = re.compile(r"[^\W\d_]+")
_SUBSTITUTED = frozenset(
    {"en"}
)  # where the word around a profession does not change with it, but for a and an


class Relation(StrEnum):
    """What a new sentence is to an old one (paper section 5.6)."""

    ADDS = "adds"
    """They say different things; both are kept."""
    CONFLICTS = "conflicts"
    """They cannot both be true; the new one is."""
    REFINES = "refines"
    """The new one says the same more closely."""
    REPEATS = "repeats"
    """The new one says the same."""
    VAGUER = "vaguer"
    """The old one says the same more closely."""


_BY_VALUE = {  # what one value of an attribute makes of two statements, the first that is found counting
    Compared.UNCLEAR: Relation.ADDS,
    Compared.NARROWER: Relation.REFINES,
    Compared.WIDER: Relation.VAGUER,
}


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a background: as it is written, and its statements."""

    text: str
    said: tuple[Statement, ...]


def merged_by_rule(current: str, snippet: str, languages: Sequence[Language], *, name: str = "") -> str:
    """The background with a snippet merged in by rules alone.

    Args:
        current: the background; may be empty.
        snippet: what is said about the agent, in any grammatical person.
        languages: of the bank, the likeliest first.
        name: the agent's; "Marcus is a cook" is said of it where it is called so.

    Raises:
        BackgroundRefused: the two contradict each other in a sentence that says more than that, or the result would not be
            shorter than 500 characters.
    """
    merged = [read_sentence(text, languages) for text in own_sentences(current, languages, name=name)]
    for text in own_sentences(snippet, languages, name=name):
        merged = _with_sentence(merged, read_sentence(text, languages))
    return checked_length(joined([sentence.text for sentence in merged]))


def own_sentences(text: str, languages: Sequence[Language], *, name: str = "") -> list[str]:
    """The sentences of a text about the agent, in the first person (earlier paper 10.3)."""
    told = first_person(text.strip(), spoken_language(text, languages), name=name)
    return [sentence[:1].upper() + sentence[1:] for sentence in sentences(told)]


def spoken_language(text: str, languages: Sequence[Language]) -> Language:
    """The language of a text about a person: its pronouns and verbs count as much as the words any text has."""
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())

    def score(language: Language) -> int:
        spoken = sum(len(pattern.findall(text)) for pattern in language.person.words.values())
        return sum(word in language.stop_words for word in words) + spoken

    return max(languages, key=score)


def read_sentence(text: str, languages: Sequence[Language]) -> _Sentence:
    """A sentence in whatever person, with its statements in the first."""
    language = spoken_language(text, languages)
    own = first_person(text, language)
    return _Sentence(own, tuple(read(statement, language) for statement in statements(own, language)))


def joined(texts: Sequence[str]) -> str:
    """Sentences as one text; each ends with a full stop where there are several."""
    if len(texts) < 2:
        return "".join(texts)
    return " ".join(text if text[-1:] in ".!?\u201d\"'\u00bb" else f"{text}." for text in texts)


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


def between(old: Statement, new: Statement) -> Relation:
    """What a new statement is to an old one, both in the first person."""
    if old.text.casefold() == new.text.casefold():
        return Relation.REPEATS
    if old.language is not new.language:
        return Relation.ADDS
    values = {compared(*claims) for claims in _shared_claims(old, new)}
    if Compared.OTHER in values or _denied(old, new) or _turned_round(old, new):
        return Relation.CONFLICTS
    if Compared.SAME in values and not any(_apart(old, new)):
        return Relation.REPEATS  # "My name is Nora." and "I am Nora."
    by_value = (relation_ for value, relation_ in _BY_VALUE.items() if value in values)
    return next(by_value, None) or _by_content(old, new)


def _by_content(old: Statement, new: Statement) -> Relation:
    """What two statements about one subject are to each other by their words alone."""
    if _manner(old) != _manner(new) or not old.content or not new.content:
        return Relation.ADDS
    before, after = _apart(old, new)
    if before == after:
        return Relation.REPEATS
    if before <= after | new.wider:
        return Relation.REFINES
    if after <= before | old.wider:
        return Relation.VAGUER
    return Relation.ADDS


def _apart(old: Statement, new: Statement) -> tuple[frozenset[str], frozenset[str]]:
    """The content of both without the attributes to which they give one value, in whatever words."""
    stated = (pair for pair in _shared_claims(old, new) if min(pair[0].start, pair[1].start) >= 0)
    same = [pair for pair in stated if compared(*pair) is Compared.SAME]
    before = old.content.difference(*(claim.span for claim, _ in same))
    return before, new.content.difference(*(claim.span for _, claim in same))


def _manner(said: Statement) -> tuple[object, ...]:
    return said.subject, said.negative, said.attitude, said.past


def _shared_claims(old: Statement, new: Statement) -> list[tuple[Claim, Claim]]:
    """Values that both give one attribute; what is denied, or comes beside, has none."""
    if old.negative or new.negative:
        return []
    return [
        (before, after)
        for before in old.claims
        for after in new.claims
        if before.attribute == after.attribute and not ((old.besides or new.besides) and after.several)
    ]


def _denied(old: Statement, new: Statement) -> bool:
    """Whether one says that something is not so which the other says is."""
    if old.negative == new.negative or (old.subject, old.attitude, old.past) != (
        new.subject,
        new.attitude,
        new.past,
    ):
        return False
    no, yes = (old, new) if old.negative else (new, old)
    return bool(no.content) and no.content <= yes.content | yes.wider


def _turned_round(old: Statement, new: Statement) -> bool:
    """Whether one puts first what the other puts second."""
    return old.pair is not None and new.pair is not None and old.pair == new.pair[::-1] != new.pair


def _with_sentence(background: list[_Sentence], new: _Sentence) -> list[_Sentence]:
    """The background with one more sentence.

    Raises:
        BackgroundRefused: a contradiction that no rule resolves.
    """
    left, place = list(background), len(background)
    kept: list[Statement] = []
    for said in new.said:
        left, at, stays = _with_statement(left, said)
        place = place if at is None else min(place, at)
        kept += [said] if stays else []
    whole = len(kept) == len(new.said)
    told = [new] if whole else [_Sentence(said.text, (said,)) for said in kept]
    return [sentence for sentence in (*left[:place], *told, *left[place:]) if sentence.said]


def _with_statement(background: list[_Sentence], new: Statement) -> tuple[list[_Sentence], int | None, bool]:
    """The background without what a statement replaces, where that stood first, and whether the statement is still to be told."""
    if any(_is_told(old, new) for sentence in background for old in sentence.said):
        return background, None, False
    left, place, stays = [], None, True
    for number, sentence in enumerate(background):
        said: list[Statement] = []
        for old in sentence.said:
            standing = _standing(old, new)
            if standing is not None and standing is not old:
                stays = False
            said += [standing] if standing is not None else []
        if place is None and len(said) < len(sentence.said):
            place = number + (len(said) > 0)
        left.append(_with_said(sentence, said))
    return left, place, stays


def _with_said(sentence: _Sentence, said: list[Statement]) -> _Sentence:
    """A sentence with what is left of its statements; told anew if that is not all."""
    if said == list(sentence.said):
        return sentence
    end = sentence.text[-1:] if sentence.text[-1:] in ".!" else ""
    return _Sentence(joined([each.text + end for each in said]), tuple(said))


def _is_told(old: Statement, new: Statement) -> bool:
    """Whether the old statement says all that the new one does."""
    if between(old, new) not in (Relation.REPEATS, Relation.VAGUER):
        return False
    before, after = _apart(old, new)
    return after <= before | old.wider


def _standing(old: Statement, new: Statement) -> Statement | None:
    """What stands of an old statement beside a new one: itself, itself with the new value, or nothing.

    Raises:
        BackgroundRefused: they contradict each other, and no rule can tell what of the old one still holds.
    """
    match between(old, new):
        case Relation.REFINES:
            before, after = _apart(old, new)
            return None if before <= after | new.wider else old
        case Relation.REPEATS:
            return None
        case Relation.CONFLICTS:
            return still_standing(old, new)
        case _:
            return old


def still_standing(old: Statement, new: Statement) -> Statement | None:
    """What stands of an old statement that a new one contradicts: nothing, or the statement with the new value.

    Raises:
        BackgroundRefused: the old one says more than that, and no rule can tell what of it still holds.
    """
    differing = [pair for pair in _shared_claims(old, new) if compared(*pair) is Compared.OTHER]
    of_old = frozenset[str]().union(*(before.span for before, _ in differing))
    of_new = frozenset[str]().union(*(after.span for _, after in differing))
    if not old.content - of_old - new.content - new.wider:
        return None
    differing = [pair for pair in differing if min(pair[0].start, pair[1].start) >= 0]
    if len(differing) == 1 and not new.content - of_new - old.content:
        replaced = _with_value(old, *differing[0])
        if replaced is not None:
            return replaced
    raise BackgroundRefused(
        "the snippet contradicts a sentence that says more than that, and no rule can tell what of it still holds",
        "Say in the snippet what the whole sentence shall be, set the background with bank.profile.set, or open the engine "
        "with a model, which can merge the two.",
        undecided=True,
    )


def _with_value(old: Statement, before: Claim, after: Claim) -> Statement | None:
    """The old statement with the new value in its place; None where the words around it would have to change."""
    worded = before.attribute.startswith(("occupation", "alternative"))
    if worded and old.language.code not in _SUBSTITUTED:
        return None
    head, tail = old.text[: before.start], old.text[before.start + len(before.text) :]
    if worded:
        head = _with_article(head, after.text)
    return read(f"{head}{after.text}{tail}", old.language)


def _with_article(head: str, value: str) -> str:
    """What stands in front of a noun, its a or an as the noun wants it."""
    for article in (" a ", " an "):
        if head.endswith(article):
            return head.removesuffix(article) + (" an " if value[:1].casefold() in "aeiou" else " a ")
    return head
