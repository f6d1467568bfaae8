"""Packing ranked units, and what was taken back of them, into a token budget (paper section 4.2.5, eq. 8 and 17).

The same is "Stage 4: Token Truncation" of the recall docs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.requests import RecallQuery, TextForm
from hindsight_integrations.ports.arrays import Float64Array, IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.recall.amended import Amended, amended_units
from hindsight_integrations.tempr.recall.tools import RecallTools


@dataclass(frozen=True, slots=True)
class Packed:
    """The units that fit the budget.

    Attributes:
        ids: row ids of the units, best first, (n,).
        scores: theirs, (n,).
        tokens: what they cost together, with what was taken back of them.
        amended: by row id, the units of the ranking of which a part was taken back.
    """

    ids: IntArray
    scores: Float64Array
    tokens: int
    amended: Mapping[int, Amended]


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
    ids: IntArray, scores: Float64Array, view: BankView, query: RecallQuery, tools: RecallTools
) -> Packed:
    """The ranked units that fit the query's budget, each as it is served without what was taken back of it (paper eq. 8).

    A unit of which a part was taken back is never returned without that part being left out, or said.

    Only the ranked units of which a part was taken back are read and tokenised, a few at most; every other unit's tokens
    were counted at retain.

    Args:
        ids: row ids, best first, (n,).
        scores: falling, (n,).
        view: the bank, and its ledger, which says what amends the units.
        query: the budget, and the moment whose state is wanted: later amendments do not count.
        tools: with what counts tokens, and the languages of texts.
    """
    found = amended_units(ids, view, query, tools)
    tokens = costs(ids, found, view, query.form)
    kept = pack(tokens.tolist(), query.max_tokens, k=query.k)
    return Packed(ids[kept], scores[kept], int(tokens[kept].sum()), found)


def costs(ids: IntArray, amended: Mapping[int, Amended], view: BankView, form: TextForm) -> IntArray:
    """Tokens of each unit (by row id) as it is served, (n,)."""
    counted = view.columns.compact if form is TextForm.COMPACT else view.columns.tokens
    tokens = counted[view.columns.positions(ids)].astype(np.int64)
    for place in np.flatnonzero(np.isin(ids, list(amended))).tolist() if amended else ():
        unit = amended[int(ids[place])]
        whole = unit.remainder.tokens if unit.remainder else int(tokens[place])
        tokens[place] = whole + sum(part.tokens for part in unit.parts)
    return tokens
