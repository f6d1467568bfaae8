"""Changes of entities by hand, as every ledger logs them: what undoing needs, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import EntityChange, EntityChangeKind


@dataclass(frozen=True, slots=True)
class Moved:
    """What a change moved.

    Attributes:
        entity_id: the entity kept, split or named.
        other_id: the entity merged away or split off; empty for an alias.
        names: normalised names that moved, or were given.
        units: ids of units whose mention moved; of those with a mention of both, none.
        shared: ids of units that mentioned both entities of a merge, with the text of the mention that went.
        name: canonical name of the other entity.
        type: its type.
        role: its role.
        other_names: all names of the other entity, in order; of an alias, the names given, those it had before included.
    """

    entity_id: str
    other_id: str = ""
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    name: str = ""
    type: str = ""
    role: str = ""
    other_names: tuple[str, ...] = ()

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Moved:
        """From JSON."""
        fields = json.loads(text)
        for name in ("names", "units", "other_names"):
            fields[name] = tuple(fields[name])
        return cls(**{**fields, "shared": tuple((unit, text) for unit, text in fields["shared"])})


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One row of the audit log; `detail` is a `Moved` as JSON."""

    id: int
    kind: EntityChangeKind
    detail: str
    made_at: datetime
    undone: bool = False

    @property
    def moved(self) -> Moved:
        """What it moved."""
        return Moved.read(self.detail)

    def public(self) -> EntityChange:
        """As callers see it."""
        moved = self.moved
        count = len(moved.units) + len(moved.shared)
        return EntityChange(
            self.id, self.kind, moved.entity_id, moved.other_id, moved.names, count, self.made_at, self.undone
        )

    def as_undone(self) -> LoggedChange:
        """The same, undone."""
        return replace(self, undone=True)


def check_undoable(change: LoggedChange | None, change_id: int, later: list[LoggedChange]) -> LoggedChange:
    """The change, if nothing stands in the way of undoing it.

    Raises:
        InvalidRequest: it is unknown or undone, or a later change (not undone) touches one of its entities.
    """
    if change is None or change.undone:
        reason = "there is no such change" if change is None else "it was undone already"
        raise InvalidRequest("change_id", f"{change_id}: {reason}", "See entity_changes().")
    ours = {change.moved.entity_id, change.moved.other_id} - {""}
    for other in later:
        if not other.undone and ours & {other.moved.entity_id, other.moved.other_id}:
            raise InvalidRequest("change_id", f"change {other.id} stands on it", f"Undo {other.id} first.")
    return change
