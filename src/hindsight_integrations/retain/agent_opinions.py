"""The agent's own opinions among what a retain brings: new ones are formed, those that are held already are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.names import NameSpotter
from hindsight_integrations.language.stems import numbers
from hindsight_integrations.model.arrays import IntArray, Matrix, Vector
from hindsight_integrations.model.opinions import (
    UNKNOWN_CONFIDENCE,
    FormationWrite,
    OpinionOrigin,
    OpinionsWrite,
)
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.retain.drafts import Draft

HELD_ALREADY = "the agent holds this opinion already"


@dataclass(frozen=True, slots=True, eq=False)
class StatedOpinion:
    """An opinion as it is compared.

    Attributes:
        unit: its wording.
        vector: of that (dimension,).
    """

    unit: MemoryUnit
    vector: Vector


def without_known_opinions(
    fresh: IntArray,
    drafts: Sequence[Draft],
    vectors: Matrix,
    view: BankView,
    *,
    duplicate: float,
    languages: Sequence[Language],
) -> IntArray:
    """The positions of the drafts without those of opinions that are held already, or that stand among them before.

    Args:
        fresh: positions of the drafts that are new, ascending.
        drafts: all of them.
        vectors: of all (n, dimension).
        view: of the bank.
        duplicate: the embedder's cosine from which on two texts say the same.
        languages: all may be in.
    """
    if not any(_is_opinion(drafts[place].unit) for place in fresh):
        return fresh
    known, kept = _held(view), []
    for place in fresh.tolist():
        unit = drafts[place].unit
        if _is_opinion(unit):
            stated = StatedOpinion(unit, vectors[place])
            if any(says_the_same(stated, each, duplicate=duplicate, languages=languages) for each in known):
                continue
            known.append(stated)
        kept.append(place)
    return np.array(kept, np.int64)


def says_the_same(
    one: StatedOpinion, other: StatedOpinion, *, duplicate: float, languages: Sequence[Language]
) -> bool:
    """Whether an opinion is one that is held: in the same words, or in others of the same names, numbers and polarity.

    Opinions that not the same people may see are two, and so is what was retained before under the same id.
    """
    if one.unit.tags != other.unit.tags or one.unit.id == other.unit.id:
        return False
    texts = (one.unit.text, other.unit.text)
    if normalised_text(texts[0]) == normalised_text(texts[1]):
        return True
    if float(one.vector @ other.vector) < duplicate:
        return False
    said, held = (_particulars(text, languages) for text in texts)
    return said == held


def formations(drafts: Sequence[Draft], revision: int) -> OpinionsWrite | None:
    """The opinions among units that are new, each formed without evidence; None if there are none.

    Args:
        drafts: of the units.
        revision: of the bank; facts of later ones, this retain's own among them, are evidence to be assessed.
    """
    formed = tuple(
        FormationWrite(
            unit_id=draft.unit.id,
            confidence=UNKNOWN_CONFIDENCE if draft.unit.confidence is None else draft.unit.confidence,
            formed_at=draft.unit.mentioned_at,
            origin=OpinionOrigin.GIVEN if draft.given else OpinionOrigin.EXTRACTION,
            assessed_to=revision,
        )
        for draft in drafts
        if _is_opinion(draft.unit)
    )
    return OpinionsWrite(formed=formed) if formed else None


def _held(view: BankView) -> list[StatedOpinion]:
    """The wordings in which the bank's opinions are held; one without a readable vector is left out."""
    wordings = [
        version.unit_id
        for log in view.ledger.opinions.get(view.bank)
        for version in log.versions
        if version.closed_at is None
    ]
    rows = np.array(sorted(view.ledger.units.row_ids(view.bank, wordings).values()), np.int64)
    units, vectors = view.ledger.units.get(view.bank, rows), view.ledger.units.vectors(view.bank, rows)
    return [StatedOpinion(unit, vectors[row]) for row, unit in units.items() if row in vectors]


def _particulars(text: str, languages: Sequence[Language]) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Whether a text denies something, its numbers and its names."""
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    names = frozenset(name.text.casefold() for name in spotter.names_in(text))
    return language.negation.search(text) is not None, numbers(text, language), names


def _is_opinion(unit: MemoryUnit) -> bool:
    return unit.fact_type is FactType.OPINION
