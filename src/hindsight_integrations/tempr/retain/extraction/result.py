"""What extraction gives back, whoever extracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.withdrawals import ForgetRequest
from hindsight_integrations.prompts.extract_facts import Passage


@dataclass(frozen=True, slots=True)
class Waiting:
    """A passage without usable facts, to be tried again later.

    Attributes:
        chunk: its ordinal.
        passage: what was to be extracted.
        kind: parked (the model answered unusably) or queued (it did not answer).
        reason: why, for people.
    """

    chunk: int
    passage: Passage
    kind: TaskKind
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """Facts chunk by chunk, and what they cost.

    Attributes:
        chunks: facts of each chunk, in order; none for one that waits.
        tokens_in: prompt tokens reported by the model, repairs included.
        tokens_out: completion tokens reported by the model, repairs included.
        calls: how often the model was called, repairs included.
        dropped: what the model wrote that is no memory, and why.
        waiting: passages to be tried again.
        given: whether the caller stated the facts.
        shown: of each chunk, ids of the memories its facts name by number; none where none were shown.
        forget: what people asked to forget, with the ids of the memories that are meant.
    """

    chunks: tuple[tuple[ExtractedFact, ...], ...]
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    dropped: tuple[Dropped, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    given: bool = False
    shown: tuple[tuple[str, ...], ...] = ()
    forget: tuple[ForgetRequest, ...] = ()


def joined(extractions: Sequence[Extraction]) -> Extraction:
    """Extractions of one passage each as one, chunks in their order."""
    return Extraction(
        chunks=tuple(chunk for one in extractions for chunk in one.chunks),
        tokens_in=sum(one.tokens_in for one in extractions),
        tokens_out=sum(one.tokens_out for one in extractions),
        calls=sum(one.calls for one in extractions),
        dropped=tuple(item for one in extractions for item in one.dropped),
        waiting=tuple(
            replace(item, chunk=number) for number, one in enumerate(extractions) for item in one.waiting
        ),
        shown=tuple(ids for one in extractions for ids in one.shown or ((),)),
        forget=tuple(request for one in extractions for request in one.forget),
    )


def without_sources(extraction: Extraction) -> Extraction:
    """The same for a document, whose passages are no messages."""
    bare = tuple(
        tuple(fact.model_copy(update={"sources": []}) for fact in chunk) for chunk in extraction.chunks
    )
    return replace(extraction, chunks=bare)
