"""What a profile of an archive may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.validation.archive_values import Share, Strict, Text

_Scale = Annotated[float, Field(ge=1, le=5, multiple_of=1)]


class _Disposition(Strict):
    skepticism: _Scale
    literalism: _Scale
    empathy: _Scale


class _BigFive(Strict):
    openness: Share
    conscientiousness: Share
    extraversion: Share
    agreeableness: Share
    neuroticism: Share


def _kind_of_character(given: object) -> str:
    return "big five" if isinstance(given, Mapping) and "openness" in given else "one to five"


class ArchivedProfile(Strict):
    """A profile; its character is of one kind, whole, and has no field of the other."""

    name: Text
    background: Text
    disposition: Annotated[
        Annotated[_Disposition, Tag("one to five")] | Annotated[_BigFive, Tag("big five")],
        Discriminator(_kind_of_character),
    ]
    bias_strength: Share


NEUTRAL_PROFILE = ArchivedProfile.model_validate(asdict(BankProfile()))
"""Of a bank that was never given one."""
