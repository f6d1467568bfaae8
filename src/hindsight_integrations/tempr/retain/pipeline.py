"""Retain, top to bottom (paper section 4.1; design section 5): intake, extraction, drafts, vectors, write turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import Matrix
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.tempr.retain.commit import Proposal, write_turn
from hindsight_integrations.tempr.retain.drafts import Draft, joined, with_tokens
from hindsight_integrations.tempr.retain.prepare import Prepared, RetainTools, prepare
from hindsight_integrations.tempr.retain.retraction.retraction import Withdrawn, with_withdrawals
from hindsight_integrations.tempr.retain.time_normalisation import embedding_text
from hindsight_integrations.tempr.retain.waiting import parked
from hindsight_integrations.validation.intake import document_thread
from hindsight_integrations.validation.retain_request import RetainRequest


async def retain(request: RetainRequest, tools: RetainTools) -> RetainResult:
    """Turn messages or a document into memory units, links and entities, in one commit.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    async with tools.in_flight.alone(request.slots):
        prepared = await prepare(request, tools)
        if prepared is None:
            return nothing_new(request, tools.projector.view().revision)
        (result,) = await store([prepared], tools)
        return result


async def store(prepared: Sequence[Prepared], tools: RetainTools) -> list[RetainResult]:
    """Embed several retains in one batch and commit them together; a result for each.

    They must have no slot in common. All of them or none is written.
    """
    drafts = joined([item.drafts for item in prepared])
    counted, vectors = await tools.workers.read(measured, drafts, tools)
    proposal = Proposal(
        drafts=counted,
        vectors=vectors,
        keys=tuple(key for item in prepared for key in item.reading.keys),
        revision=max(item.revision for item in prepared),
        documents=tuple(item.reading.change for item in prepared if item.reading.change),
        moments={place: moment for item in prepared for place, moment in _moments(item).items()},
        speakers=frozenset(message.speaker for item in prepared for message in item.request.intake.messages),
        semantic_threshold=tools.embedder.identity.thresholds.semantic_link,
        waiting=tuple(task for item in prepared for task in item.waiting),
        withdrawn=await tools.workers.read(statements, drafts, tools, _guessed(prepared, tools)),
    )
    receipt, unit_ids, retraction = await tools.workers.write(write_turn, proposal, tools.projector)
    kept, created = set(unit_ids), set(receipt.created)
    results = [
        with_withdrawals(_result(item, kept, created, receipt.revision), retraction) for item in prepared
    ]
    return [_with_tasks(result, item, receipt.tasks) for result, item in zip(results, prepared, strict=True)]


def _result(item: Prepared, kept: set[str], created: set[str], revision: int) -> RetainResult:
    """What became of one of the retains of a commit: `kept` and `created` are the unit ids of them all."""
    units = [draft.unit for draft in item.drafts if draft.unit.id in kept]
    counts = Counter(unit.fact_type for unit in units if unit.id in created)
    return RetainResult(
        unit_ids=tuple(unit.id for unit in units),
        created=sum(counts.values()),
        counts={kind: counts[kind] for kind in FactType if counts[kind]},
        skipped_messages=len(item.reading.known),
        dropped=(*item.request.intake.dropped, *item.dropped),
        revision=revision,
        tokens_in=item.extraction.tokens_in,
        tokens_out=item.extraction.tokens_out,
    )


def _with_tasks(result: RetainResult, item: Prepared, tasks: Sequence[Task]) -> RetainResult:
    """The result with those of the commit's tasks that keep this retain's own passages."""
    payloads = {task.write.payload for task in item.waiting}
    own = [task for task in tasks if task.payload in payloads]
    return replace(
        result,
        parked=parked(own, TaskKind.EXTRACT_PARKED),
        queued=parked(own, TaskKind.EXTRACT_QUEUED),
    )


def nothing_new(request: RetainRequest, revision: int) -> RetainResult:
    """The result of a retain of what the bank knows already."""
    return RetainResult((), 0, {}, len(request.intake.keys), request.intake.dropped, revision)


def _moments(item: Prepared) -> dict[tuple[str, str], datetime]:
    """When each message, or the document, was said in its present wording."""
    document, request = item.request.intake.document, item.request
    if document is not None:
        return {(document_thread(document.id or ""), ""): document.timestamp or request.now}
    return {(request.thread, m.id or ""): m.timestamp or request.now for m in request.intake.messages}


def measured(drafts: Sequence[Draft], tools: RetainTools) -> tuple[list[Draft], Matrix]:
    """Token counts and vectors of all drafts, each in one batch."""
    units = [draft.unit for draft in drafts]
    counted = with_tokens(drafts, tools.tokens.count([unit.text for unit in units]))
    texts = [embedding_text(unit.text, unit.occurred, unit.mentioned_at) for unit in units]
    return counted, checked_vectors(tools.embedder.embed_documents(texts), len(texts), tools.embedder)


def _guessed(prepared: Sequence[Prepared], tools: RetainTools) -> frozenset[str]:
    """Units whose statements of withdrawal come from cues: those of retains without a model and without facts."""
    if tools.llm is not None:
        return frozenset()
    return frozenset(draft.unit.id for p in prepared if p.request.facts is None for draft in p.drafts)


def statements(
    drafts: Sequence[Draft], tools: RetainTools, guessed: frozenset[str] = frozenset()
) -> Withdrawn | None:
    """Vectors of what the drafts say is obsolete, made before the write turn; None if they say nothing of the kind."""
    texts = list(dict.fromkeys(text for draft in drafts for text in draft.invalidates))
    if not texts:
        return None
    vectors = checked_vectors(tools.embedder.embed_documents(texts), len(texts), tools.embedder)
    identity = tools.embedder.identity
    return Withdrawn(dict(zip(texts, vectors, strict=True)), identity.thresholds, guessed)


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
