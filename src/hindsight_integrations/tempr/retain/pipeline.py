"""Retain, top to bottom (paper section 4.1; design section 5): intake, extraction, drafts, vectors, write turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import DocumentWrite, MessageKey
from hindsight_integrations.offload import Workers
from hindsight_integrations.ports.arrays import Matrix
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.ledger import Receipt
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.tempr.retain.drafts import Draft, Origin, draft_facts, with_tokens
from hindsight_integrations.tempr.retain.extraction import Extraction, LLMExtractor
from hindsight_integrations.tempr.retain.intake import Intake, content_hash
from hindsight_integrations.tempr.retain.names import normalise_name, possible_names
from hindsight_integrations.tempr.retain.time_normalisation import embedding_text
from hindsight_integrations.tempr.retain.verbatim import VerbatimExtractor
from hindsight_integrations.tempr.retain.write_turn import Proposal, write_turn
from hindsight_integrations.tempr.view import BankView, Projector


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """One retain, taken in and checked.

    Attributes:
        intake: messages or document.
        bank: the bank's name.
        zone: in which dates without a zone are read.
        now: mention time of what has none.
        thread: the conversation.
        context: about the source.
        tags: visibility tags for every unit.
        metadata: the caller's strings for every unit.
        entities: entities the caller says every unit mentions.
        facts: facts somebody else extracted; None means extract here.
    """

    intake: Intake
    bank: str
    zone: tzinfo
    now: datetime
    thread: str = ""
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None
    entities: tuple[EntityMention, ...] = ()
    facts: tuple[ExtractedFact, ...] | None = None


@dataclass(frozen=True, slots=True)
class RetainTools:
    """What retain needs of the engine."""

    projector: Projector
    embedder: Embedder
    tokens: TokenCounter
    llm: LLMExtractor | None
    workers: Workers


async def retain(request: RetainRequest, tools: RetainTools) -> RetainResult:
    """Turn messages or a document into memory units, links and entities, in one commit.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    view = tools.projector.view()
    known = await tools.workers.read(view.ledger.known_messages, view.bank, request.intake.keys)
    if len(known) == len(request.intake.keys):
        return _nothing_new(request, view.revision)
    extraction = await _extract(request, known, tools)
    drafts, dropped = draft_facts(extraction.chunks, _origin(request))
    counted, vectors = await tools.workers.read(_measure, drafts, tools)
    proposal = Proposal(
        drafts=counted,
        vectors=vectors,
        keys=request.intake.keys,
        document=_document(request),
        speakers=frozenset(message.speaker for message in request.intake.messages),
        semantic_threshold=tools.embedder.identity.thresholds.semantic_link,
    )
    receipt, unit_ids = await tools.workers.write(write_turn, proposal, tools.projector)
    return RetainResult(
        unit_ids=unit_ids,
        created=len(receipt.created),
        counts=_counts(counted, receipt),
        skipped_messages=len(known),
        dropped=(*request.intake.dropped, *dropped),
        revision=receipt.revision,
        tokens_in=extraction.tokens_in,
        tokens_out=extraction.tokens_out,
    )


def _nothing_new(request: RetainRequest, revision: int) -> RetainResult:
    return RetainResult((), 0, {}, len(request.intake.keys), request.intake.dropped, revision)


async def _extract(request: RetainRequest, known: frozenset[MessageKey], tools: RetainTools) -> Extraction:
    if request.facts is not None:
        return Extraction((request.facts,))
    fresh, before = _split(request.intake, known)
    document = request.intake.document
    if tools.llm is None:
        return await tools.workers.read(_verbatim, request, fresh, tools.projector.view())
    if document is not None:
        return await tools.llm.extract_document(document, context=request.context)
    return await tools.llm.extract(fresh, before=before, context=request.context)


def _split(intake: Intake, known: frozenset[MessageKey]) -> tuple[list[Message], list[Message]]:
    """Messages to extract, and those retained before, which only give context."""
    pairs = list(zip(intake.messages, intake.keys, strict=False))
    return [m for m, key in pairs if key not in known], [m for m, key in pairs if key in known]


def _verbatim(request: RetainRequest, fresh: Sequence[Message], view: BankView) -> Extraction:
    """Every message or passage as it stands, with the names the bank already knows found in any case."""
    document = request.intake.document
    texts = [document.text] if document else [message.text for message in fresh]
    said = {normalise_name(name) for text in texts for name in possible_names(text)} - {""}
    aliases = [entity.name for entity in view.ledger.entities_named(view.bank, sorted(said)).values()]
    extractor = VerbatimExtractor()
    if document is not None:
        return Extraction((tuple(extractor.extract_document(document, zone=request.zone, aliases=aliases)),))
    return Extraction((tuple(extractor.extract(fresh, zone=request.zone, aliases=aliases)),))


def _origin(request: RetainRequest) -> Origin:
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
    )


def _latest(request: RetainRequest) -> datetime:
    return max((m.timestamp for m in request.intake.messages if m.timestamp), default=request.now)


def _document(request: RetainRequest) -> DocumentWrite | None:
    document = request.intake.document
    if document is None or document.id is None:
        return None
    return DocumentWrite(
        id=document.id,
        content_hash=content_hash(document.text),
        context=request.context,
        mentioned_at=document.timestamp or request.now,
        metadata=document.metadata,
        tags=request.tags,
    )


def _measure(drafts: Sequence[Draft], tools: RetainTools) -> tuple[list[Draft], Matrix]:
    """Token counts and vectors of all drafts, each in one batch."""
    units = [draft.unit for draft in drafts]
    counted = with_tokens(drafts, tools.tokens.count([unit.text for unit in units]))
    texts = [embedding_text(unit.text, unit.occurred, unit.mentioned_at) for unit in units]
    return counted, checked_vectors(tools.embedder.embed_documents(texts), len(texts), tools.embedder)


def checked_vectors(vectors: Matrix, count: int, embedder: Embedder) -> Matrix:
    """The vectors, if they are finite and as many and as long as they must be.

    Raises:
        MalformedOutput: they are not; memory is left as it was.
    """
    identity = embedder.identity
    expected = (count, identity.dimension)
    if vectors.shape != expected:
        raise MalformedOutput(
            identity.name, str(vectors.shape), f"vectors of shape {vectors.shape}, not {expected}"
        )
    if not np.isfinite(vectors).all():
        raise MalformedOutput(identity.name, "", "vectors with NaN or infinite numbers")
    return vectors


def _counts(drafts: Sequence[Draft], receipt: Receipt) -> dict[FactType, int]:
    """New units per network."""
    created = set(receipt.created)
    counts = Counter(draft.unit.fact_type for draft in drafts if draft.unit.id in created)
    return {kind: counts[kind] for kind in FactType if counts[kind]}
