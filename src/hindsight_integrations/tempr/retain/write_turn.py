"""The write turn: resolve, link, assemble, commit, project - decided on one revision, on the engine's writer thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import DocumentWrite, MessageKey, UnitWrite, WriteSet
from hindsight_integrations.ports.arrays import UNDATED, BoolArray, IntArray, Matrix
from hindsight_integrations.ports.ledger import Receipt
from hindsight_integrations.tempr.columns import points_in_time
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.linking import (
    LONG_SPAN_DAYS,
    REACH,
    SEMANTIC_LINKS,
    Pair,
    causal_links,
    semantic_links,
    temporal_links,
)
from hindsight_integrations.tempr.retain.resolution import CANDIDATES, resolve
from hindsight_integrations.tempr.view import EXACT_LIMIT, BankView, Projector

ATTEMPTS = 8  # decisions taken anew after RevisionConflict; in one process there is no conflict at all
LONG_SPAN = LONG_SPAN_DAYS * 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a retain wants to write, as far as it can be decided without the bank.

    Attributes:
        drafts: units to be, in order.
        vectors: their vectors, (n, dimension).
        keys: the messages they came from, all of them.
        document: the document they came from, if any.
        speakers: speakers of the conversation.
        semantic_threshold: theta_s of paper eq. 5 on the embedder's scale.
    """

    drafts: Sequence[Draft]
    vectors: Matrix
    keys: tuple[MessageKey, ...]
    document: DocumentWrite | None
    speakers: frozenset[str]
    semantic_threshold: float


def write_turn(proposal: Proposal, projector: Projector) -> tuple[Receipt, tuple[str, ...]]:
    """Decide and commit; decide again when the bank moved on in between. Then every index catches up.

    Returns:
        The commit's receipt, and the ids of all units the input stands for.
    """
    for attempt in range(ATTEMPTS):
        view = projector.view()
        writes = decide(proposal, view)
        try:
            receipt = view.ledger.commit(writes)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            projector.catch_up()
            continue
        projector.catch_up()
        return receipt, tuple(item.unit.id for item in writes.units)
    raise AssertionError("unreachable: the loop returns or raises")


def decide(proposal: Proposal, view: BankView) -> WriteSet:
    """The write set of a proposal on one view of its bank. Reads, but changes nothing."""
    known = view.ledger.known_messages(view.bank, proposal.keys)
    fresh = _fresh(proposal, known)
    drafts = [proposal.drafts[i] for i in fresh]
    vectors = proposal.vectors[fresh]
    resolution = resolve(
        drafts,
        lambda names: view.ledger.entity_candidates(view.bank, names, CANDIDATES),
        bank=view.bank,
        speakers=proposal.speakers,
    )
    new_key = any(key not in known for key in proposal.keys)
    return WriteSet(
        bank=view.bank,
        expected_revision=view.revision,
        documents=(proposal.document,) if proposal.document and new_key else (),
        messages=tuple(key for key in proposal.keys if key not in known),
        units=tuple(
            UnitWrite(d.unit, v.astype("<f4").tobytes()) for d, v in zip(drafts, vectors, strict=True)
        ),
        entities=resolution.entities,
        mentions=resolution.mentions,
        links=tuple(_links(drafts, vectors, view, proposal.semantic_threshold)),
    )


def _fresh(proposal: Proposal, known: frozenset[MessageKey]) -> IntArray:
    """Positions of drafts not yet retained: those with a source whose message has no ledger row."""
    done = {key.message_id for key in known}
    every = len(known) == len(proposal.keys)
    kept = (
        index
        for index, draft in enumerate(proposal.drafts)
        if not every and not (draft.unit.sources and all(source in done for source in draft.unit.sources))
    )
    return np.fromiter(kept, np.int64)


def _links(drafts: Sequence[Draft], vectors: Matrix, view: BankView, threshold: float) -> list[Link]:
    if not drafts:
        return []
    temporal = _temporal([draft.unit for draft in drafts], view)
    # A small bank is searched exactly: quicker than HNSW for a batch, and it misses no neighbour.
    index = view.scorer if len(view.columns) <= EXACT_LIMIT else view.vectors
    semantic = semantic_links(vectors, index.search(vectors, SEMANTIC_LINKS), threshold)
    fresh = len(drafts)
    rows = sorted({pair.other - fresh for pair in (*temporal, *semantic) if pair.other >= fresh})
    names = dict(enumerate(draft.unit.id for draft in drafts))
    known = view.ledger.unit_ids(view.bank, np.array(rows, np.int64))
    names.update((row + fresh, name) for row, name in known.items())
    return [
        *_named(temporal, names, LinkType.TEMPORAL),
        *_named(semantic, names, LinkType.SEMANTIC),
        *causal_links(drafts),
    ]


def _named(pairs: Sequence[Pair], names: Mapping[int, str], kind: LinkType) -> list[Link]:
    return [Link(names[p.new], names[p.other], kind, p.weight) for p in pairs if p.other in names]


def _temporal(units: Sequence[MemoryUnit], view: BankView) -> list[Pair]:
    """Temporal pairs; others are row ids offset by the number of new units, as in `semantic_links`."""
    points, short = _points(units)
    if not short.any():
        return []
    columns = view.columns
    old = columns.points()
    spans = np.where(columns.starts == UNDATED, 0, columns.ends - columns.starts)
    reach = (old >= points[short].min() - REACH) & (old <= points[short].max() + REACH) & (spans <= LONG_SPAN)
    positions = np.flatnonzero(short)  # of new units that have a point in time
    rows = columns.ids[reach] + len(units)
    others = np.concatenate([positions, rows])
    return [
        Pair(int(positions[pair.new]), int(others[pair.other]), pair.weight)
        for pair in temporal_links(points[short], old[reach])
    ]


def _points(units: Sequence[MemoryUnit]) -> tuple[IntArray, BoolArray]:
    starts = np.array([to_micros(u.occurred.start) if u.occurred else UNDATED for u in units], np.int64)
    ends = np.array([to_micros(u.occurred.end) if u.occurred else UNDATED for u in units], np.int64)
    mentioned = np.array([to_micros(u.mentioned_at) for u in units], np.int64)
    short = np.where(starts == UNDATED, 0, ends - starts) <= LONG_SPAN
    return points_in_time(starts, ends, mentioned), short
