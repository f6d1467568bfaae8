"""MemorySystem: what an evaluation asks of ours and of its peers: keep sessions, and give a context for a question."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from hindsight_evals.episode import Session, TurnIds
from hindsight_integrations.models.protocols import Embedder, TokenCounter


@dataclass(frozen=True, slots=True)
class ServedText:
    """A text as a system serves it to a reader.

    Attributes:
        text: all of it, notes of what no longer holds included.
        sources: ids of the turns it stands on.
        tokens: what it costs.
        withdrawn: statements that it marks itself as no longer true.
    """

    text: str
    sources: TurnIds
    tokens: int
    withdrawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a system serves for a question, best first."""

    served: tuple[ServedText, ...]

    @property
    def tokens(self) -> int:
        """What it costs a reader."""
        return sum(text.tokens for text in self.served)

    @property
    def text(self) -> str:
        """All of it, a text a line."""
        return "\n".join(text.text for text in self.served)


class MemorySystem(Protocol):
    """One system with the memory of one episode. Sessions come in order; questions after the last, several at once."""

    def retain(self, session: Session) -> None:
        """Keep a session; the same session twice is kept once where the system can."""
        ...

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:
        """What it serves for a question that is asked at `moment`, in at most `max_tokens`."""
        ...


@runtime_checkable
class AnsweringSystem(MemorySystem, Protocol):
    """A system that answers by itself, without the evaluation's reader."""

    def answer(self, question: str, *, moment: datetime) -> str:
        """Its own answer."""
        ...


@runtime_checkable
class ListingSystem(MemorySystem, Protocol):
    """A system that decides by itself what no longer holds, and can list all that it takes for true."""

    def held(self) -> Context:
        """Everything it would still serve as true, whatever is asked and whatever it costs."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """What every system is given to work with.

    Attributes:
        folder: for its files; empty at first. A system that keeps them finds them again after a kill.
        episode: the episode's name.
        embedder: the one embedder of all.
        tokens: what counts tokens, for all.
    """

    folder: Path
    episode: str
    embedder: Embedder
    tokens: TokenCounter


@dataclass(frozen=True, slots=True)
class Peer:
    """A system that can be evaluated.

    Attributes:
        name: for tables and the command line.
        open: makes it ready for one episode; closing ends it.
        persistent: whether its files hold what was retained, so that a run that was killed goes on.
        budgeted: whether it keeps to a budget; else it is asked under the largest alone.
    """

    name: str
    open: Callable[[Place], AbstractContextManager[MemorySystem]]
    persistent: bool = False
    budgeted: bool = True
