"""Mental models and directives in the ledger: what reads them, and what makes and removes them (decision 134)."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.model.directives import Directive
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.ports.arrays import IntArray


class MentalModelReader(Protocol):
    """Reads of one bank's mental models and directives."""

    def mental_models(self, bank: str) -> list[MentalModel]:
        """All of them, by name. One that is `withdrawn` has no text; `stale` is false: that is not the ledger's to judge."""
        ...

    def directives(self, bank: str) -> list[Directive]:
        """All of them, in the order they were given."""
        ...

    def changed_facts(self, bank: str, revision: int, limit: int) -> IntArray:
        """Row ids of world and experience memories that came, were corrected, closed or restored after a revision.

        The latest first, at most so many.
        """
        ...


class MentalModelWriter(Protocol):
    """What makes and removes them; a transaction each, none raises the bank's revision. A commit writes answers."""

    def create_mental_model(self, bank: str, model: MentalModel, *, most: int) -> None:
        """Keep a standing question, without an answer; one that is refreshed by itself is enqueued.

        Args:
            bank: the bank.
            model: id, name, question, tags, trigger, size and time.
            most: how many a bank may have.

        Raises:
            InvalidRequest: there is one of that name, or there are as many as there may be.
        """
        ...

    def delete_mental_model(self, bank: str, model_id: str) -> bool:
        """Delete a mental model with its text and its task; False if there is none."""
        ...

    def add_directive(self, bank: str, directive: Directive, *, most: int) -> Directive:
        """Keep a directive; the one that is there already, if text and tags are the same.

        Raises:
            InvalidRequest: there are as many as there may be.
        """
        ...

    def remove_directive(self, bank: str, directive_id: str) -> bool:
        """Remove a directive; False if there is none."""
        ...
