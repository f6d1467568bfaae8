"""Remove recalled text from a conversation, so that memories are not retained again.

Agents quote memories in their answers, and users may paste the memory block of a prompt into a message. Text that equals a
stored memory is removed, as are the agent's questions and statements of not knowing.
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
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import Place
from hindsight_integrations.prompts.recalled import HEADING
from hindsight_integrations.prompts.record_digest import DIGEST_LINE
from hindsight_integrations.validation.messages import role_of

NEAREST = 16  # number of best keyword matches compared with a message
LOOKED_UP = 48  # number of words of a message in the keyword search: the longest, usually the rarest
MOST_LINES = 100  # maximum number of lines of a pasted prompt that are searched separately
NEAREST_LINE = 3  # number of best keyword matches compared with each of these lines
RENDERED = re.compile(
    r"\((?:mentioned on|happened (?:in|on|from)|(?:was )?planned (?:for|from)) [^()]*\)\s*$", re.MULTILINE
)  # the date after a memory in a prompt; see `model.time.readable_time`
FRAME = re.compile(
    rf"\s*(?:{re.escape(HEADING)}|<<<MEMORIES|MEMORIES>>>"
    rf"|{DIGEST_LINE})\s*"
)  # lines around memories and above the rows of a record digest in a prompt; see `prompts/`
LEAST_WORDS = 3  # minimum number of consecutive words that count as a quotation
SHARED = 2  # minimum number of content words that a paraphrase shares with the memory
# maximum number of other content words in a paraphrase, without names and numbers ("lives" for "moved")
FURTHER = 1

_WORD = re.compile(r"\w+")
_SPOKEN = re.compile(r"^[\s\-*•>]*\S{1,40}: ", re.MULTILINE)  # "Alice: ", the beginning of a verbatim memory

RECALLED_AGAIN = "it repeats a recalled memory"
NOTHING_STATED = "it contains no statement"
SMALL_TALK = "it is small talk"
ASKS_TO_FORGET = "it asks to forget something; call `bank.forget(text=...)`"


@dataclass(frozen=True, slots=True)
class Worth:
    """The parts of some messages worth remembering.

    Attributes:
        messages: messages reduced to the text worth remembering; messages without any are left out.
        left_out: messages with nothing worth remembering, with reasons.
    """

    messages: tuple[Message, ...]
    left_out: tuple[Dropped, ...] = ()


def recalled_texts(
    messages: Sequence[Message], view: BankView, *, dropped: Collection[Place] = ()
) -> dict[str, tuple[MemoryUnit, ...]]:
    """Find the valid memories each message may repeat, by message id, excluding memories made from that message.

    Searches by keywords only, since quotations keep the words.

    Args:
        messages: messages that may repeat memories.
        view: a view of the bank.
        dropped: messages no longer part of the conversation; this retain invalidates their memories, so the same words are
            not a repetition.
    """
    mask = valid_at(view.columns, None)
    selected = Selection(mask, int(mask.sum()))
    if not selected.count or "keyword" in view.failures:
        return {}
    matches = {}
    for message in messages:
        hits = [
            keyword_channel(view, selected, words, limit=limit).ids
            for words, limit in _searches(message.text)
        ]
        matches[message.id or ""] = np.unique(np.concatenate(hits))
    units = view.ledger.units.get(view.bank, _distinct(matches))
    return {
        name: tuple(
            unit
            for row in ids.tolist()
            if (unit := units.get(row)) and name not in unit.sources and not stands_on(unit, dropped)
        )
        for name, ids in matches.items()
    }


def stands_on(unit: MemoryUnit, places: Collection[Place]) -> bool:
    """Return whether a memory was made from one of these messages or documents."""
    return any((unit.thread, source) in places for source in unit.sources)


def _searches(text: str) -> list[tuple[str, int]]:
    """Return the search texts and the limit of each: the whole text, and each of its lines rendered as a memory.

    The query for the whole text contains only its longest words: short words match too many memories and cost the most time.
    """
    lines = [line for line in text.splitlines() if RENDERED.search(line)][:MOST_LINES]
    words = sorted(dict.fromkeys(_WORD.findall(text.casefold())), key=len, reverse=True)
    return [
        (" ".join(words[:LOOKED_UP]), NEAREST),
        *((RENDERED.sub("", line), NEAREST_LINE) for line in lines),
    ]


def may_repeat(message: Message) -> bool:
    """Return whether a message may contain recalled text: any agent message, and others with a rendered memory or a transcript."""
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
    """Select the text of each message to remember verbatim.

    User messages are kept whole, without pasted memories; messages that are only questions, small talk or requests to forget
    are omitted. Of agent messages, only declarative sentences that do not repeat a memory are kept.

    Args:
        messages: messages of one conversation.
        recalled: memories that each message may repeat, by message id.
        languages: possible languages of the messages.
        answers: ids of messages that answer the agent's question; in these, "ok" or a thumbs-up is kept.
        judged: True keeps requests to forget, for the model that judges which memories the messages end.
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
    """Drop extracted facts that repeat a memory verbatim, unless a user message contains the same words.

    A fact that changes a document or ends a memory is kept, because it may have to use the words of a memory again.

    Args:
        facts: facts of one passage.
        memories: memories that its messages may repeat, or that the model was shown.
        said: messages of the passage, by id.
    """
    known = [_words(unit.text) for unit in memories]
    spoken = {name: _words(each.text) for name, each in said.items() if _is_original(each)}
    places: dict[int, int] = {}  # causal claims refer to facts by position
    dropped: list[Dropped] = []
    for index, fact in enumerate(facts):
        words = _words(fact.what)
        restated = any(_within(words, spoken.get(source, "")) for source in fact.sources)
        if not restated and not _changes_memory(fact, said) and any(_within(words, each) for each in known):
            dropped.append(Dropped(fact.what[:EXCERPT_CHARACTERS], RECALLED_AGAIN))
        else:
            places[index] = len(places)
    return [_renumbered(facts[index], places) for index in places], dropped


def _changes_memory(fact: ExtractedFact, said: Mapping[str, Message]) -> bool:
    """Return whether a fact changes a document, or ends a memory because of a user message in the passage."""
    if fact.adds_to is not None or any(change.removed or change.items for change in fact.changes):
        return True
    by_person = any(role_of(said[source]) is Role.USER for source in fact.sources if source in said)
    return by_person and bool(fact.changes or fact.invalidates)


def _is_original(message: Message) -> bool:
    return role_of(message) is Role.USER and RENDERED.search(message.text) is None


def _renumbered(fact: ExtractedFact, places: Mapping[int, int]) -> ExtractedFact:
    return fact.model_copy(update={"causal_relations": renumbered(fact.causal_relations, places)})


@dataclass(frozen=True, slots=True)
class _Recalled:
    """A memory prepared for comparison with sentences.

    Attributes:
        words: the normalised full text, including the speaker.
        own: the normalised text without the speaker.
        stems: the stems of its content words.
        negations: its negating words ("not", "cancelled"), sorted.
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
    """Return the text of a message to remember, and the reason if it is empty."""
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
    """Return whether a line consists only of a memory as rendered in prompts and transcripts."""
    return _words(line) in memories or _words(RENDERED.sub("", line)) in memories


def _repeats(sentence: str, memories: Sequence[_Recalled], language: Language) -> bool:
    """Return whether an agent's sentence only repeats a memory."""
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
    """Return the capitalised words of a text after the first, in lower case."""
    return {word.lower() for word in _WORD.findall(text)[1:] if word[:1].isupper()}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(normalised_text(text)))


def _within(part: str, whole: str) -> bool:
    """Return whether `whole` contains the words of `part` consecutively; fewer than `LEAST_WORDS` words never match."""
    return part.count(" ") >= LEAST_WORDS - 1 and f" {part} " in f" {whole} "


def _distinct(matches: Mapping[str, IntArray]) -> IntArray:
    rows = {row for ids in matches.values() for row in ids.tolist()}
    return np.array(sorted(rows), np.int64)
