"""Packing ranked units into a token budget (paper section 4.2.5, eq. 8 and 17); a document that does not fit is shortened.

The same is "Stage 4: Token Truncation" of the recall docs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.recalled import ServedItems
from hindsight_integrations.model.requests import RecallQuery, TextForm
from hindsight_integrations.ports.arrays import Float64Array, IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.documents import DocumentItems
from hindsight_integrations.tempr.recall.documents import Document, documents_among
from hindsight_integrations.tempr.recall.tools import RecallTools


@dataclass(frozen=True, slots=True)
class Packed:
    """The units that fit the budget.

    Attributes:
        ids: row ids of the units, best first, (n,).
        scores: theirs, (n,).
        tokens: what they cost together.
        documents: those of the ranking, by row id.
        items: by row id, the items of the documents among them.
    """

    ids: IntArray
    scores: Float64Array
    tokens: int
    documents: Mapping[int, Document]
    items: Mapping[int, ServedItems]


def pack(
    tokens: Sequence[int],
    max_tokens: int,
    k: int | None = None,
    *,
    shortened: Callable[[int, int], int | None] | None = None,
) -> list[int]:
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
        shortened: given the position of a unit that does not fit and what is left, what it costs in a shorter form; None if
            it has none that fits. The argument above is about units without one.

    Returns:
        Positions kept, rising.
    """
    kept: list[int] = []
    left = max_tokens
    for position, cost in enumerate(tokens):
        if k is not None and len(kept) >= k:
            break
        spent = shortened(position, left) if cost > left and shortened else cost
        if spent is not None and spent <= left:
            kept.append(position)
            left -= spent
    return kept


def pack_units(
    ids: IntArray,
    scores: Float64Array,
    view: BankView,
    query: RecallQuery,
    tools: RecallTools,
    *,
    items: DocumentItems,
    matches: Sequence[int] = (),
) -> Packed:
    """The ranked units that fit the query's budget, documents with the items that hold (paper eq. 8).

    A document that does not fit what is left of the budget is served with its best items, and says so. Documents alone are
    read and tokenised, a few at most; every other unit's tokens were counted at retain.

    Args:
        ids: row ids, best first, (n,).
        scores: falling, (n,).
        view: the bank.
        query: the budget.
        tools: with what counts tokens.
        items: which items are served with which document.
        matches: row ids of the items that the channels found, the best first.
    """
    documents = documents_among(ids, items, view, tools.tokens, form=query.form, matches=matches)
    tokens = costs(ids, documents, view.columns, query.form).tolist()
    rows = ids.tolist()
    served: dict[int, ServedItems] = {}

    def shortened(place: int, left: int) -> int | None:
        document = documents.get(rows[place])
        short = document.within(left, tools.tokens) if document else None
        if short is None:
            return None
        served[rows[place]] = short
        return short.tokens

    kept = pack(tokens, query.max_tokens, k=query.k, shortened=shortened if documents else None)
    served = {row: document.served for row, document in documents.items()} | served
    packed = {rows[place]: served[rows[place]] for place in kept if rows[place] in served}
    spent = sum(packed[rows[place]].tokens if rows[place] in packed else tokens[place] for place in kept)
    return Packed(ids[kept], scores[kept], spent, documents, packed)


def fitting(ids: IntArray, budget: int, columns: Columns, form: TextForm) -> IntArray:
    """Row ids, in their order, of what fits into a budget of tokens; a document counts without its items."""
    return ids[pack(costs(ids, {}, columns, form).tolist(), budget)]


def costs(ids: IntArray, documents: Mapping[int, Document], columns: Columns, form: TextForm) -> IntArray:
    """Tokens of each unit (by row id) as it is served whole, (n,)."""
    counted = columns.compact if form is TextForm.COMPACT else columns.tokens
    tokens = counted[columns.positions(ids)].astype(np.int64)
    for place in np.flatnonzero(np.isin(ids, list(documents))).tolist() if documents else ():
        tokens[place] = documents[int(ids[place])].served.tokens
    return tokens
