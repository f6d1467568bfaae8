"""`bank.directives`: rules that every answer of the bank keeps."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.mental_models import Directive
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.validation.limits import (
    MAX_DIRECTIVE,
    MAX_DIRECTIVES,
    checked_id,
    checked_tags,
    checked_text,
)

Directives: TypeAlias = tuple[Directive, ...]  # inside the class `list` is the verb


class AsyncDirectives(BankVerbs):
    """Rules of whoever runs the bank: `reflect` follows them. No memory ever becomes one."""

    namespace = "directives"

    @writes
    async def add(self, text: str, *, tags: Iterable[str] = ()) -> Directive:
        """Give a rule that answers keep from now on; one that is there already with these tags is returned as it is.

        Args:
            text: the rule, up to 1,000 characters: "Answer in two sentences at most." It stands in the system message, so
                give none that somebody else wrote.
            tags: it holds for reflections with one of these tags; without any it holds for all.

        Raises:
            InvalidRequest: the text is blank or too long, a tag is none, the bank has 50 directives, or the engine was
                opened read-only.
        """
        bank = self._context
        given = Directive(
            id=str(uuid.uuid4()),
            text=checked_text(text, "text", MAX_DIRECTIVE),
            tags=checked_tags(tags),
            created_at=as_utc(bank.tools.clock.now()),
        )
        return await bank.tools.workers.write(
            bank.ledger.mental_models.add_directive, bank.name, given, most=MAX_DIRECTIVES
        )

    async def list(self) -> Directives:
        """All directives, in the order they were given."""
        bank = self._context
        return tuple(await bank.tools.workers.read(bank.ledger.mental_models.directives, bank.name))

    @writes
    async def remove(self, directive_id: str) -> None:
        """Remove a directive.

        Args:
            directive_id: its id, as `list` gives it.

        Raises:
            InvalidRequest: there is none of that id, or the engine was opened read-only.
        """
        bank, wanted = self._context, checked_id(directive_id, "directive_id") or ""
        if not await bank.tools.workers.write(bank.ledger.mental_models.remove_directive, bank.name, wanted):
            reason = f"there is no directive {shown(directive_id)}"
            raise InvalidRequest("directive_id", reason, "Pass an id that directives.list() gives.")
