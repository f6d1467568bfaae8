"""The first half of a retain: choose the memories to show to a model, extract new messages and draft their units.

Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import numpy as np

from hindsight_integrations.config import ExtractionOptions
from hindsight_integrations.errors import ModelRefused, ModelUnavailable
from hindsight_integrations.indexes.bank_view import BankView, Projector
from hindsight_integrations.indexes.columns import memories_and_items, mentioned_by, tagged, valid_at
from hindsight_integrations.indexes.documents import DocumentItems, valid_items
from hindsight_integrations.indexes.embedding import embedded
from hindsight_integrations.indexes.hybrid import Selection, hybrid_search
from hindsight_integrations.language.categories import categories_to_show
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.names import possible_names
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message, TagsMatch
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.model.text import StoredSnippet
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit, ValidityKind
from hindsight_integrations.model.writes import MessageKey, Place
from hindsight_integrations.models.protocols import Embedder, TokenCounter
from hindsight_integrations.prompts.extract_facts import Passage, records_beside
from hindsight_integrations.retain.changes import RETRACTABLE, sharing_units, undone_by, units_of
from hindsight_integrations.retain.documents import DocumentPlan, plan_document
from hindsight_integrations.retain.drafts import Origin, Proposal, WaitingPassage, draft_facts, forgettings
from hindsight_integrations.retain.extraction import (
    EndingJudge,
    Extraction,
    LLMExtractor,
    ending_judge_of,
    extractor_of,
    without_sources,
)
from hindsight_integrations.retain.recalled_text import (
    may_repeat,
    recalled_texts,
    stands_on,
    without_repeated,
    worth_remembering,
)
from hindsight_integrations.retain.replacing import names_of_entities
from hindsight_integrations.retain.turns import turns_of, waiting_tasks, waiting_turns
from hindsight_integrations.retain.verbatim import VerbatimExtractor, in_pieces, passages, questions_answered
from hindsight_integrations.services import Services
from hindsight_integrations.validation.intake import (
    ConversationIntake,
    DocumentIntake,
    Snippet,
    document_thread,
)
from hindsight_integrations.validation.messages import role_of
from hindsight_integrations.validation.retain_request import RetainRequest

SHOWN_TOKENS = 1_500
"""Token budget for memories per passage; a passage of 3,000 characters has about 750 tokens."""
# maximum number of turns per passage used as queries (the longest); 3,000 characters rarely have more
MOST_TURNS = 32
ITEM_TOKENS = 6  # overhead of an item's number and line break
RECORD_CHARACTERS = 3  # estimated characters per token of the records printed with a memory
WIDER = 3  # number of candidates searched for each place
# Small, so that the matches of a turn lose their places to those of nearer turns quickly. In a simulated year, 94.1 % of the
# memories that a session changes are shown in 16 places, and 92.6 % if each turn gets as many places.
RANK_OFFSET = 4
NEAREST_SHARE = 3  # the nearest memories get one of this many places, even if they are past
# number of characters at the end of the agent's message that are part of the query for the user's turn
QUESTION_CHARACTERS = 200
SAME_DAY = timedelta(days=1)

_DATED = {RecordKind.EVENT, RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY}
"""Kinds of records that belong to a point in time; a task, goal or preference stays open until a statement ends it."""


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """Memories to show to a model.

    Attributes:
        memories: the memories, the oldest first; for documents, their heads.
        items: the valid items in their served order, by id of the document.
        names: the names of the memories' entities, by memory id.
        hidden: the number of valid items that did not fit, by id of the document.
    """

    memories: tuple[MemoryUnit, ...] = ()
    items: Mapping[str, tuple[MemoryUnit, ...]] = field(default_factory=dict)
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    hidden: Mapping[str, int] = field(default_factory=dict)


def with_memories(
    passages: Sequence[Passage],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    undone: Sequence[MemoryUnit] = (),
) -> list[Passage]:
    """Add to each passage the bank's nearest valid memories; documents include their valid items.

    Args:
        passages: the passages of one conversation; their messages have timestamps.
        view: a view of the bank.
        embedder: the bank's embedder.
        tags: the retain's tags; only memories that a recall with these tags can return are shown.
        limit: maximum number of memories per passage.
        undone: memories that the new version of the messages makes valid again; they come first.

    Raises:
        ModelError: the embedder failed.
    """
    shown = [
        nearest_memories(
            passage.messages, view, embedder, tags=tags, limit=limit, before=passage.before, undone=undone
        )
        for passage in passages
    ]
    return [
        replace(passage, memories=near.memories, items=near.items, names=near.names, hidden=near.hidden)
        for passage, near in zip(passages, shown, strict=True)
    ]


def nearest_memories(
    messages: Sequence[Message],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    before: Sequence[Message] = (),
    undone: Sequence[MemoryUnit] = (),
) -> ShownMemories:
    """Return the valid memories nearest to the users' messages, within a token budget; see `in_order_of_use`.

    Each turn is a separate query by meaning and by words. The end of the message that it answers is part of the query, since
    a turn such as "Not any more." has no searchable content. The best matches of all turns come first; see `_nearest_rows`. A
    matching item selects its document.
    """
    said = _turns(messages, before)
    moments = [message.timestamp for message in messages if isinstance(message.timestamp, datetime)]
    if not said or not moments or not limit:
        return ShownMemories()
    columns = view.columns
    mask = (
        valid_at(columns, None)
        & memories_and_items(columns, RETRACTABLE)
        & tagged(columns, tags, TagsMatch.ANY)
    )
    mask &= mentioned_by(columns, max(moments))
    documents = DocumentItems.at(columns, None)
    mask = documents.as_their_documents(mask, columns)
    selected = Selection(mask, int(mask.sum()))
    nearest = (
        _nearest_rows(said, embedded(said, embedder), view, selected, limit=WIDER * limit)
        if selected.count
        else []
    )
    back = view.ledger.units.row_ids(view.bank, [unit.part_of or unit.id for unit in undone])
    rows = np.array([*back.values(), *nearest], np.int64)
    restored = {unit.id for unit in undone}
    return _within_budget(documents.documents_of(rows), rows, view, limit, max(moments), restored)


def in_order_of_use(nearest: Sequence[int], over: Collection[int], limit: int) -> list[int]:
    """Order the candidates so that the first `limit` are the most useful to the model. Pure.

    One third of the places goes to the nearest memories of any kind, so that a message can correct past events. The
    other places go to the nearest memories that can still change, and then to past ones.

    Args:
        nearest: row ids of the candidates, nearest first.
        over: row ids of memories that only describe the past; see `is_over`.
        limit: the number of places.
    """
    first = nearest[: -(-limit // NEAREST_SHARE)]
    return list(dict.fromkeys((*first, *(row for row in nearest if row not in over), *nearest)))


def is_over(unit: MemoryUnit, ended: Sequence[MemoryUnit], moment: datetime) -> bool:
    """Return whether a memory only describes the past, so that it is unlikely to change. Pure.

    This applies to past events, to values spent or measured on an earlier day, and to statements that something was
    done, cancelled or removed, if they ended a task, a document item or another memory with a record.

    Args:
        unit: a memory without items.
        ended: the memories that `unit` ended.
        moment: the time of the passage.
    """
    kinds = {record.kind for record in unit.records}
    if not kinds:
        return any(each.records for each in ended)
    if not kinds <= _DATED:
        return False
    if unit.occurred:
        return unit.occurred.end <= moment
    return RecordKind.EVENT not in kinds and unit.mentioned_at + SAME_DAY <= moment


def _turns(messages: Sequence[Message], before: Sequence[Message]) -> list[str]:
    """Return the user's turns, the longest first, each preceded by the end of the assistant's message before it."""
    said = []
    earlier = before[-1] if before else None
    for message in messages:
        if role_of(message) is Role.USER and message.text.strip():
            answers = earlier is not None and role_of(earlier) is Role.ASSISTANT
            question = earlier.text[-QUESTION_CHARACTERS:] if earlier and answers else ""
            said.append((len(message.text), f"{question} {message.text}".strip()))
        earlier = message
    return [text for _, text in sorted(said, key=lambda turn: -turn[0])[:MOST_TURNS]]


def _nearest_rows(
    texts: Sequence[str], vectors: Matrix, view: BankView, selected: Selection, *, limit: int
) -> list[int]:
    """Return the row ids nearest to the texts, by the largest c / (4 + rank) of any text.

    c is the best cosine of the text and a memory, so that a turn about something remembered gets more places than small talk.
    """
    scores: dict[int, float] = {}
    for text, vector in zip(texts, vectors, strict=True):
        ids, cosine = hybrid_search(view, selected, text, vector, limit=limit)
        for rank, row in enumerate(ids.tolist()):
            scores[row] = max(scores.get(row, -1.0), cosine / (RANK_OFFSET + rank))
    return sorted(scores, key=lambda row: (-scores[row], row))


def _within_budget(
    documents: IntArray, matches: IntArray, view: BankView, limit: int, moment: datetime, restored: set[str]
) -> ShownMemories:
    """Select the first units that fit the token budget, ordered by age; units that do not fit are skipped.

    A document includes the items that match, then as many others as fit.

    Args:
        documents: row ids to show, the nearest first; may contain duplicates.
        matches: row ids of the matching units, parallel to `documents`: the document itself or one of its items.
        view: a view of the bank.
        limit: maximum number of units.
        moment: the time of the passage.
        restored: ids of invalid memories and items that become valid again.
    """
    rows = list(dict.fromkeys(documents.tolist()))[: WIDER * limit]
    units = view.ledger.units.get(view.bank, np.asarray(rows, np.int64))
    items = valid_items(rows, view.ledger, view.bank, held=restored)
    matches = matches[np.isin(documents, rows)]
    nearest = view.ledger.units.unit_ids(view.bank, np.unique(matches))
    ranks = {nearest[row]: rank for rank, row in enumerate(matches.tolist()) if row in nearest}
    kept: dict[str, MemoryUnit] = {}
    shown: dict[str, tuple[MemoryUnit, ...]] = {}
    hidden: dict[str, int] = {}
    left = SHOWN_TOKENS
    plain = {row: unit for row, unit in units.items() if not items.get(row) and unit.id not in restored}
    over = _over(plain, view, moment)
    for row in in_order_of_use(rows, over, limit):
        unit = units.get(row)
        if unit is None or len(kept) >= limit:
            continue
        tokens = unit.tokens + len(records_beside(unit)) // RECORD_CHARACTERS
        if tokens > left:
            continue
        kept[unit.id] = unit
        left -= tokens
        own = []
        for item in sorted(items.get(row, ()), key=lambda item: ranks.get(item.id, len(ranks))):
            if item.tokens + ITEM_TOKENS <= left:
                own.append(item)
                left -= item.tokens + ITEM_TOKENS
        if own:
            chosen = {item.id for item in own}
            shown[unit.id] = tuple(item for item in items[row] if item.id in chosen)
        if no_room := len(items.get(row, ())) - len(own):
            hidden[unit.id] = no_room
    oldest_first = sorted(kept.values(), key=lambda unit: (unit.mentioned_at, unit.id))
    return ShownMemories(tuple(oldest_first), shown, _names_of(oldest_first, view), hidden)


def _over(units: Mapping[int, MemoryUnit], view: BankView, moment: datetime) -> set[int]:
    """Return the row ids of the units that only describe the past."""
    ended: dict[str, list[str]] = {}
    for event in view.ledger.units.stated_by(
        view.bank, [unit.id for unit in units.values() if not unit.records]
    ):
        if event.kind is ValidityKind.CLOSED and event.by_unit:
            ended.setdefault(event.by_unit, []).append(event.unit_id)
    rows = view.ledger.units.row_ids(view.bank, [unit_id for some in ended.values() for unit_id in some])
    stored = view.ledger.units.get(view.bank, np.array(sorted(rows.values()), np.int64))
    gone = {unit.id: unit for unit in stored.values()}
    return {
        row
        for row, unit in units.items()
        if is_over(unit, [gone[key] for key in ended.get(unit.id, ()) if key in gone], moment)
    }


def _names_of(memories: Sequence[MemoryUnit], view: BankView) -> dict[str, list[tuple[str, ...]]]:
    """Return the names of the memories' entities, by memory id."""
    rows = view.ledger.units.row_ids(view.bank, [unit.id for unit in memories])
    entities = view.ledger.entities.of_units(view.bank, np.fromiter(rows.values(), np.int64, len(rows)))
    return {unit_id: names_of_entities(entities.get(row, ())) for unit_id, row in rows.items()}


CATEGORY_TOKENS = 300  # token budget for record categories per passage: about a hundred names


def with_categories(
    passages: Sequence[Passage], view: BankView, tokens: TokenCounter, *, tags: tuple[str, ...]
) -> list[Passage]:
    """Add to each passage the bank's record categories, within a token budget, so that the model reuses existing names.

    With tags, only the categories of the shown memories are added, because tags limit visibility.

    Args:
        passages: the passages with their memories.
        view: a view of the bank.
        tokens: the token counter.
        tags: the retain's tags.
    """
    known = view.ledger.records.categories(view.bank)
    shown = []
    for passage in passages:
        seen = {(r.kind, r.category) for unit in passage.memories for r in unit.records}
        fit = [one for one in known if not tags or (one.kind, one.name) in seen]
        text = "\n".join(message.text for message in passage.messages)
        names = categories_to_show(fit, text, limit=CATEGORY_TOKENS, count=tokens.count)
        shown.append(replace(passage, categories=names))
    return shown


def snippet_tasks(snippets: Iterable[Snippet]) -> list[WaitingPassage]:
    """Create a task, due immediately, to merge each text about the agent into its background (paper section 6.1, step 5)."""
    return [
        WaitingPassage(
            TaskWrite(TaskKind.MERGE_BACKGROUND, _payload(snippet), reason="merge into the background"),
            frozenset({snippet.key}),
        )
        for snippet in snippets
    ]


def _payload(snippet: Snippet) -> str:
    message = () if snippet.document_id else (snippet.key.message_id,)
    stored = StoredSnippet(
        snippet.text, snippet.said_at, snippet.key.thread, message, snippet.document_id or ""
    )
    return stored.dumped()


async def prepare(request: RetainRequest, projector: Projector, services: Services) -> Proposal | None:
    """Extract the request's new messages or passages and draft their units; return None if all are stored already.

    Nothing is written.

    Raises:
        ModelError: the model is unavailable, and the settings do not queue the passages.
    """
    if isinstance(request.intake, DocumentIntake):
        return await _prepare_document(request, request.intake, projector, services)
    return await _prepare_conversation(request, request.intake, projector, services)


async def _prepare_conversation(
    request: RetainRequest, intake: ConversationIntake, projector: Projector, services: Services
) -> Proposal | None:
    about_agent = snippet_tasks(intake.snippets)
    known, fresh, before = await services.workers.read(_unread, intake, request.dropped, projector)
    if (
        not fresh
        and len(known) == len(intake.keys)
        and not await services.workers.read(_unknown, about_agent, projector)
    ):
        return None
    extraction = await _extract_messages(request, fresh, before, projector, services)
    origin = replace(
        _origin(request), moments={message: moment for (_, message), moment in intake.moments.items()}
    )
    messages = dict(zip(intake.keys, intake.messages, strict=True))
    by_id = {key.message_id: message for key, message in messages.items()}
    fresh_messages = {key: message for key, message in messages.items() if key not in known}
    drafts, dropped = draft_facts(extraction, origin, messages=by_id)
    speakers = {key: message.speaker for key, message in messages.items()}
    return Proposal(
        drafts=drafts,
        keys=(*intake.keys, *(snippet.key for snippet in intake.snippets)),
        speakers=frozenset(speakers.values()),
        moments=intake.moments,
        turns=turns_of(fresh_messages, intake.moments, request.tags)
        if services.config.retain.source_turns
        else (),
        waiting=(
            *await _waiting_passages(extraction, origin, speakers, services, request.options),
            *about_agent,
        ),
        skipped=len(known),
        dropped=(*intake.dropped, *extraction.dropped, *dropped),
        forget=forgettings(extraction.forget, origin),
        usage=extraction.usage,
    )


async def _waiting_passages(
    extraction: Extraction,
    origin: Origin,
    speakers: Mapping[MessageKey, str],
    services: Services,
    options: ExtractionOptions,
) -> tuple[WaitingPassage, ...]:
    """Return the waiting passages of a conversation, with the turns that recall finds until they are extracted."""
    limit = services.config.retain.passage_characters
    passages = waiting_tasks(extraction.waiting, origin, speakers, options=options, limit=limit)

    def with_units() -> tuple[WaitingPassage, ...]:
        return tuple(
            replace(
                passage,
                turns=waiting_turns(
                    waiting.passage.messages, origin, _verbatim(services), chunk=waiting.chunk
                ),
            )
            for passage, waiting in zip(passages, extraction.waiting, strict=True)
        )

    return await services.workers.read(with_units) if passages else ()


async def _prepare_document(
    request: RetainRequest, intake: DocumentIntake, projector: Projector, services: Services
) -> Proposal | None:
    revision = await services.workers.read(projector.ledger.revision, projector.name)
    plan = await services.workers.read(
        _planned, request, intake, projector, extractor_of(services, request.options)
    )
    if plan is None:
        return None
    extraction = await _extract_passages(request, intake, plan, projector, services)
    origin = replace(
        _origin(request), document_id=intake.id, metadata={**intake.metadata, **request.metadata}
    )
    ordinals = [chunk.ordinal for chunk in plan.unread]
    drafts, dropped = draft_facts(extraction, origin, ordinals=ordinals)
    version = MessageKey(document_thread(intake.id), "", plan.write.content_hash)
    return Proposal(
        drafts=drafts,
        keys=tuple(dict.fromkeys((*intake.keys, version))),
        moments=intake.moments,
        documents=(plan,),
        waiting=(
            *waiting_tasks(extraction.waiting, origin, {}, ordinals=ordinals),
            *snippet_tasks(intake.snippets),
        ),
        revision=revision,
        dropped=(*extraction.dropped, *dropped),
        usage=extraction.usage,
    )


def _verbatim(services: Services) -> VerbatimExtractor:
    return VerbatimExtractor(services.languages, services.dates.order, services.dates.week_starts)


def _origin(request: RetainRequest) -> Origin:
    """Build an origin with the fields that conversations and documents share."""
    return Origin(
        bank=request.bank,
        zone=str(request.zone),
        mentioned_at=request.intake.mentioned_at,
        thread=request.thread,
        context=request.context,
        tags=request.tags,
        metadata=request.metadata,
        entities=request.entities,
    )


def _unread(
    intake: ConversationIntake, dropped: Sequence[Place], bank: Projector
) -> tuple[frozenset[MessageKey], list[Message], list[Message]]:
    """Return the known keys, the messages to extract, and the messages that are only context.

    New and edited messages are extracted, and so are messages that share a fact with an edited or dropped one.
    """
    with bank.single_read() as ledger:
        known = ledger.turns.known(bank.name, intake.keys)
    edited = [*(key.place for key in intake.keys if key not in known), *dropped]
    shared = (
        sharing_units(units_of(bank.ledger, bank.name, edited), edited) if known and edited else frozenset()
    )
    fresh: list[Message] = []
    before: list[Message] = []
    for key, message in zip(intake.keys, intake.messages, strict=True):
        (fresh if key not in known or key.place in shared else before).append(message)
    return known, fresh, before


def _unknown(passages: Sequence[WaitingPassage], bank: Projector) -> bool:
    """Return whether the passages contain a message that the bank does not have."""
    keys = [key for passage in passages for key in passage.keys]
    return len(bank.ledger.turns.known(bank.name, keys)) < len(keys)


def _planned(
    request: RetainRequest, intake: DocumentIntake, bank: Projector, llm: LLMExtractor | None
) -> DocumentPlan | None:
    """Return the changes that this version makes to the document; None if it is stored already."""
    if bank.ledger.turns.known(bank.name, intake.keys):
        return None
    stored = bank.ledger.units.document(bank.name, intake.id)
    cut = llm.cut if llm else passages
    return plan_document(
        intake,
        stored,
        cut if request.facts is None else None,
        context=request.context,
        tags=request.tags,
    )


async def _extract_messages(
    request: RetainRequest,
    fresh: Sequence[Message],
    before: Sequence[Message],
    projector: Projector,
    services: Services,
) -> Extraction:
    if request.facts is not None:
        return Extraction((request.facts,), given=True)
    if not fresh:  # all new messages are system messages
        return Extraction(())
    llm = extractor_of(services, request.options)
    if llm is not None:
        cut = llm.passages(fresh, before=before, context=request.context)
        if llm.defers:
            return llm.later(cut)
        try:
            edited = [(request.thread, message.id or "") for message in fresh]
            with_shown = await shown(
                cut,
                request.tags,
                projector,
                services,
                edited=[*edited, *request.dropped],
                absent=request.absent,
            )
        except (
            ModelUnavailable,
            ModelRefused,
        ) as error:  # raised by the embedder, without which no memory can be searched
            return llm.waiting(cut, error)
        return await without_recalled(
            await llm.extract(with_shown), with_shown, projector, services, dropped=request.dropped
        )
    judge = ending_judge_of(services, request.options)
    recalled = await _recalled(fresh, projector, services, request.dropped)

    def verbatim() -> Extraction:
        answered = questions_answered([*before, *fresh])
        worth = worth_remembering(
            fresh, recalled, services.languages, answers=answered.keys(), judged=judge is not None
        )
        pieces = in_pieces(worth.messages)
        aliases = _known_names([message.text for message in pieces], projector, services.languages)
        facts = _verbatim(services).extract(pieces, answered=answered, zone=request.zone, aliases=aliases)
        return Extraction((tuple(facts),), dropped=worth.left_out)

    extraction = await services.workers.read(verbatim)
    if judge is None:
        return extraction
    return await _with_endings(extraction, judge, request, fresh, before, projector, services)


async def _with_endings(
    extraction: Extraction,
    judge: EndingJudge,
    request: RetainRequest,
    fresh: Sequence[Message],
    before: Sequence[Message],
    projector: Projector,
    services: Services,
) -> Extraction:
    """Let a model judge which memories are no longer true after each verbatim fact, and record them in the facts.

    The model is called only if there are memories to show.

    Memories made from earlier versions of the same messages are not shown, since the edit invalidates them.
    """
    cut = judge.passages(extraction, fresh, before=before, context=request.context)
    edited = [*((request.thread, message.id or "") for message in fresh), *request.dropped]
    with_shown = (
        await shown(
            cut,
            request.tags,
            projector,
            services,
            edited=edited,
            absent=request.absent,
            categories=False,
        )
        if cut
        else ()
    )
    own = frozenset((request.thread, message.id or "") for message in fresh)
    others = (
        replace(passage, memories=[unit for unit in passage.memories if not stands_on(unit, own)])
        for passage in with_shown
    )
    passages = [passage for passage in others if passage.memories]
    return await judge.with_endings(extraction, passages) if passages else extraction


async def _recalled(
    messages: Sequence[Message], projector: Projector, services: Services, dropped: Sequence[Place]
) -> Mapping[str, Sequence[MemoryUnit]]:
    """Return the memories that messages may repeat, by message id."""
    suspected = [message for message in messages if may_repeat(message)]
    if not suspected:
        return {}
    async with projector.viewing() as view:
        return await services.workers.read(
            partial(recalled_texts, dropped=frozenset(dropped)), suspected, view
        )


async def without_recalled(
    extraction: Extraction,
    passages: Sequence[Passage],
    projector: Projector,
    services: Services,
    *,
    dropped: Sequence[Place],
) -> Extraction:
    """Remove facts that only repeat memories quoted in the messages or shown to the model.

    Args:
        extraction: the facts of the passages.
        passages: the passages, with the memories shown with them.
        projector: the bank.
        services: the engine's services.
        dropped: messages whose memories are ignored: those that are no longer part of the conversation, or those of the
            passages themselves.
    """
    said = {message.id or "": message for passage in passages for message in passage.messages}
    recalled = await _recalled([*said.values()], projector, services, dropped)
    memories = [
        unit for passage in passages for unit in passage.memories if not stands_on(unit, frozenset(dropped))
    ]
    memories += [unit for units in recalled.values() for unit in units]
    screened = [without_repeated(facts, memories, said) for facts in extraction.chunks]
    if not any(left_out for _, left_out in screened):
        return extraction
    return replace(
        extraction,
        chunks=tuple(tuple(facts) for facts, _ in screened),
        dropped=(*extraction.dropped, *(each for _, left_out in screened for each in left_out)),
    )


async def shown(
    cut: Sequence[Passage],
    tags: tuple[str, ...],
    projector: Projector,
    services: Services,
    *,
    memories: bool = True,
    edited: Sequence[Place] = (),
    absent: frozenset[Place] = frozenset(),
    categories: bool = True,
) -> Sequence[Passage]:
    """Add to the passages the memories and record categories that the settings show to the model.

    Args:
        cut: the passages.
        tags: the retain's tags.
        projector: the bank.
        services: the engine's services.
        memories: False for documents, which cannot end memories.
        edited: messages that may have a new version; memories that their earlier version ended count as valid.
        absent: messages that are not part of the conversation; memories made from them stay invalid.
        categories: False omits record categories.
    """
    most = services.config.retain.most_shown_memories if memories else 0
    categories = categories and services.config.retain.shown_categories

    def looked_up(view: BankView) -> Sequence[Passage]:
        passages = cut
        if most:
            undone = undone_by(view.ledger, view.bank, edited, gone=absent)
            passages = with_memories(cut, view, services.embedder, tags=tags, limit=most, undone=undone)
        if categories:
            passages = with_categories(passages, view, services.tokens, tags=tags)
        return passages

    if not most and not categories:
        return cut
    async with projector.viewing() as view:
        return await services.workers.read(looked_up, view)


async def _extract_passages(
    request: RetainRequest,
    intake: DocumentIntake,
    plan: DocumentPlan,
    projector: Projector,
    services: Services,
) -> Extraction:
    if request.facts is not None:
        return Extraction((request.facts,), given=True)
    pieces = [chunk.text for chunk in plan.unread]
    llm = extractor_of(services, request.options)
    if llm is not None:
        cut = llm.document_passages(pieces, timestamp=intake.mentioned_at, context=request.context)
        if request.options.background:
            return without_sources(llm.later(cut))
        with_shown = await shown(cut, request.tags, projector, services, memories=False)
        return without_sources(await llm.extract(with_shown))

    def verbatim() -> Extraction:
        aliases = _known_names(pieces, projector, services.languages)
        facts = _verbatim(services).extract_passages(
            pieces, timestamp=intake.mentioned_at, zone=request.zone, aliases=aliases
        )
        return Extraction(tuple((fact,) for fact in facts))

    return await services.workers.read(verbatim)


def _known_names(texts: Sequence[str], bank: Projector, languages: Sequence[Language]) -> list[str]:
    """Return the names of the bank's entities that may occur in the texts, ignoring case."""
    names = (name for text in texts for name in possible_names(text, languages))
    possible = {normalise_name(name) for name in names} - {""}
    return [entity.name for entity in bank.ledger.entities.named(bank.name, sorted(possible)).values()]
