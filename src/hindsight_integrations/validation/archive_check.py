"""An archive checked as a whole before a row of it is written: each line by itself, and what lines say of each other."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from hindsight_integrations.errors import ArchiveInvalid
from hindsight_integrations.validation.archive_lines import (
    LINES,
    ArchiveLine,
    BankLine,
    EventLine,
    MessageLine,
    TurnLine,
    UnitLine,
    WaitingTurnLine,
    vector_length,
)

LONGEST_SHOWN = 40  # characters of a field's name that an error repeats: the archive may say anything there


class ArchiveCheck:
    """Lines of one archive, in order; remembers what a later line may refer to.

    Attributes:
        bank: the bank's own line; None before it.
        units: how many memories went by.
    """

    def __init__(self) -> None:
        self.bank: BankLine | None = None
        self.units = 0
        # Pairs are kept as numbers, not as ids: a bank has many times more links than memories.
        self._numbers: dict[str, dict[object, int]] = {kind: {} for kind in LINES}
        self._pairs: dict[str, set[tuple[object, ...]]] = {kind: set() for kind in LINES}

    def take(self, number: int, kind: str, fields: Mapping[str, object]) -> None:
        """Check one line.

        Args:
            number: of the line, from 1.
            kind: what it is.
            fields: its values, as JSON gives them.

        Raises:
            ArchiveInvalid: it cannot be a line of this archive.
        """
        if kind not in LINES:
            raise ArchiveInvalid(number, "kind", f"it is unknown; there are {', '.join(LINES)}")
        try:
            line = LINES[kind].model_validate(fields)
        except ValidationError as error:
            raise _refusal(number, kind, error) from None
        if (self.bank is None) != isinstance(line, BankLine):
            raise ArchiveInvalid(number, kind, "the first line after the header, and no other, is the bank's")
        self._remember(number, kind, line)
        if isinstance(line, BankLine):
            self.bank = line
        elif isinstance(line, UnitLine):
            self._check_unit(number, kind, line)
        elif isinstance(line, TurnLine):
            self._check_turn(number, line)
        elif isinstance(line, EventLine | MessageLine):
            self._check_revision(number, kind, line.revision)

    def _remember(self, number: int, kind: str, line: ArchiveLine) -> None:
        """Find what it refers to, and refuse a second line of the same key."""
        values = {field: getattr(line, field) for field in (*line.key, *line.refers)}
        for field, target in line.refers.items():
            if values[field] is None:
                continue
            if values[field] not in self._numbers[target]:
                raise ArchiveInvalid(number, f"{kind}.{field}", f"no {target} of that id stands before it")
            values[field] = self._numbers[target][values[field]]
        if not line.key:
            return
        key = tuple(values[field] for field in line.key)
        numbers, pairs = self._numbers[kind], self._pairs[kind]
        if key[0] in numbers or key in pairs:
            where = ", ".join(f"{kind}.{field}" for field in line.key)
            raise ArchiveInvalid(number, where, "an earlier line has the same")
        if len(key) == 1:
            numbers[key[0]] = len(numbers)
        else:
            pairs.add(key)

    def _check_unit(self, number: int, kind: str, line: UnitLine) -> None:
        """A memory, or a turn that waits: they share their ids."""
        if not isinstance(line, WaitingTurnLine):
            self._check_vector(number, kind, line.vector)
            self.units += 1
            return
        if line.unit_id in self._numbers["unit"]:
            raise ArchiveInvalid(number, "waiting_turn.unit_id", "an earlier line has the same")
        if line.vector is not None:
            self._check_vector(number, kind, line.vector)

    def _check_turn(self, number: int, line: TurnLine) -> None:
        if line.unit is not None and not any(
            line.unit in self._numbers[kind] for kind in ("unit", "waiting_turn")
        ):
            raise ArchiveInvalid(number, "turn.unit", "no unit of that id stands before it")

    def _check_vector(self, number: int, kind: str, vector: str) -> None:
        embedder = self.bank.embedder if self.bank else None
        if embedder is None:
            raise ArchiveInvalid(number, f"{kind}.vector", "the bank's line does not say who made vectors")
        length = vector_length(vector)
        if length != embedder.dimension:
            raise ArchiveInvalid(
                number, f"{kind}.vector", f"it has {length} numbers, the embedder makes {embedder.dimension}"
            )

    def _check_revision(self, number: int, kind: str, revision: int) -> None:
        if self.bank and revision > self.bank.revision:
            raise ArchiveInvalid(
                number, f"{kind}.revision", f"{revision} is after the bank's own, {self.bank.revision}"
            )


def _refusal(number: int, kind: str, error: ValidationError) -> ArchiveInvalid:
    """What pydantic found first. The value itself is not repeated: it may be memory text."""
    problem = error.errors(include_url=False, include_input=False)[0]
    parts = [
        str(part)
        for part in problem["loc"]
        if isinstance(part, int) or (part.isidentifier() and len(part) <= LONGEST_SHOWN)
    ]
    reason = problem["msg"].removeprefix("Value error, ")
    return ArchiveInvalid(number, ".".join([kind, *parts]), reason[:1].lower() + reason[1:])
