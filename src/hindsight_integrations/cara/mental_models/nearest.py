"""Which mental models a reflection is shown: those near its question that share its tags (decisions 084 and 134)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.ports.arrays import Matrix, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import group_selects, in_groups, tagged, tags_select

MOST_SHOWN = 3  # mental models of one answer (no source)


def nearest(
    query: Vector, models: Sequence[MentalModel], questions: Matrix, texts: Matrix, *, floor: float
) -> tuple[MentalModel, ...]:
    """The models whose question or text is near a question, the nearest first, at most three.

    Args:
        query: the question's vector (dimension,), unit norm.
        models: those that may be shown, n.
        questions: vectors (n, dimension) of their questions.
        texts: vectors (n, dimension) of their texts.
        floor: the least cosine: the semantic channel's, as the embedder has it.
    """
    cosines = np.maximum(questions @ query, texts @ query)
    order = np.argsort(-cosines, kind="stable")[:MOST_SHOWN]
    return tuple(models[place] for place in order if cosines[place] >= floor)


def visible(models: Sequence[MentalModel], query: RecallQuery, view: BankView) -> list[MentalModel]:
    """Those with a text whose own tags and whose every fact pass the question's conditions on tags.

    A text tells of all it stands on, so it may be seen only where all of that may.
    """
    own = [model for model in models if model.text and _passes(frozenset(model.tags), query)]
    rows = view.ledger.row_ids(view.bank, sorted({unit for model in own for unit in model.based_on}))
    columns = view.columns
    mask = tagged(columns, query.tags, query.tags_match) & in_groups(columns, query.tag_groups)
    seen = dict(zip(rows, columns.allowed(np.array(list(rows.values()), np.int64), mask), strict=True))
    return [model for model in own if all(seen.get(unit, False) for unit in model.based_on)]


def _passes(tags: frozenset[str], query: RecallQuery) -> bool:
    """As a memory with these tags would."""
    wanted = frozenset(query.tags)
    if (wanted or query.tags_match == "exact") and not tags_select(tags, wanted, query.tags_match):
        return False
    return all(group_selects(tags, group) for group in query.tag_groups)
