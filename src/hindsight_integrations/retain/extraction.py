"""Fact extraction with a language model (paper section 4.1.2), and the model's choice of memories that verbatim messages end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from hindsight_integrations.config import (
    AS_SET,
    Extract,
    ExtractionMode,
    ExtractionOptions,
    GeneralKnowledge,
    OnModelFailure,
    RetainConfig,
)
from hindsight_integrations.errors import (
    InvalidRequest,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PromptTooLong,
)
from hindsight_integrations.language.records import canonical_record
from hindsight_integrations.model.facts import (
    ExtractedChange,
    ExtractedEntity,
    ExtractedFact,
    ExtractedRecord,
    MemoryChange,
)
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, NO_USAGE, Dropped, Usage
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import Granule, Interval, as_utc, granule_after
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ForgetRequest
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.prompts.answered_facts import AnsweredFact, AnsweredItem, AskedToForget
from hindsight_integrations.prompts.concise_facts import MOST_CHARACTERS, ConciseFact, concise_facts_prompt
from hindsight_integrations.prompts.end_memories import AnsweredEndings, OpenStatement, end_memories_prompt
from hindsight_integrations.prompts.extract_facts import (
    Instructions,
    Passage,
    extract_facts_prompt,
    untold_problem,
)
from hindsight_integrations.prompts.message_endings import (
    AnsweredMessageEndings,
    message_endings_prompt,
    numbered_messages,
)
from hindsight_integrations.prompts.repair import RepairedAnswer, complete_with_repair
from hindsight_integrations.retain.replacing import listed, told_texts, untold
from hindsight_integrations.retain.verbatim import chunk_messages, chunk_text
from hindsight_integrations.services import Services
from hindsight_integrations.validation.messages import role_of

_ISO = re.compile(
    r"^\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?\s*$"
)
_GRANULES = (Granule.YEAR, Granule.MONTH, Granule.DAY, Granule.HOUR, Granule.MINUTE, Granule.SECOND)


def parse_moment(text: str) -> tuple[datetime, Granule] | None:
    """Parse an ISO date of any precision into its start and granule: "2023" is a year, "2023-05" a month.

    Naive unless the text has an offset; None if the text is not a valid date.
    """
    match = _ISO.match(text)
    if not match:
        return None
    parts = [int(part) for part in match.groups()[:6] if part is not None]
    offset = match.group(7)
    defaults = (1, 1, 1, 0, 0, 0)
    try:
        moment = datetime(*parts, *defaults[len(parts) :], tzinfo=_offset(offset))  # type: ignore[misc,arg-type]
    except ValueError:
        return None
    return moment, _GRANULES[len(parts) - 1]


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    return UTC if text == "Z" else datetime.strptime(text.replace(":", ""), "%z").tzinfo


def occurrence(start: str | None, end: str | None, zone: tzinfo) -> Interval | None:
    """Return the half-open interval from the start of `start` to the end of the granule of `end`.

    Without an end, the interval is the start's granule, never "until now". An end that is unparseable or before the start is
    ignored. None if the start is unparseable.

    Args:
        start: ISO date of any precision.
        end: ISO date of the last day (month, year) included.
        zone: time zone of dates without an offset.
    """
    first = parse_moment(start) if start else None
    if first is None:
        return None
    last = parse_moment(end) if end else None
    try:
        begins = as_utc(first[0], zone)
    except InvalidRequest:  # the first day of year 1 in a zone east of UTC lies before year 1 in UTC
        return None
    ends = _after(last, zone) if last else _after(first, zone)
    if ends <= begins:
        ends = _after(first, zone)
    return Interval(begins, ends) if ends > begins else None


def _after(moment: tuple[datetime, Granule], zone: tzinfo) -> datetime:
    """Return the first instant after a granule; `datetime.max` at the end of year 9999."""
    start, granule = moment
    try:
        return as_utc(granule_after(start, granule), zone)
    except (OverflowError, ValueError):
        return datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UnextractedPassage:
    """A passage without usable facts, to be retried later.

    Attributes:
        chunk: the ordinal of the passage.
        passage: the passage.
        kind: the kind of task: parked (unusable answer), queued (no answer) or waiting (for more of the conversation).
        reason: the reason why there are no facts.
    """

    chunk: int
    passage: Passage
    kind: TaskKind
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """The extracted facts of each chunk, and their cost.

    Attributes:
        chunks: the facts of each chunk, in order; empty for a waiting chunk.
        usage: the cost of the model calls.
        dropped: the rejected parts of the model's output, with reasons.
        waiting: the passages to retry.
        given: True if the caller supplied the facts.
        shown: the ids of the memories shown with each chunk; facts refer to them by number.
        forget: the requests to forget, with the ids of the requested memories.
    """

    chunks: tuple[tuple[ExtractedFact, ...], ...]
    usage: Usage = NO_USAGE
    dropped: tuple[Dropped, ...] = ()
    waiting: tuple[UnextractedPassage, ...] = ()
    given: bool = False
    shown: tuple[tuple[str, ...], ...] = ()
    forget: tuple[ForgetRequest, ...] = ()


def joined(extractions: Sequence[Extraction]) -> Extraction:
    """Join extractions of one passage each, in order."""
    return Extraction(
        chunks=tuple(chunk for one in extractions for chunk in one.chunks),
        usage=sum((one.usage for one in extractions), NO_USAGE),
        dropped=tuple(item for one in extractions for item in one.dropped),
        waiting=tuple(
            replace(item, chunk=number) for number, one in enumerate(extractions) for item in one.waiting
        ),
        shown=tuple(ids for one in extractions for ids in one.shown or ((),)),
        forget=tuple(request for one in extractions for request in one.forget),
    )


def without_sources(extraction: Extraction) -> Extraction:
    """Return the extraction without sources, for documents, whose passages are not messages."""
    bare = tuple(
        tuple(fact.model_copy(update={"sources": []}) for fact in chunk) for chunk in extraction.chunks
    )
    return replace(extraction, chunks=bare)


LONGEST_FACT = 8000  # characters; a passage has about 3,000 (RetainConfig.chunk_characters)
LONGEST_NAME = 200  # characters of an entity's name; the longest titles are shorter
MOST_FACTS = 100
"""Per passage: one fact for every 30 characters; the paper expects 2 to 5 per exchange [4.1.2]."""
MOST_ENTITIES = 50  # maximum number of entities in a fact
# maximum number of memories that a fact may end; more than half of those shown is implausible
MOST_CHANGES = 8

LOOP_WINDOW = 200  # characters; repetition in a shorter text does not indicate a loop
# number of characters at the end, which are also checked alone, because a loop often begins late
LOOP_TAIL = 1000
GRAM = 8  # characters per compared n-gram
LEAST_VARIETY = 0.1  # share of distinct n-grams: prose has over 0.9, a list of similar items 0.2, a phrase repeated 12 times 0.08

_DIMENSIONS = ("when", "where", "who", "why")


def variety(text: str) -> float:
    """Return the share of distinct 8-character n-grams in `text`, in (0, 1]; 1 for texts too short to judge."""
    total = len(text) - GRAM + 1
    if total < 1:
        return 1.0
    return len({text[at : at + GRAM] for at in range(total)}) / total


def repeats_endlessly(text: str) -> bool:
    """Return whether the text, or its end, repeats itself like the output of a model in a loop."""
    if len(text) < LOOP_WINDOW:
        return False
    return min(variety(text), variety(text[-LOOP_TAIL:])) < LEAST_VARIETY


def problem_of(text: str) -> str:
    """Return why a text cannot be a memory; empty if it can."""
    if len(text) > LONGEST_FACT:
        return f"it has {len(text):,} characters, over the limit of {LONGEST_FACT:,}"
    return "it repeats itself in a loop" if repeats_endlessly(text) else ""


def screen(
    answered: Sequence[AnsweredFact], *, shown: int = 0
) -> tuple[tuple[ExtractedFact, ...], tuple[Dropped, ...]]:
    """Return the facts worth keeping, with causal targets renumbered, and the dropped parts with reasons.

    Args:
        answered: the model's list of facts.
        shown: number of memories shown to the model; references to other numbers are dropped.
    """
    kept: dict[int, ExtractedFact] = {}
    dropped: list[Dropped] = []
    for index, item in enumerate(answered):
        dropped.extend(Dropped(item.excerpt, problem) for problem in item.problems)
        if item.fact is None:
            continue
        refused = _refusal(item.fact, kept)
        if refused:
            dropped.append(Dropped(item.fact.what[:EXCERPT_CHARACTERS], refused))
            continue
        trimmed, unusable = _trimmed(item.fact)
        kept[index], invalid = _with_valid_changes(trimmed, shown)
        dropped.extend((*unusable, *invalid))
    facts, claims = _renumbered(kept)
    return facts, (*dropped, *claims)


def _refusal(fact: ExtractedFact, kept: dict[int, ExtractedFact]) -> str:
    if len(kept) >= MOST_FACTS:
        return f"its passage has more than {MOST_FACTS} facts"
    if not fact.what:
        return "`what` is empty"
    # A repetition within one answer is an error; in different messages, it is two memories.
    return problem_of(fact.what) or ("it occurs twice in the same answer" if fact in kept.values() else "")


def _trimmed(fact: ExtractedFact) -> tuple[ExtractedFact, list[Dropped]]:
    """Remove unusable dimensions, names, statements and records from the fact."""
    bad = {name: problem for name in _DIMENSIONS if (problem := problem_of(getattr(fact, name)))}
    named = [e for e in fact.entities if e.text and len(e.text) <= LONGEST_NAME][:MOST_ENTITIES]
    stated = [text for text in fact.invalidates if text and not problem_of(text)]
    records = [r for r in fact.records if not problem_of(f"{r.kind}{r.category}{r.unit}{r.value}")]
    if len(records) < len(fact.records):
        bad["records"] = f"{len(fact.records) - len(records)} are too long or repetitive"
    if len(named) < len(fact.entities):
        bad["entities"] = f"{len(fact.entities) - len(named)} are empty, too long or too many"
    if len(stated) < len(fact.invalidates):
        bad["invalidates"] = "a statement is empty, too long or repetitive"
    update = {name: "" for name in bad if name in _DIMENSIONS}
    trimmed = fact.model_copy(update={**update, "entities": named, "invalidates": stated, "records": records})
    return trimmed, [Dropped(fact.what[:EXCERPT_CHARACTERS], f"{name}: {why}") for name, why in bad.items()]


def _with_valid_changes(fact: ExtractedFact, shown: int) -> tuple[ExtractedFact, list[Dropped]]:
    """Remove changes that are incomplete or refer to memories that were not shown; remove all if there are too many."""
    if not fact.changes:
        return fact, []
    problems = [_problem_of_change(change, shown) for change in fact.changes]
    if len(fact.changes) > MOST_CHANGES:
        problems = [f"{len(fact.changes)} memories are over the limit of {MOST_CHANGES}"]
        kept = []
    else:
        kept = [change for change, problem in zip(fact.changes, problems, strict=True) if not problem]
    excerpt = fact.what[:EXCERPT_CHARACTERS]
    dropped = [Dropped(excerpt, f"changes: {problem}") for problem in problems if problem]
    return fact.model_copy(update={"changes": kept}), dropped


def _problem_of_change(change: ExtractedChange, shown: int) -> str:
    if change.memory is None:
        return "a memory must be named by its number"
    if change.memory > shown:
        return f"memory {change.memory} does not exist; {shown} were shown"
    if change.change is MemoryChange.REMOVES and not change.items:
        return f"`items` is empty for memory {change.memory}, so no item can be removed"
    return ""


def _renumbered(kept: dict[int, ExtractedFact]) -> tuple[tuple[ExtractedFact, ...], list[Dropped]]:
    """Renumber causal targets by the kept facts; drop claims about the fact itself or about a dropped fact."""
    positions = {index: position for position, index in enumerate(kept)}
    facts, dropped = [], []
    for index, fact in kept.items():
        claims = []
        for claim in fact.causal_relations:
            target = positions.get(claim.target_fact_index)
            if target is None or claim.target_fact_index == index:
                about = (
                    "itself" if target is not None else f"fact {claim.target_fact_index}, which was dropped"
                )
                dropped.append(
                    Dropped(fact.what[:EXCERPT_CHARACTERS], f"causal_relations: the target is {about}")
                )
            else:
                claims.append(claim.model_copy(update={"target_fact_index": target}))
        facts.append(fact.model_copy(update={"causal_relations": claims}))
    return tuple(facts), dropped


_WORD = re.compile(r"\w+")
_COUNTED = frozenset({RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY, RecordKind.GOAL})
_ENDS = frozenset(".!?\"')”。")
_ROLES = frozenset({"the", "user", "assistant"})  # the model may list these instead of names

_WORDED = {Granule.YEAR: "%Y", Granule.MONTH: "%B %Y"}  # finer dates include the weekday


def extracted(
    answered: Sequence[AnsweredItem[ConciseFact]], messages: Sequence[Message]
) -> list[AnsweredFact]:
    """Convert the items of a concise answer to the long prompt's format, with the reasons for omitted parts.

    Args:
        answered: the model's list of facts.
        messages: messages of the passage, numbered from 1.
    """
    return [
        AnsweredItem(
            _fact(item.fact, messages) if item.fact and not _is_cut(item.fact.fact) else None,
            item.excerpt,
            (*item.problems, *problems),
        )
        for item, problems in ((item, _problems(item.fact, messages)) for item in answered)
    ]


def _fact(fact: ConciseFact, messages: Sequence[Message]) -> ExtractedFact:
    said = [messages[number - 1] for number in _known(fact.lines, len(messages))]
    start, _, end = fact.date.partition("/")
    moment = parse_moment(start)
    # `lines` is not used, because small models often get it wrong.
    own = fact.by_assistant and any(role_of(message) is Role.ASSISTANT for message in messages)
    return ExtractedFact(
        what=fact.fact,
        when=f"{moment[0]:{_WORDED.get(moment[1], '%A, %B %d, %Y')}}" if moment else "",
        fact_type=FactType.EXPERIENCE if own else FactType.WORLD,
        occurred_start=start.strip() if moment else None,
        occurred_end=end.strip() if moment and parse_moment(end) else None,
        entities=[
            ExtractedEntity(text=name) for name in dict.fromkeys(fact.names) if _named(name, fact.fact)
        ],
        sources=[message.id or "" for message in said],
        changes=[
            ExtractedChange(memory=number, change=MemoryChange.ENDS) for number in fact.ends if number > 0
        ],
        records=[record for record in fact.records if _has_its_number(record)],
    )


def _known(numbers: Sequence[int], count: int) -> list[int]:
    return sorted({number for number in numbers if 1 <= number <= count})


def _is_cut(text: str) -> bool:
    """Return whether constrained decoding cut a text at the schema's length limit.

    A longer text means that the server ignores the limit, so it was not cut.
    """
    return MOST_CHARACTERS - 2 <= len(text) <= MOST_CHARACTERS and text[-1:] not in _ENDS


def _has_its_number(record: ExtractedRecord) -> bool:
    """Return whether a countable record has a number.

    Small models record an expense for anything that might cost money.
    """
    return record.kind not in _COUNTED or any(letter.isdigit() for letter in str(record.value))


def _named(name: str, text: str) -> bool:
    """Return whether the fact's text mentions the name.

    Small models list every name and role of the passage, whether or not the fact is about it.
    """
    words = set(_WORD.findall(text.casefold()))
    own = [word for word in _WORD.findall(name.casefold()) if len(word) > 1 and word not in _ROLES]
    return any(word in words for word in own)


def _problems(fact: ConciseFact | None, messages: Sequence[Message]) -> list[str]:
    if fact is None:
        return []
    if _is_cut(fact.fact):
        return [f"fact: it was cut off at {MOST_CHARACTERS} characters"]
    problems = []
    if unknown := set(fact.lines) - set(_known(fact.lines, len(messages))):
        problems.append(f"lines: message {min(unknown)} does not exist; there are {len(messages)}")
    if fact.date and not parse_moment(fact.date.partition("/")[0]):
        problems.append(f"date: {fact.date[:24]!r} is not an ISO date")
    if numberless := [record for record in fact.records if not _has_its_number(record)]:
        problems.append(f"records: {str(numberless[0].value)[:24]!r} is not a number")
    return problems


logger = logging.getLogger("hindsight_integrations")

IN_BACKGROUND = "retained in the background"
GATHERS = "waits for more of the conversation"
OUT_OF_TIME = "the retain's time limit for the model has expired"

CONTEXT_MESSAGES = 4  # number of earlier messages shown with a chunk, so that the model can resolve pronouns


class LLMExtractor:
    """An extractor that asks a model for the facts of several passages concurrently.

    Passages that the model has not answered within the timeout of one `extract` call are queued.

    Args:
        model: the model.
        settings: the retain settings.
        options: overrides of the settings for one retain.
    """

    def __init__(
        self, model: LanguageModel, settings: RetainConfig, options: ExtractionOptions = AS_SET
    ) -> None:
        self._model = model
        self.model_name = model.name
        self.limit = settings.passage_characters
        self._concurrent = settings.concurrent_extractions
        self._instructions = Instructions(
            ExtractionMode(settings.extraction),
            settings.guidelines,
            GeneralKnowledge(settings.general_knowledge),
        )
        self._on_failure = options.on_model_failure or OnModelFailure(settings.on_model_failure)
        self._timeout_s = _timeout(settings, options)
        self.defers = options.background or options.extract is not Extract.TURN
        self._gathers = options.extract is not Extract.TURN

    def passages(
        self, messages: Sequence[Message], *, before: Sequence[Message] = (), context: str = ""
    ) -> list[Passage]:
        """Split a conversation into passages; `before` is context that is not extracted again."""
        return passages_of(messages, self.limit, before=before, context=context)

    def cut(self, text: str) -> list[str]:
        """Split a text into passages; no character is lost."""
        return chunk_text(text, self.limit)

    def document_passages(
        self, pieces: Sequence[str], *, timestamp: datetime, context: str = ""
    ) -> list[Passage]:
        """Make passages from the pieces of a document written at `timestamp`."""
        parts = [Message(piece, "text", timestamp, f"part-{n}") for n, piece in enumerate(pieces)]
        return [Passage((part,), (), context) for part in parts]

    async def endings(self, statements: Sequence[OpenStatement]) -> RepairedAnswer[AnsweredEndings]:
        """Ask in one request which memories some statements end; `timeout_s` applies to this request alone.

        Raises:
            ModelError: the model is unavailable, or the request timed out.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await complete_with_repair(self._model, end_memories_prompt(statements))
        except TimeoutError as error:
            raise ModelUnavailable(self._model.name, OUT_OF_TIME) from error

    async def extract_again(self, passages: Sequence[Passage]) -> Extraction:
        """Extract the facts of passages that have a task, one after the other.

        Raises:
            ModelError: the model is unavailable. It is raised even if the settings queue failed passages, because these
                have a task already.
        """
        return joined([await self._facts(passage) for passage in passages])

    async def extract(self, passages: Sequence[Passage]) -> Extraction:
        """Extract the facts of passages concurrently, in order; passages that time out are queued.

        Raises:
            ModelError: the model failed on a passage and the settings do not queue it; nothing was written.
        """
        loop = asyncio.get_running_loop()
        end = None if self._timeout_s is None else loop.time() + self._timeout_s
        gate = asyncio.Semaphore(self._concurrent)
        answered = 0

        async def ask(passage: Passage) -> Extraction:
            nonlocal answered
            try:
                async with asyncio.timeout_at(end) as limit, gate:
                    began = loop.time()
                    extraction = await self._facts_or_queued(passage)
            except TimeoutError:
                if not limit.expired():
                    raise
                return _queued(passage, f"{OUT_OF_TIME} ({self._timeout_s:g} s, extraction_timeout_s)")
            answered += 1
            _log_progress(extraction, f"{answered} of {len(passages)}", loop.time() - began)
            return extraction

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except ExceptionGroup as failures:  # the first failure cancels the other requests
            raise failures.exceptions[0] from None
        if answered < len(passages):
            logger.warning(
                "%d of %d passages are queued: %s", len(passages) - answered, len(passages), OUT_OF_TIME
            )
        return joined([task.result() for task in tasks])

    def waiting(self, passages: Sequence[Passage], error: ModelUnavailable | ModelRefused) -> Extraction:
        """Queue passages that a model failed on, if the settings allow it.

        Raises:
            ModelError: the settings do not allow it; raises `error`.
        """
        if self._on_failure is OnModelFailure.RAISE:
            raise error
        return joined([_queued(passage, f"{type(error).__name__}: {error}") for passage in passages])

    def later(self, passages: Sequence[Passage]) -> Extraction:
        """Queue passages for extraction in the background: each alone, or together with its conversation if the options say so."""
        if self._gathers:
            return joined([_queued(passage, GATHERS, TaskKind.EXTRACT_WAITING) for passage in passages])
        return joined([_queued(passage, IN_BACKGROUND) for passage in passages])

    async def _facts_or_queued(self, passage: Passage) -> Extraction:
        try:
            return await self._facts(passage)
        except (ModelUnavailable, ModelRefused) as error:
            return self.waiting([passage], error)

    async def _facts(self, passage: Passage) -> Extraction:
        try:
            answered, items, forget = await self._answer(passage)
        except PromptTooLong as error:
            return _parked(Extraction(((),)), passage, f"PromptTooLong: {error}")
        shown = (tuple(unit.id for unit in passage.memories),)
        spent = Extraction(((),), answered.usage, shown=shown)
        if items is None:
            reason = f"the model's answer does not match the schema, even after repairs: {answered.problem}"
            return _parked(spent, passage, reason)
        facts, dropped = screen(items, shown=len(passage.memories))
        everything = {"sources": [message.id or "" for message in passage.messages]}
        facts = tuple(fact if fact.sources else fact.model_copy(update=everything) for fact in facts)
        return replace(spent, chunks=(facts,), dropped=dropped, forget=_forget_requests(forget, passage))

    async def _answer(
        self, passage: Passage
    ) -> tuple[RepairedAnswer[Any], Sequence[AnsweredFact] | None, Sequence[AskedToForget]]:
        """Return the answer to the configured prompt, its facts (None if unusable), and the requests to forget."""
        if self._instructions.mode is ExtractionMode.CONCISE:
            prompt = concise_facts_prompt(passage, self._instructions)
            short = await complete_with_repair(self._model, prompt)
            facts = extracted(short.output.facts, passage.messages) if short.output else None
            numbers = short.output.forget if short.output else ()
            return short, facts, [AskedToForget(memories=list(numbers))] if numbers else []
        answered = await complete_with_repair(
            self._model,
            extract_facts_prompt(passage, self._instructions),
            check=lambda answer: _problem_of_replacements(answer.facts, passage),
            keep_last=True,  # the commit refuses an incomplete replacement, but keeps the other facts
        )
        last = answered.last
        return answered, last.facts if last else None, last.forget_requested if last else ()


def _forget_requests(asked: Sequence[AskedToForget], passage: Passage) -> tuple[ForgetRequest, ...]:
    """Convert the requests to forget, with memory ids instead of numbers; omit requests that the user did not make."""
    people = tuple(message.id or "" for message in passage.messages if role_of(message) is Role.USER)
    shown = dict(enumerate((unit.id for unit in passage.memories), 1))
    requests = []
    for each in asked:
        sources = tuple(source for source in each.sources if source in people) if each.sources else people
        if sources:
            units = tuple(dict.fromkeys(shown[number] for number in each.memories if number in shown))
            requests.append(ForgetRequest(each.what[:EXCERPT_CHARACTERS], sources, units))
    return tuple(requests)


def _problem_of_replacements(answer: Sequence[AnsweredFact], passage: Passage) -> str:
    """Describe the details that facts omit from the memories they replace, for a repair prompt; empty if none is missing."""
    problems, numbered = [], dict(enumerate(passage.memories, 1))
    for fact in (item.fact for item in answer if item.fact):
        for change in fact.changes:
            memory = numbered.get(change.memory or 0)
            if memory is None or change.change is not MemoryChange.REPLACES:
                continue
            records = [canonical_record(r.kind, r.category, r.value, r.unit) for r in fact.records]
            told = told_texts(fact.narrative, [each.text for each in fact.entities], records, change.removed)
            items = passage.items.get(memory.id, ())
            whole = replace(memory, records=(*memory.records, *(item.records[0] for item in items)))
            if missing := untold(whole, passage.names.get(memory.id, ()), told):
                problems.append(untold_problem(fact.what, change.memory or 0, listed(missing)))
    return "; ".join(problems)


def passages_of(
    messages: Sequence[Message], limit: int, *, before: Sequence[Message] = (), context: str = ""
) -> list[Passage]:
    """Split a conversation into passages of at most `limit` characters; `before` is only context."""
    passages = []
    earlier = list(before)
    for chunk in chunk_messages(messages, limit):
        passages.append(Passage(chunk, tuple(earlier[-CONTEXT_MESSAGES:]), context))
        earlier = [*earlier[-CONTEXT_MESSAGES:], *chunk]
    return passages


def _queued(passage: Passage, reason: str, kind: TaskKind = TaskKind.EXTRACT_QUEUED) -> Extraction:
    """Return an extraction without facts that queues a passage the model has not answered."""
    return Extraction(((),), waiting=(UnextractedPassage(0, passage, kind, reason),))


def _parked(spent: Extraction, passage: Passage, reason: str) -> Extraction:
    """Return an extraction without facts that parks a passage with an unusable answer, keeping the cost of the attempts."""
    return replace(spent, waiting=(UnextractedPassage(0, passage, TaskKind.EXTRACT_PARKED, reason),))


def _log_progress(extraction: Extraction, place: str, seconds: float) -> None:
    """Log one line per passage, without its content."""
    facts = sum(len(chunk) for chunk in extraction.chunks)
    logger.info(
        "passage %s: %s in %.1f s (%d tokens in, %d out)",
        place,
        "queued" if extraction.waiting else f"{facts} facts",
        seconds,
        extraction.usage.tokens_in,
        extraction.usage.tokens_out,
    )


class EndingJudge:
    """A judge that asks a model which memories each message ends, in one request per passage. If it fails, no memory ends.

    Args:
        model: the model.
        settings: the retain settings.
        options: overrides of the settings for one retain.
    """

    def __init__(self, model: LanguageModel, settings: RetainConfig, options: ExtractionOptions) -> None:
        self._model = model
        self._limit = settings.passage_characters
        self._concurrent = settings.concurrent_extractions
        self._timeout_s = _timeout(settings, options)

    def passages(
        self, extraction: Extraction, messages: Sequence[Message], *, before: Sequence[Message], context: str
    ) -> list[Passage]:
        """Return the passages of a conversation that contain a kept user message.

        Args:
            extraction: the facts of the messages.
            messages: all new messages of the conversation; those without a fact serve as context.
            before: earlier messages.
            context: description of the source.
        """
        asked = _asked(extraction, messages)
        cut = passages_of(messages, self._limit, before=before, context=context)
        return [passage for passage in cut if numbered_messages(passage, asked)]

    async def with_endings(self, extraction: Extraction, passages: Sequence[Passage]) -> Extraction:
        """Add to the extraction's facts the memories that the model says they end.

        Args:
            extraction: extraction of one chunk, with a fact for each kept message.
            passages: the passages with the messages to judge, each with the memories to show.
        """
        asked = _asked(extraction, [message for passage in passages for message in passage.messages])
        shown = dict.fromkeys(unit.id for passage in passages for unit in passage.memories)
        endings = _Endings({unit_id: number for number, unit_id in enumerate(shown, 1)})
        for passage, answered in zip(passages, await self._answers(passages, asked), strict=True):
            endings.add(answered, passage, numbered_messages(passage, asked))
        facts = tuple(endings.applied_to(fact) for chunk in extraction.chunks for fact in chunk)
        return replace(
            extraction,
            chunks=(facts,),
            shown=(tuple(shown),),
            usage=extraction.usage + endings.usage,
            dropped=(*extraction.dropped, *endings.dropped),
        )

    async def _answers(
        self, passages: Sequence[Passage], asked: frozenset[str]
    ) -> list[RepairedAnswer[AnsweredMessageEndings]]:
        """Return the answer for each passage, requested concurrently."""
        end = None if self._timeout_s is None else asyncio.get_running_loop().time() + self._timeout_s
        gate = asyncio.Semaphore(self._concurrent)

        async def ask(passage: Passage) -> RepairedAnswer[AnsweredMessageEndings]:
            prompt = message_endings_prompt(passage, asked)
            try:
                async with asyncio.timeout_at(end), gate:
                    answered = await complete_with_repair(self._model, prompt)
            except TimeoutError:
                answered = RepairedAnswer(None, OUT_OF_TIME, Usage(calls=1))
            except ModelError as error:
                answered = RepairedAnswer(None, type(error).__name__, Usage(calls=1))
            if answered.output is None:
                number = len(numbered_messages(passage, asked))
                logger.warning(
                    "the model gave no usable answer about %d message(s): %s", number, answered.problem
                )
            return answered

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except ExceptionGroup as failures:  # callers expect a ModelError, not a group
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]


@dataclass(slots=True)
class _Endings:
    """The memories that the messages of one retain end, by message.

    Attributes:
        numbers: the number of each shown memory, by id.
        ended: the numbers of the memories that each message ends, by message id.
        dropped: the unusable parts of the answers, with reasons.
    """

    numbers: Mapping[str, int]
    ended: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    dropped: list[Dropped] = field(default_factory=list)
    usage: Usage = NO_USAGE

    def add(
        self,
        answered: RepairedAnswer[AnsweredMessageEndings],
        passage: Passage,
        messages: Mapping[int, Message],
    ) -> None:
        """Add the answer for one passage; `messages` are its judged messages by number."""
        self.usage += answered.usage
        if answered.output is None:
            ids = ", ".join(message.id or "" for message in messages.values())
            self._drop(f"messages {ids}", f"the model gave no usable answer: {answered.problem}")
            return
        for ending in answered.output.endings:
            message = messages.get(ending.message)
            if message is None:
                problem = f"message {ending.message} does not exist; {len(messages)} were numbered"
                self._drop("the model's answer about ended memories", problem)
                continue
            count = len(passage.memories)
            for number in dict.fromkeys(ending.memories):
                if 1 <= number <= count:
                    memory = passage.memories[number - 1]
                    self.ended[message.id or ""].append(self.numbers[memory.id])
                else:
                    self._drop(message.spoken, f"memory {number} does not exist; {count} were shown")

    def applied_to(self, fact: ExtractedFact) -> ExtractedFact:
        """Return a message's fact with the memories the message ends; unchanged if there are too many."""
        numbers = dict.fromkeys(number for source in fact.sources for number in self.ended.get(source, ()))
        if not numbers:
            return fact
        if len(numbers) > MOST_CHANGES:
            self._drop(fact.what, f"{len(numbers)} memories are over the limit of {MOST_CHANGES}")
            return fact
        changes = [ExtractedChange(memory=number, change=MemoryChange.ENDS) for number in numbers]
        return fact.model_copy(update={"changes": changes})

    def _drop(self, what: str, problem: str) -> None:
        self.dropped.append(Dropped(what[:EXCERPT_CHARACTERS], f"changes: {problem}"))


def _asked(extraction: Extraction, messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the messages to judge: kept user messages."""
    kept = {source for chunk in extraction.chunks for fact in chunk for source in fact.sources}
    return frozenset(
        message.id
        for message in messages
        if message.id in kept and role_of(message) is Role.USER and message.id
    )


def extractor_of(services: Services, options: ExtractionOptions = AS_SET) -> LLMExtractor | None:
    """Create the configured fact extractor; None if messages are stored verbatim."""
    settings, model = services.config.retain, services.model
    if model is None or ExtractionMode(settings.extraction) is ExtractionMode.VERBATIM:
        return None
    return LLMExtractor(model, settings, options)


def ending_judge_of(services: Services, options: ExtractionOptions = AS_SET) -> EndingJudge | None:
    """Create the ending judge for verbatim messages; None if a model extracts facts, may not be called, or is shown no memories."""
    settings, model = services.config.retain, services.model
    verbatim = ExtractionMode(settings.extraction) is ExtractionMode.VERBATIM
    if model is None or not verbatim or not settings.most_shown_memories or options.background:
        return None
    return EndingJudge(model, settings, options)


def _timeout(settings: RetainConfig, options: ExtractionOptions) -> float | None:
    """Return the time limit in seconds for all requests of one retain together; None for no limit."""
    return settings.extraction_timeout_s if options.timeout_s is None else options.timeout_s
