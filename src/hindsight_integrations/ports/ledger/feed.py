"""Feed: what projections follow. All its parts are of one snapshot of one bank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.ledger.values import ItemUnits, UnitColumns
from hindsight_integrations.ports.memory_graph import Edges, Mentions
from hindsight_integrations.ports.watermark import Watermark


class Feed(Protocol):
    """A bank at one revision, and what was committed up to it after an earlier one; `since` 0 gives everything.

    Each part takes a `since` of its own, because each index keeps its own watermark; a part that is not called is not
    read. Arrays are in row order. It is of use inside the block that opened it, on the thread that did.
    """

    @property
    def revision(self) -> int:
        """The revision everything here stands at."""
        ...

    @property
    def mark(self) -> Watermark:
        """The commit everything here stands at: what an index that has applied it all advances to."""
        ...

    def knows(self, mark: Watermark) -> bool:
        """Whether a mark is of this bank's history, up to here; then its revision is a `since` of this feed.

        If not, what the index holds is of another history (a bank forgotten and made anew, a restored backup, another
        ledger) and no `since` of this one brings it up to date.

        Raises:
            LedgerLost: the mark is of a commit that this ledger should hold and does not, or of another ledger, and nobody
                has accepted that yet: the index may be the only evidence of it.
        """
        ...

    @property
    def graph_epoch(self) -> int:
        """The last revision that changed links or mentions in place; graphs older than it start over."""
        ...

    def count(self) -> int:
        """How many units the bank holds, closed ones and turns that wait included: what is in a text index."""
        ...

    def waiting(self) -> int:
        """How many of them are turns that wait for extraction."""
        ...

    def vector_count(self) -> int:
        """How many of them have a vector; a turn retained while the embedder failed has none."""
        ...

    def columns(self, since: int) -> UnitColumns:
        """Units created, closed, restored or re-dated after `since`."""
        ...

    def embedded(self, since: int) -> IntArray:
        """Row ids whose vectors were written after `since`, ascending."""
        ...

    def vectors(self, since: int) -> Iterator[tuple[IntArray, Matrix]]:
        """Row ids (n,) and vectors (n, dimension) written after `since`, in blocks of bounded size.

        Each block is in row order, the blocks in the order of their commits; a whole bank need not fit into memory.
        """
        ...

    def vectors_of(self, ids: IntArray) -> Matrix:
        """The vectors (n, dimension) of these row ids, in row order; ids without one are left out."""
        ...

    def texts(self, since: int) -> tuple[IntArray, list[str]]:
        """Row ids and texts of units created, edited in place, or whose source turns were reworded or erased, after `since`."""
        ...

    def told(self, ids: IntArray) -> list[str]:
        """The texts of these units (by row id, ascending), each with the source turns it was made from, a line each, by time.

        Empty for a unit without any beside itself. Of a message that was edited it is the latest wording.
        """
        ...

    def graph(self, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Memories, links and mentions created after `since`; entities by row id. Turns that wait are not in it."""
        ...

    def mentioned(self, more_than: float) -> tuple[IntArray, IntArray]:
        """Row ids (n,), ascending, of entities that more than so many units mention, and how many units do, (n,)."""
        ...

    def item_units(self, since: int) -> ItemUnits:
        """Texts of items that came after `since`."""
        ...

    def removed(self, since: int) -> IntArray:
        """Row ids of units that went after `since`, ascending: forgotten ones, turns that wait no more, ended observations."""
        ...

    def erased(self, since: int) -> bool:
        """Whether anything was erased after `since`: then what an index dropped before must leave its files, too."""
        ...

    def roles(self) -> IntArray:
        """Row ids of entities with a role (user, agent, speaker), ascending."""
        ...
