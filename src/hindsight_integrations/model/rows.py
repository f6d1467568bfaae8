"""Conversion of results to rows and data frames, and results as sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hindsight_integrations.errors import MissingDependency
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.units import MemoryUnit

if TYPE_CHECKING:
    import pandas

Unit_co = TypeVar("Unit_co", covariant=True)


class Tabular:
    """A mixin that converts a result to rows."""

    __slots__ = ()

    def _rows(self) -> list[dict[str, Any]]:
        """Return one row per entry, with times as datetimes and exact numbers as Decimals."""
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as JSON-serialisable dicts with the same keys.

        Times are ISO 8601 text in UTC. Exact numbers (`Decimal`) are also text, so that no digit is lost.
        """
        return [{key: _plain(value) for key, value in row.items()} for row in self._rows()]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of `to_dicts` as a data frame, with times as UTC datetimes and exact numbers as `Decimal`.

        Raises:
            MissingDependency: pandas is not installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            remedy = 'Run: pip install "hindsight-integrations[plots]"'
            raise MissingDependency(error.name or "pandas", remedy) from error
        return pd.DataFrame(self._rows())


class UnitSequence(Generic[Unit_co]):
    """A mixin that makes a result a sequence of its `units`: `len`, iteration and indexing."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def units(self) -> tuple[Unit_co, ...]:
            """The units of the result."""

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[Unit_co]:
        return iter(self.units)

    @overload
    def __getitem__(self, place: int) -> Unit_co: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Unit_co, ...]: ...

    def __getitem__(self, place: int | slice) -> Unit_co | tuple[Unit_co, ...]:
        return self.units[place]


def unit_row(unit: MemoryUnit, items: Sequence[MemoryUnit] = ()) -> dict[str, Any]:
    """Return a memory as a row with its text, times, provenance, tags and metadata; a document's text includes `items`."""
    return {
        "id": unit.id,
        "text": document_text(unit.text, items),
        "fact_type": unit.fact_type.value,
        "kind": unit.kind.value,
        "occurred_start": unit.occurred.start if unit.occurred else None,
        "occurred_end": unit.occurred.end if unit.occurred else None,
        "mentioned_at": unit.mentioned_at,
        "closed_at": unit.closed_at,
        "confidence": unit.confidence,
        "speaker": unit.speaker,
        "context": unit.context,
        "thread": unit.thread,
        "document_id": unit.document_id,
        "sources": list(unit.sources),
        "tags": list(unit.tags),
        "metadata": {
            key: list(value) if isinstance(value, tuple) else value for key, value in unit.metadata.items()
        },
    }


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
