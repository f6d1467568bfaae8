"""Packing ranked units, and what was taken back of them, into a token budget (paper section 4.2.5, eq. 8 and 17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.withdrawals import PartWithdrawn, withdrawal_note
from hindsight_integrations.ports.arrays import Float64Array, IntArray
from hindsight_integrations.ports.ledger import Amendment
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import no_later, valid_at


@dataclass(frozen=True, slots=True)
class Packed:
    """The units that fit the budget.

    Attributes:
        ids: row ids of the units, best first, (n,).
        scores: theirs, (n,).
        tokens: what they cost together, with what was taken back of them.
        amendments: by row id, what was taken back of a unit of the ranking, oldest first.
    """

    ids: IntArray
    scores: Float64Array
    tokens: int
    amendments: Mapping[int, tuple[PartWithdrawn, ...]]


def pack(tokens: Sequence[int], max_tokens: int, k: int | None = None) -> list[int]:
    """Keep units in rank order while they fit, skipping what does not: sum of tokens <= max_tokens (paper eq. 8).

    Eq. 17 stops at the first unit that does not fit; skipping it instead keeps small units behind a large one.

    More budget never costs anything. Let a < b, and let i be the first unit on which the two results differ. Up to i
    both used the same P tokens and the same number of units, so k decides alike, and a smaller budget takes nothing a
    larger one refuses. Hence b has i and a does not, because P + size(i) > a. So b uses at least P + size(i) > a
    tokens, more than a's result can; and the best-ranked unit in which they differ is one b has. (b's units need not
    include all of a's: of sizes 6, 5 a budget of 5 keeps the second, one of 6 the first.)

    Args:
        tokens: cost of each unit, best first, each >= 0.
        max_tokens: the budget; nothing is kept below 0.
        k: hard limit on the number of units.

    Returns:
        Positions kept, rising.
    """
    kept: list[int] = []
    left = max_tokens
    for position, cost in enumerate(tokens):
        if cost <= left and (k is None or len(kept) < k):
            kept.append(position)
            left -= cost
    return kept


def pack_units(
    ids: IntArray, scores: Float64Array, view: BankView, query: RecallQuery, counter: TokenCounter
) -> Packed:
    """The ranked units that fit the query's budget, each with what was taken back of it (paper eq. 8).

    A unit of which a part was taken back is never returned without saying so.

    Only the statements that took back a part of a ranked unit are tokenised, a few short ones at most; every unit's own
    tokens were counted at retain.

    Args:
        ids: row ids, best first, (n,).
        scores: falling, (n,).
        view: the bank, and its ledger, which says what amends the units.
        query: the budget, and the moment whose state is wanted: later amendments do not count.
        counter: what a statement costs.
    """
    found = _parts_withdrawn(ids, view, query.as_of, counter)
    tokens = costs(ids, found, view)
    kept = pack(tokens.tolist(), query.max_tokens, k=query.k)
    return Packed(ids[kept], scores[kept], int(tokens[kept].sum()), found)


def costs(ids: IntArray, amendments: Mapping[int, Sequence[PartWithdrawn]], view: BankView) -> IntArray:
    """Tokens of each unit (by row id), with what was taken back of it, (n,)."""
    tokens = view.columns.tokens[view.columns.positions(ids)].astype(np.int64)
    for place in np.flatnonzero(np.isin(ids, list(amendments))).tolist() if amendments else ():
        tokens[place] += sum(part.tokens for part in amendments[int(ids[place])])
    return tokens


def _parts_withdrawn(
    ids: IntArray, view: BankView, as_of: datetime | None, counter: TokenCounter
) -> dict[int, tuple[PartWithdrawn, ...]]:
    """What was taken back of each unit by the moment; the same words count once, however many units say them."""
    log = _standing(view.ledger.amendments(view.bank, ids), view, as_of)
    if not log:
        return {}
    words = _statements(log, view)
    first: dict[tuple[int, str], Amendment] = {}
    for item, statement in zip(log, words, strict=True):
        if statement:
            first.setdefault((item.row, statement), item)
    by = view.ledger.unit_ids(view.bank, np.array(sorted({item.by for item in first.values()}), np.int64))
    # With the blank that sets it apart, so that the parts of a text cost what the whole does.
    tokens = counter.count([f" {withdrawal_note(statement)}" for _, statement in first])
    found: dict[int, tuple[PartWithdrawn, ...]] = {}
    for ((row, statement), item), cost in zip(first.items(), tokens, strict=True):
        if item.by in by:
            part = PartWithdrawn(statement, by[item.by], item.effective_at, cost)
            found[row] = (*found.get(row, ()), part)
    return found


def _standing(log: Sequence[Amendment], view: BankView, as_of: datetime | None) -> list[Amendment]:
    """Those that hold at the moment and whose unit is itself valid then."""
    valid = valid_at(view.columns, as_of)
    rows = np.array([item.by for item in log], np.int64)
    stands = view.columns.allowed(rows, valid).tolist() if len(rows) else []
    by_then = (as_of is None or no_later(item.effective_at, as_of) for item in log)
    return [item for item, *both in zip(log, stands, by_then, strict=True) if all(both)]


def _statements(log: Sequence[Amendment], view: BankView) -> list[str]:
    """Their words; of those without, the text of the unit that took something back, empty if it was just erased."""
    bare = sorted({item.by for item in log if not item.statement})
    stored = view.ledger.units(view.bank, np.array(bare, np.int64)) if bare else {}
    texts = {row: unit.text for row, unit in stored.items()}
    return [item.statement or texts.get(item.by, "") for item in log]
