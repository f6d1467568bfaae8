"""Which of an entity's names go with forgotten units, and what it is called then. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hindsight_integrations.model.names import normalise_name


@dataclass(frozen=True, slots=True)
class KeptNames:
    """What is left of an entity's names.

    Attributes:
        name: its canonical name, replaced by one still in use where only forgotten units used it.
        names: its normalised names, in order; never empty.
        dropped: normalised names that nothing but forgotten units used.
    """

    name: str
    names: tuple[str, ...]
    dropped: frozenset[str]


def kept_names(
    name: str, names: Sequence[str], forgotten: Collection[str], remaining: Sequence[str]
) -> KeptNames:
    """The names an entity keeps.

    Args:
        name: its canonical name.
        names: its normalised names, in order.
        forgotten: texts of its mentions in the units that go.
        remaining: texts of its other mentions, at least one, the latest last.
    """
    dropped = frozenset(map(normalise_name, forgotten)) - frozenset(map(normalise_name, remaining))
    spare = remaining[-1]
    kept = tuple(each for each in names if each not in dropped) or (normalise_name(spare),)
    return KeptNames(spare if normalise_name(name) in dropped else name, kept, dropped)
