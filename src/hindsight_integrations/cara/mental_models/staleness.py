"""Whether the memories in a mental model's scope have changed since it was answered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.model.entities import Entity, EntityType
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.requests import TagLeaf, TagOr, TagsMatch
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import in_groups
from hindsight_integrations.search.named_entities import named_in
from hindsight_integrations.text.language import Language

MOST_LOOKED_AT = 2_000  # changed facts; where there are more since, a text counts as out of date (no source)


def scope(tags: Sequence[str]) -> TagOr:
    """The memories that a mental model is answered from: those with the same tags as itself, and those without any."""
    return TagOr((TagLeaf(tuple(tags), TagsMatch.EXACT), TagLeaf((), TagsMatch.EXACT)))


def changed_in_scope(
    model: MentalModel,
    about: Sequence[Vector],
    view: BankView,
    languages: Sequence[Language],
    *,
    floor: float,
) -> bool:
    """Whether facts came or changed since, with the model's tags or none, that bear on its question.

    They do if they are near the question or the text, or mention a name that the question, or a fact under the text, mentions.

    Args:
        model: that was looked at up to `checked_to`.
        about: vectors (dimension,), unit norm, of its question and, where it has one, its text.
        view: the bank.
        languages: of its texts, the likeliest first.
        floor: the least cosine that is near: the semantic channel's, as the embedder has it.
    """
    changed = view.ledger.mental_models.changed_facts(view.bank, model.checked_to, MOST_LOOKED_AT + 1)
    if len(changed) > MOST_LOOKED_AT:
        return True
    changed = changed[view.columns.allowed(changed, in_groups(view.columns, [scope(model.tags)]))]
    if not len(changed):
        return False
    # Of a fact without a vector the cosine is NaN, which is not near.
    near = any((view.scorer.similarities(vector, changed) >= floor).any() for vector in about)
    return near or _share_a_name(model, changed, view, languages)


def _share_a_name(
    model: MentalModel, changed: IntArray, view: BankView, languages: Sequence[Language]
) -> bool:
    """Whether one of the facts mentions who the question, or a fact under the text, mentions; hubs are nobody."""
    grounds = np.array(list(view.ledger.units.row_ids(view.bank, model.based_on).values()), np.int64)
    own = np.union1d(named_in(model.question, view, languages).rows, _mentioned(grounds, view))
    return bool(np.intersect1d(np.setdiff1d(own, view.hubs), _mentioned(changed, view)).size)


def _mentioned(ids: IntArray, view: BankView) -> IntArray:
    """Row ids of the entities that these units mention; topics are words, not names."""
    found: dict[str, Entity] = {
        entity.id: entity
        for entities in view.ledger.entities.of_units(view.bank, ids).values()
        for entity in entities
        if entity.type != EntityType.CONCEPT
    }
    rows = view.ledger.entities.row_ids(view.bank, list(found))
    return np.fromiter(rows.values(), np.int64, len(rows))
