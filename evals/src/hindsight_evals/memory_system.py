"""The interface of the systems under evaluation: retain sessions, and return a context for a question."""

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
    """A text as a system returns it to a reader.

    Attributes:
        text: the whole text, including notes about what is no longer true.
        sources: ids of the turns it is based on.
        tokens: its number of tokens.
        withdrawn: the statements that the text itself marks as no longer true.
    """

    text: str
    sources: TurnIds
    tokens: int
    withdrawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The texts that a system returns for a question, best first."""

    served: tuple[ServedText, ...]

    @property
    def tokens(self) -> int:
        """The total number of tokens."""
        return sum(text.tokens for text in self.served)

    @property
    def text(self) -> str:
        """All texts, one per line."""
        return "\n".join(text.text for text in self.served)


class MemorySystem(Protocol):
    """One system with the memory of one episode. Sessions are retained in order; questions follow, several at once."""

    def retain(self, session: Session) -> None:
        """Retain a session; retaining it again changes nothing, if the system supports that."""
        ...

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:
        """Return the context for a question asked at `moment`, with at most `max_tokens`."""
        ...


@runtime_checkable
class AnsweringSystem(MemorySystem, Protocol):
    """A system that answers questions itself, without the reader of the evaluation."""

    def answer(self, question: str, *, moment: datetime) -> str:
        """Return the system's answer."""
        ...


@runtime_checkable
class ListingSystem(MemorySystem, Protocol):
    """A system that decides itself what is no longer true, and can list everything it considers true."""

    def held(self) -> Context:
        """Return everything that it considers true, regardless of question and budget."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """The environment that every system gets.

    Attributes:
        folder: for its files; empty at first. A system that stores files finds them again after a kill.
        episode: the episode's name.
        embedder: the embedder shared by all systems.
        tokens: the token counter shared by all systems.
    """

    folder: Path
    episode: str
    embedder: Embedder
    tokens: TokenCounter


@dataclass(frozen=True, slots=True)
class Peer:
    """A system that can be evaluated.

    Attributes:
        name: its name in tables and on the command line.
        open: opens it for one episode; leaving the context closes it.
        persistent: whether its files contain the retained sessions, so that a killed run can continue.
        budgeted: whether it respects a token budget; otherwise it is called only with the largest one.
    """

    name: str
    open: Callable[[Place], AbstractContextManager[MemorySystem]]
    persistent: bool = False
    budgeted: bool = True
