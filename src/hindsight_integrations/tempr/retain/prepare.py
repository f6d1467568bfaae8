"""What a retain is given, and its first half: intake, extraction, drafts. Nothing is written here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from hindsight_integrations.concurrency.in_flight import InFlight
from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.writes import DocumentWrite
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import BankView, Projector
from hindsight_integrations.tempr.retain.drafts import Draft, Origin, draft_facts
from hindsight_integrations.tempr.retain.extraction.llm import Extraction, LLMExtractor
from hindsight_integrations.tempr.retain.extraction.verbatim import VerbatimExtractor, passages
from hindsight_integrations.tempr.retain.planning import Reading, read_conversation, read_document
from hindsight_integrations.tempr.retain.waiting import WaitingTask, waiting_tasks
from hindsight_integrations.text.names import possible_names
from hindsight_integrations.validation.retain_request import RetainRequest


@dataclass(frozen=True, slots=True)
class RetainTools:
    """What retain needs of the engine."""

    projector: Projector
    embedder: Embedder
    tokens: TokenCounter
    llm: LLMExtractor | None
    workers: Workers
    clock: Clock
    in_flight: InFlight = field(default_factory=InFlight)
    time_languages: Sequence[str] = ("en",)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A retain read and drafted, before vectors and before anything of the bank is decided."""

    request: RetainRequest
    reading: Reading
    extraction: Extraction
    drafts: Sequence[Draft]
    dropped: tuple[Dropped, ...]
    revision: int
    waiting: tuple[WaitingTask, ...] = ()


async def prepare(request: RetainRequest, tools: RetainTools) -> Prepared | None:
    """Read what the bank does not know yet and draft its units; None where it knows everything. Writes nothing."""
    view = tools.projector.view()
    reading = await tools.workers.read(_reading, request, view, tools)
    if reading.nothing_new:
        return None
    extraction = await _extract(request, reading, tools)
    origin = _origin(request, reading.ordinals)
    drafts, dropped = draft_facts(extraction.chunks, origin)
    said = {k: m.speaker for k, m in zip(request.intake.keys, request.intake.messages, strict=False)}
    waiting = waiting_tasks(extraction.waiting, origin, said, now=tools.clock.now())
    left_out = (*extraction.dropped, *dropped)
    return Prepared(request, reading, extraction, drafts, left_out, view.revision, waiting)


def _reading(request: RetainRequest, view: BankView, tools: RetainTools) -> Reading:
    if request.intake.document is None:
        return read_conversation(request.intake, view)
    cut = tools.llm.cut if tools.llm else passages
    return read_document(
        request.intake,
        view,
        cut if request.facts is None else None,
        partial(_document, request),
        append=request.append,
    )


async def _extract(request: RetainRequest, reading: Reading, tools: RetainTools) -> Extraction:
    if request.facts is not None:
        return Extraction((request.facts,))
    if tools.llm is None:
        return await tools.workers.read(_verbatim, request, reading, tools)
    if reading.change is not None:
        whole = reading.change.plan.document
        return await tools.llm.extract_document(whole, pieces=reading.pieces, context=request.context)
    return await tools.llm.extract(reading.fresh, before=reading.before, context=request.context)


def _verbatim(request: RetainRequest, reading: Reading, tools: RetainTools) -> Extraction:
    """Every message or passage as it stands, with the names the bank already knows found in any case."""
    document, pieces, fresh = request.intake.document, reading.pieces, reading.fresh
    view = tools.projector.view()
    texts = list(pieces) if document else [message.text for message in fresh]
    said = {normalise_name(name) for text in texts for name in possible_names(text)} - {""}
    aliases = [entity.name for entity in view.ledger.entities_named(view.bank, sorted(said)).values()]
    extractor = VerbatimExtractor(tools.time_languages)
    if document is not None:
        facts = extractor.extract_passages(
            pieces, timestamp=document.timestamp, zone=request.zone, aliases=aliases
        )
        return Extraction(tuple((fact,) for fact in facts))
    return Extraction((tuple(extractor.extract(fresh, zone=request.zone, aliases=aliases)),))


def _origin(request: RetainRequest, ordinals: tuple[int, ...]) -> Origin:
    document = request.intake.document
    return Origin(
        bank=request.bank,
        zone=request.zone,
        mentioned_at=(document.timestamp if document else None) or _latest(request),
        moments={m.id or "": m.timestamp or request.now for m in request.intake.messages},
        thread=request.thread,
        document_id=document.id if document else None,
        context=request.context,
        tags=request.tags,
        metadata={**(document.metadata if document else {}), **(request.metadata or {})},
        entities=request.entities,
        ordinals=ordinals,
        messages={m.id or "": m for m in request.intake.messages},
    )


def _latest(request: RetainRequest) -> datetime:
    return max((m.timestamp for m in request.intake.messages if m.timestamp), default=request.now)


def _document(request: RetainRequest, digest: str) -> DocumentWrite:
    document = request.intake.document
    return DocumentWrite(
        id=(document.id if document else None) or "",
        content_hash=digest,
        context=request.context,
        mentioned_at=(document.timestamp if document else None) or request.now,
        metadata=document.metadata if document else {},
        tags=request.tags,
    )
