"""Final order and packing of ranked units into a token budget (paper section 4.2.5, eq. 8 and 17).

A document that does not fit is shortened. This is "Stage 4: Token Truncation" of the recall docs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import Columns, valid_at
from hindsight_integrations.indexes.documents import DocumentItems
from hindsight_integrations.indexes.held_opinions import as_held
from hindsight_integrations.language.language import Person, language_of
from hindsight_integrations.language.person import persons
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.model.arrays import Float64Array, Hits, IntArray
from hindsight_integrations.model.recalled import RecalledUnit, RecallReason, ServedItems
from hindsight_integrations.model.requests import RecallQuery, ResultOrder, TextForm
from hindsight_integrations.model.time import SECOND
from hindsight_integrations.model.trace import Channel, ChannelHit
from hindsight_integrations.model.units import FactType
from hindsight_integrations.recall.context import RecallContext
from hindsight_integrations.recall.documents import ServedDocument, documents_among
from hindsight_integrations.recall.rerank import Ranking
from hindsight_integrations.services import Services

# number of memories at the top of the ranking that are reordered, about as many as a short prompt contains
COMPARED = 20
ALIKE = 0.6  # minimum share of common words; two values of one thing share 0.6 to 0.8 (chosen by hand)

_WORD = re.compile(r"\w+")


def in_better_order(run: RecallContext, ranking: Ranking) -> Ranking:
    """Reorder the messages at the top of the ranking by `newest_first` and `user_first`; only ids move, scores keep their positions."""
    if run.window is not None:
        return ranking  # the question's time already selects among them
    columns = run.view.columns
    at = columns.positions(ranking.ids[:COMPARED])
    places = np.flatnonzero((at >= 0) & (columns.speakers[at] > 0))
    if len(places) < 2:
        return ranking
    stored = run.units(ranking.ids[places])
    units = [stored.get(row) for row in ranking.ids[places].tolist()]
    texts = [unit.text if unit else "" for unit in units]
    question = run.query.text
    own = newest_first(
        [_words(text) for text in texts], columns.mentioned[at[places]] // SECOND, _words(question)
    )
    language = language_of(question, run.services.languages)
    spoken = persons(question, language)
    if Person.FIRST in spoken and Person.SECOND not in spoken:
        asked = content_stems(question, language)
        shared = [content_stems(texts[place], language) & asked for place in own.tolist()]
        of_agent = [
            unit is not None and unit.fact_type is FactType.EXPERIENCE
            for unit in (units[place] for place in own.tolist())
        ]
        own = own[user_first(shared, of_agent)]
    order = np.arange(len(ranking.ids))
    order[places] = places[own]
    return replace(ranking.at(order), scores=ranking.scores)


def newest_first(
    words: Sequence[frozenset[str]], mentioned: IntArray, asked: frozenset[str] = frozenset()
) -> IntArray:
    """Order each group of similar statements newest first, within the positions the group occupies; return positions, (n,).

    A message's words begin with its speaker's name. `mentioned` is in whole seconds, (n,), since messages of one
    conversation may be less than a second apart. `asked` has the words of the question.
    """
    order = np.arange(len(mentioned))
    grouped = np.zeros(len(mentioned), bool)
    for place, own in enumerate(words):
        if grouped[place]:
            continue
        later = range(place + 1, len(words))
        restated = [each for each in later if not grouped[each] and alike(own, words[each], asked)]
        group = np.array([place, *restated], np.int64)
        grouped[group] = True
        order[group] = group[np.argsort(-mentioned[group], kind="stable")]
    return order


def alike(one: frozenset[str], other: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether |one & other| / max(|one|, |other|) >= 0.6 and no word of the question is in only one of them.

    "Bought a kayak." and "Bought a tent." are not similar for a question about the kayak.
    """
    return len(one & other) >= ALIKE * max(len(one), len(other), 1) and not (one ^ other) & asked


def user_first(shared: Sequence[frozenset[str]], of_agent: Sequence[bool]) -> IntArray:
    """Order each agent message after the user messages that share at least the same words with the question.

    `shared` has the words that each of n messages shares with the question, best message first. Returns positions, (n,).
    """
    order: list[int] = []
    for place in range(len(shared)):
        if of_agent[place] and shared[place]:
            ahead = [
                later
                for later in range(place + 1, len(shared))
                if not of_agent[later] and shared[place] <= shared[later]
            ]
            order += [later for later in ahead if later not in order]
        if place not in order:
            order.append(place)
    return np.array(order, np.int64)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


@dataclass(frozen=True, slots=True)
class Packed:
    """The units that fit the budget.

    Attributes:
        ids: row ids of the units, best first, (n,).
        scores: scores of the units, (n,).
        tokens: total cost of the units.
        documents: documents in the ranking, by row id.
        items: items of the documents among the units, by row id.
    """

    ids: IntArray
    scores: Float64Array
    tokens: int
    documents: Mapping[int, ServedDocument]
    items: Mapping[int, ServedItems]


def pack(
    tokens: Sequence[int],
    max_tokens: int,
    k: int | None = None,
    *,
    shortened: Callable[[int, int], int | None] | None = None,
) -> list[int]:
    """Keep units in rank order, skipping those that do not fit: sum of tokens <= max_tokens (paper eq. 8).

    Eq. 17 stops at the first unit that does not fit. Skipping it instead lets smaller, lower-ranked units in.

    A larger budget never gives a worse result. Let a < b be budgets, and i the first unit on which the
    results differ. Up to i both used the same P tokens and the same number of units, so k applies to both
    alike, and every unit that fits a fits b. Hence b keeps i and a does not, because P + size(i) > a. So b
    uses at least P + size(i) > a tokens, more than a can, and the best-ranked unit on which they differ is
    kept by b. (b's units need not include all of a's: of two units of 6 and 5 tokens, a budget of 5 keeps the
    second, and a budget of 6 the first.)

    Args:
        tokens: cost of each unit, best first, each >= 0.
        max_tokens: the budget; nothing is kept below 0.
        k: hard limit on the number of units.
        shortened: function of a unit's position and the tokens left; returns the cost of a shorter form, or None if
            none fits. The proof above holds for units without a shorter form.

    Returns:
        Positions kept, ascending.
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
    services: Services,
    *,
    items: DocumentItems,
    matches: Sequence[int] = (),
) -> Packed:
    """Pack the ranked units into the query's budget, documents with their valid items (paper eq. 8).

    A document that exceeds the remaining budget is shortened to its best items, and its text gives the number of items left
    out. Only the few documents are read and tokenised here; the tokens of all other units were counted when they were retained.
    `matches` has the row ids of the items in the channels' results, best first.
    """
    documents = documents_among(ids, items, view, services.tokens, form=query.form, matches=matches)
    tokens = costs(ids, documents, view.columns, query.form).tolist()
    rows = ids.tolist()
    served: dict[int, ServedItems] = {}

    def shortened(place: int, left: int) -> int | None:
        document = documents.get(rows[place])
        short = document.within(left, services.tokens) if document else None
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
    """Return the row ids of the units that fit into a token budget, in the given order; documents count without their items."""
    return ids[pack(costs(ids, {}, columns, form).tolist(), budget)]


def costs(
    ids: IntArray, documents: Mapping[int, ServedDocument], columns: Columns, form: TextForm
) -> IntArray:
    """Return the tokens of each unit (by row id) when returned whole, (n,)."""
    counted = columns.compact if form is TextForm.COMPACT else columns.tokens
    tokens = counted[columns.positions(ids)].astype(np.int64)
    for place in np.flatnonzero(np.isin(ids, list(documents))).tolist() if documents else ():
        tokens[place] = documents[int(ids[place])].served.tokens
    return tokens


NO_REASONS: Mapping[int, RecallReason] = MappingProxyType({})


def hydrate(
    packed: Packed,
    run: RecallContext,
    lists: Mapping[Channel, Hits],
    reasons: Mapping[int, RecallReason] = NO_REASONS,
) -> dict[int, RecalledUnit]:
    """Load the packed units by row id, best first, with entities, items of documents and each channel's rank and score.

    Damaged units and units erased since the view was made are left out and noted as missing.
    """
    ids, view = packed.ids, run.view
    units, entities = run.units_and_entities(ids)
    stored = as_held(units, view.ledger, view.bank, as_of=run.query.as_of)
    run.missing.update(row for row in ids.tolist() if row not in stored)
    valid = set(ids[view.columns.allowed(ids, valid_at(view.columns, run.query.as_of))].tolist())
    found = {channel: channel_hits(hits, ids) for channel, hits in lists.items()}
    return {
        row: RecalledUnit(
            unit=stored[row],
            score=float(score),
            channels={channel: hits[row] for channel, hits in found.items() if row in hits},
            entities=tuple(entity.name for entity in entities.get(row, ())),
            valid=row in valid,
            document=packed.items.get(row),
            form=run.query.form,
            reason=reasons.get(row, RecallReason.FOUND),
            asked_at=run.query.query_timestamp,
        )
        for row, score in zip(ids.tolist(), packed.scores, strict=True)
        if row in stored
    }


def channel_hits(hits: Hits, wanted: IntArray) -> dict[int, ChannelHit]:
    """Return a channel's rank and score of the requested units, by row id."""
    at = np.flatnonzero(np.isin(hits.ids, wanted))
    rows, scores = hits.ids[at].tolist(), hits.scores[at].tolist()
    return {
        row: ChannelHit(rank + 1, score) for rank, row, score in zip(at.tolist(), rows, scores, strict=True)
    }


def in_order(units: Iterable[RecalledUnit], order: ResultOrder) -> tuple[RecalledUnit, ...]:
    """Return units in rank order, or oldest first with ties in rank order."""
    if order is ResultOrder.RANK:
        return tuple(units)
    return tuple(sorted(units, key=lambda item: item.unit.began))
