"""Recalled text that comes back in a conversation is not learnt again.

An agent's answers quote memories; a prompt's block of memories ends up in a message. Neither says anything new: what is
found in the bank in the same words is left out, and so is what an agent asks or says it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import valid_at
from hindsight_integrations.indexes.hybrid import Selection, keyword_channel
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.statements import (
    is_assent,
    is_small_talk,
    only_asks,
    spoken_sentences,
    stating_sentences,
    without_lead_in,
    without_requests_to_forget,
)
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.facts import ExtractedFact, renumbered
from hindsight_integrations.model.records import RecordKind, canonical_kind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import Place
from hindsight_integrations.prompts.recalled import HEADING
from hindsight_integrations.prompts.record_digest import DIGEST_LINE
from hindsight_integrations.validation.messages import role_of

NEAREST = 16  # memories that a message is compared with, the best by its words
LOOKED_UP = 48  # words of a message they are looked for by, the longest, which are the rarest
MOST_LINES = 100  # of a pasted prompt that are looked up one by one
NEAREST_LINE = 3  # memories that each is compared with: in its very words the best
RENDERED = re.compile(
    r"\((?:mentioned on|happened (?:in|on|from)|(?:was )?planned (?:for|from)) [^()]*\)\s*$", re.MULTILINE
)  # the date beside a memory in a prompt; see `model.time.readable_time`
FRAME = re.compile(
    rf"\s*(?:{re.escape(HEADING)}|<<<MEMORIES|MEMORIES>>>"
    rf"|{DIGEST_LINE})\s*"
)  # what stands around memories and above the rows of a record digest in a prompt; see `prompts/`
LEAST_WORDS = 3  # in a row that prove a quotation
SHARED = 2  # content words of a memory that a sentence has, if it tells it in its own words
FURTHER = 1  # and content words that it has beside them: "lives" for "moved"; no name, no number

_WORD = re.compile(r"\w+")
_SPOKEN = re.compile(r"^[\s\-*•>]*\S{1,40}: ", re.MULTILINE)  # "Alice: ", as verbatim memories begin

RECALLED_AGAIN = "recalled text that came back"
NOTHING_STATED = "it states nothing"
SMALL_TALK = "it is small talk"
ASKS_TO_FORGET = "it asks to forget something; `bank.forget(text=...)` does"


@dataclass(frozen=True, slots=True)
class Worth:
    """What of some messages is worth remembering.

    Attributes:
        messages: with the text that is; those with none are left out.
        left_out: messages of which nothing is, and why.
    """

    messages: tuple[Message, ...]
    left_out: tuple[Dropped, ...] = ()


def recalled_texts(
    messages: Sequence[Message], view: BankView, *, dropped: Collection[Place] = ()
) -> dict[str, tuple[MemoryUnit, ...]]:
    """By id of each message the valid memories, not made from it, that its words lead to; by keywords alone, which quotes keep.

    Args:
        messages: which may repeat memories.
        view: of the bank.
        dropped: messages that are no longer part of the conversation: what was made of them ends with this retain, so
            that an answer in the same words is no repetition of it.
    """
    mask = valid_at(view.columns, None)
    selected = Selection(mask, int(mask.sum()))
    if not selected.count or "keyword" in view.failures:
        return {}
    found = {}
    for message in messages:
        hits = [
            keyword_channel(view, selected, words, limit=limit).ids
            for words, limit in _searches(message.text)
        ]
        found[message.id or ""] = np.unique(np.concatenate(hits))
    units = view.ledger.units.get(view.bank, _distinct(found))
    return {
        name: tuple(
            unit
            for row in ids.tolist()
            if (unit := units.get(row)) and name not in unit.sources and not stands_on(unit, dropped)
        )
        for name, ids in found.items()
    }


def stands_on(unit: MemoryUnit, places: Collection[Place]) -> bool:
    """Whether a memory was made from one of these messages."""
    return any((unit.thread, source) in places for source in unit.sources)


def _searches(text: str) -> list[tuple[str, int]]:
    """What is searched for, and how many memories each may find: the text, and each line of it that is rendered as a memory.

    Of the text the longest words: short ones are in so many memories that they lead to none, and cost most.
    """
    lines = [line for line in text.splitlines() if RENDERED.search(line)][:MOST_LINES]
    words = sorted(dict.fromkeys(_WORD.findall(text.casefold())), key=len, reverse=True)
    return [
        (" ".join(words[:LOOKED_UP]), NEAREST),
        *((RENDERED.sub("", line), NEAREST_LINE) for line in lines),
    ]


def may_repeat(message: Message) -> bool:
    """Whether a message may hold recalled text: any of an agent's, and one of a user that has a rendered line or a transcript in it."""
    return (
        role_of(message) is Role.ASSISTANT
        or RENDERED.search(message.text) is not None
        or _SPOKEN.search(message.text) is not None
    )


def worth_remembering(
    messages: Sequence[Message],
    recalled: Mapping[str, Sequence[MemoryUnit]],
    languages: Sequence[Language],
    *,
    answers: Collection[str] = (),
    judged: bool = False,
) -> Worth:
    """What of messages is to be remembered word for word.

    A user's message is kept as it is, without lines of memories pasted into it; one that only asks, is small talk or asks to
    forget something is left out. Of an agent's message those sentences are kept that state something and repeat no memory.

    Args:
        messages: of a conversation.
        recalled: memories that each may repeat, by its id.
        languages: they may be in.
        answers: ids of messages that answer a question of the agent's: "ok" and a thumbs-up say something there.
        judged: whether a model will say what the messages end, so that requests to forget go to it.
    """
    kept: list[Message] = []
    left_out: list[Dropped] = []
    for message in messages:
        if message.id in answers and is_assent(message.text):
            kept.append(message)
            continue
        text, reason = _worth(message, recalled.get(message.id or "", ()), languages, judged=judged)
        if text:
            kept.append(message if text == message.text else replace(message, text=text))
        else:
            left_out.append(Dropped(f"message {message.id}", reason))
    return Worth(tuple(kept), tuple(left_out))


def without_repeated(
    facts: Sequence[ExtractedFact], memories: Sequence[MemoryUnit], said: Mapping[str, Message]
) -> tuple[list[ExtractedFact], list[Dropped]]:
    """Facts a model extracted, without those in the very words of a memory, unless a user says these words again.

    A fact that says what of a memory was removed, or that changes a document, is kept: it may well tell the memory's words.

    Args:
        facts: of one passage.
        memories: that its messages may repeat, or that the model was shown.
        said: its messages, by id.
    """
    known = [_words(unit.text) for unit in memories]
    spoken = {name: _words(each.text) for name, each in said.items() if _speaks_for_itself(each)}
    places: dict[int, int] = {}  # causal claims name facts by position
    dropped: list[Dropped] = []
    for index, fact in enumerate(facts):
        words = _words(fact.what)
        heard = any(_within(words, spoken.get(source, "")) for source in fact.sources)
        if not heard and not _says_what_changed(fact, said) and any(_within(words, each) for each in known):
            dropped.append(Dropped(fact.what[:EXCERPT_CHARACTERS], RECALLED_AGAIN))
        else:
            places[index] = len(places)
    return [_renumbered(facts[index], places) for index in places], dropped


def _says_what_changed(fact: ExtractedFact, said: Mapping[str, Message]) -> bool:
    """Whether a fact removes something, adds items to a document, or is a document that a person dictates anew."""
    if fact.adds_to is not None or any(change.removed or change.items for change in fact.changes):
        return True
    by_person = any(role_of(said[source]) is Role.USER for source in fact.sources if source in said)
    kinds = (canonical_kind(record.kind, record.category)[0] for record in fact.records)
    return by_person and bool(fact.changes) and RecordKind.DOCUMENT_ITEM in kinds


def _speaks_for_itself(message: Message) -> bool:
    return role_of(message) is Role.USER and RENDERED.search(message.text) is None


def _renumbered(fact: ExtractedFact, places: Mapping[int, int]) -> ExtractedFact:
    return fact.model_copy(update={"causal_relations": renumbered(fact.causal_relations, places)})


@dataclass(frozen=True, slots=True)
class _Recalled:
    """A memory as sentences are compared with it.

    Attributes:
        words: all of it, speaker included.
        own: what the speaker said.
        stems: of its words that say something.
        negations: its words that negate ("not", "cancelled"), sorted.
    """

    words: str
    own: str
    stems: frozenset[str]
    negations: list[str]


def _as_recalled(unit: MemoryUnit, language: Language) -> _Recalled:
    own = unit.text.removeprefix(f"{unit.speaker}: ") if unit.speaker else unit.text
    return _Recalled(
        _words(unit.text), _words(own), content_stems(unit.text, language), _negations(own, language)
    )


def _worth(
    message: Message, units: Sequence[MemoryUnit], languages: Sequence[Language], *, judged: bool
) -> tuple[str, str]:
    """What of a message is to be remembered, and why nothing is."""
    language = language_of(message.text, languages)
    agent = role_of(message) is Role.ASSISTANT
    known = [_as_recalled(unit, language) for unit in units]
    rendered = {each.words for each in known}
    lines = [line for line in message.text.splitlines() if line.strip()]
    parts = [line for line in lines if not (FRAME.fullmatch(line) or _is_rendered(line, rendered))]
    recalled = len(parts) < len(lines)
    if not agent:
        rest = "\n".join(parts) if recalled else message.text
        if is_small_talk(rest):
            return "", RECALLED_AGAIN if recalled else SMALL_TALK
        if not judged and role_of(message) is Role.USER:
            left = without_requests_to_forget(rest)
            if left != rest and (not left or is_small_talk(left)):
                return "", ASKS_TO_FORGET
            rest = left
        reason = RECALLED_AGAIN if recalled else NOTHING_STATED
        return ("", reason) if not rest or only_asks(rest, language) else (rest, "")
    sentences = spoken_sentences("\n".join(parts))
    new = [each for each in sentences if not _repeats(each, known, language)]
    stated = stating_sentences("\n".join(new), language, agent=True)
    if not recalled and len(stated) == len(sentences):
        return message.text, ""
    return " ".join(stated), RECALLED_AGAIN if recalled or len(new) < len(sentences) else NOTHING_STATED


def _is_rendered(line: str, memories: Collection[str]) -> bool:
    """Whether a line is a memory as prompts and transcripts show it, and no more."""
    return _words(line) in memories or _words(RENDERED.sub("", line)) in memories


def _repeats(sentence: str, memories: Sequence[_Recalled], language: Language) -> bool:
    """Whether a sentence of an agent's says what a memory says, and nothing beside it."""
    bare = without_lead_in(RENDERED.sub("", sentence) or sentence, language)
    words = _words(bare)
    if any(_within(words, each.words) or _within(each.own, words) for each in memories):
        return True
    said, names, negations = content_stems(bare, language), _names(bare), _negations(bare, language)
    return any(
        len(said & each.stems) >= SHARED
        and len(further := said - each.stems) <= FURTHER
        and negations == each.negations
        and not any(any(map(str.isdigit, stem)) or stem in names for stem in further)
        for each in memories
    )


def _negations(text: str, language: Language) -> list[str]:
    return sorted(match[0].casefold() for match in language.negation.finditer(text))


def _names(text: str) -> set[str]:
    """Capitalised words inside a text, in small letters."""
    return {word.lower() for word in _WORD.findall(text)[1:] if word[:1].isupper()}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(normalised_text(text)))


def _within(part: str, whole: str) -> bool:
    """Whether words stand in others, in a row; one or two prove nothing."""
    return part.count(" ") >= LEAST_WORDS - 1 and f" {part} " in f" {whole} "


def _distinct(found: Mapping[str, IntArray]) -> IntArray:
    rows = {row for ids in found.values() for row in ids.tolist()}
    return np.array(sorted(rows), np.int64)
