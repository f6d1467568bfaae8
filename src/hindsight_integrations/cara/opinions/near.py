"""The opinions a bank holds, and which of them a new one may be about the same matter as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.cara.opinions.candidates import About, about
from hindsight_integrations.cara.opinions.evidence import held_wording
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.opinions import OpinionLog, OpinionVersion

MOST_NEAR = 5  # opinions a new one is compared with, the most alike; a belief has few neighbours


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """An opinion that is held.

    Attributes:
        log: it.
        wording: as it is worded now.
        about: what that is about.
    """

    log: OpinionLog
    wording: OpinionVersion
    about: About


def held_opinions(reader: LedgerReader, bank: str, logs: Sequence[OpinionLog]) -> list[Held]:
    """Those of a bank's opinions that are held now; one whose vector cannot be read is left out."""
    worded = [(log, wording) for log in logs if (wording := held_wording(log))]
    places = reader.units.row_ids(bank, [wording.unit_id for _, wording in worded])
    rows = np.array(sorted(places.values()), np.int64)
    vectors, entities, memories = (
        reader.units.vectors(bank, rows),
        reader.entities.of_units(bank, rows),
        reader.units.count(bank),
    )
    found = []
    for log, wording in worded:
        row = places.get(wording.unit_id, -1)
        if row in vectors:
            found.append(Held(log, wording, about(entities.get(row, ()), vectors[row], memories)))
    return found


def near(one: About, held: Sequence[Held], thresholds: Thresholds) -> list[Held]:
    """The opinions that one may be about the same matter as, the most alike first, at most five.

    They are alike as linked memories are, or share an entity with it and are not unlike it. Of a small bank's one matter every
    memory speaks, so that hubs count here, too.

    Args:
        one: what it is about.
        held: those that it may be shown with: their tags are its own.
        thresholds: of the embedder.
    """
    scored = []
    for each in held:
        cosine = float(each.about.vector @ one.vector)
        shares = bool((each.about.telling | each.about.hubs) & (one.telling | one.hubs))
        if cosine >= thresholds.semantic_link or (shares and cosine >= thresholds.channel_floor):
            scored.append((-cosine, each.log.id, each))
    return [each for _, _, each in sorted(scored, key=lambda found: found[:2])[:MOST_NEAR]]
