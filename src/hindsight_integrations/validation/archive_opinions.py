"""The lines of an archive about opinions: how each was formed, its wordings, what they stand on, and its evidence log."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from hindsight_integrations.model.opinions import Assessment, EvidenceStrength, OpinionOrigin, UpdateRule
from hindsight_integrations.validation.archive_values import (
    MAX_ORDINAL,
    ArchiveLine,
    Id,
    Micros,
    Ordinal,
    Revision,
    Share,
    Text,
    Texts,
    distinct,
    one_of,
)


class OpinionLine(ArchiveLine):
    """An opinion as it was formed: its first wording is the memory that names it."""

    key: ClassVar = ("unit",)
    refers: ClassVar = {"unit": "unit"}
    unit: Id
    confidence: Share
    formed_at: Micros
    recorded_at: Micros
    revision: Revision
    origin: Annotated[str, one_of(OpinionOrigin)]
    operation: Text
    profile_change: Ordinal
    reasoning: Text
    assessed_to: Revision


class WordingLine(ArchiveLine):
    """A wording of an opinion; those of one opinion come in their order."""

    key: ClassVar = ("unit",)
    refers: ClassVar = {"unit": "unit", "opinion": "opinion"}
    unit: Id
    opinion: Id
    number: Annotated[int, Field(ge=1, le=MAX_ORDINAL)]
    reason: Text
    revision: Revision


class GroundLine(ArchiveLine):
    """A memory from which an opinion was worded."""

    key: ClassVar = ("wording", "fact")
    refers: ClassVar = {"wording": "opinion_wording", "fact": "unit"}
    wording: Id
    fact: Id


class EvidenceLine(ArchiveLine):
    """A fact in the evidence log of an opinion."""

    key: ClassVar = ("opinion", "fact")
    refers: ClassVar = {"opinion": "opinion", "fact": "unit", "version": "opinion_wording"}
    opinion: Id
    fact: Id
    sources: Annotated[Texts, Field(min_length=1)]
    restates: Annotated[list[Id], AfterValidator(distinct)]
    assessment: Annotated[str, one_of(Assessment)]
    strength: Annotated[str, one_of(EvidenceStrength)]
    rule: Annotated[str, one_of(UpdateRule)]
    step: Annotated[float, Field(gt=0.0, lt=1.0)]
    reason: Text
    version: Id
    effective_at: Micros
    recorded_at: Micros
    revision: Revision


class OperationLine(ArchiveLine):
    """A reflection whose opinions are here, by its key."""

    key: ClassVar = ("operation",)
    operation: Annotated[Text, Field(min_length=1)]
