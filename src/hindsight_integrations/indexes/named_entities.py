"""The bank's entities that a question names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.names import possible_names
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.entities import EntityRole, EntityType
from hindsight_integrations.model.names import normalise_name


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """The entities that a question names.

    Attributes:
        rows: row ids of the entities, ascending, without concepts: words such as "painting" are better left to
            the keyword channel (measured).
        speaker: normalised names of the speaker, if the question names exactly one; else empty.
        names: normalised names of all entities.
    """

    rows: IntArray
    speaker: frozenset[str]
    names: frozenset[str] = frozenset()


def named_in(text: str, view: BankView, languages: Sequence[Language]) -> NamedEntities:
    """Look up the entities that a question names."""
    names = sorted({normalise_name(name) for name in possible_names(text, languages)} - {""})
    with view.single_read() as ledger:
        rows = ledger.entities.named_rows(view.bank, names)
    named = {row: entity for row, entity in rows.values() if entity.type != EntityType.CONCEPT}
    speakers = [entity for entity in named.values() if entity.role is EntityRole.SPEAKER]
    own = frozenset(speakers[0].names) if len(speakers) == 1 else frozenset[str]()
    answering = frozenset(name for entity in named.values() for name in entity.names)
    return NamedEntities(np.unique(np.fromiter(named, np.int64, len(named))), own, answering)
