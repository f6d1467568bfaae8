"""`bank.mental_models`: standing questions whose answers are kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.kept_answers import mental_model_tools
from hindsight_integrations.cara.mental_models import refresh, with_staleness
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.mental_models import MentalModel, RefreshTrigger
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.validation.limits import (
    MAX_MENTAL_MODELS,
    MAX_MODEL_TOKENS,
    MAX_QUERY,
    checked_count,
    checked_name,
    checked_tags,
    checked_text,
)

TEXT_TOKENS = 1_024  # of a mental model's text, unless it is said otherwise

MentalModels: TypeAlias = tuple[MentalModel, ...]  # inside the class `list` is the verb


class AsyncMentalModels(BankVerbs):
    """Standing questions: each is answered from memory, and `reflect` sees the answers that bear on its question first."""

    namespace = "mental_models"

    @writes
    async def create(
        self,
        name: str,
        question: str,
        *,
        tags: Iterable[str] = (),
        trigger: RefreshTrigger | str = RefreshTrigger.MANUAL,
        max_tokens: int = TEXT_TOKENS,
    ) -> MentalModel:
        """Keep a standing question. It has no answer yet: `refresh` answers it, or with trigger "auto" a task.

        Args:
            name: by which it is called; unique in the bank, one line of up to 200 characters.
            question: up to 8,000 characters.
            tags: visibility tags. It is answered from memories that have the same tags, or none, and is shown to whom they
                are shown.
            trigger: "manual", or "auto": also answered anew a minute after memories in its scope changed, as a task.
            max_tokens: what its text may cost, 1 to 8,192. A reflection is shown texts of half of its own `max_tokens` at most.

        Raises:
            InvalidRequest: there is one of that name, the bank has 100, an option is out of range, or the engine was opened
                read-only.
        """
        bank = self._context
        made = MentalModel(
            id=str(uuid.uuid4()),
            name=checked_name(name, "name"),
            question=checked_text(question, "question", MAX_QUERY),
            tags=checked_tags(tags),
            trigger=choice(RefreshTrigger, trigger, "trigger"),
            max_tokens=checked_count(max_tokens, "max_tokens", most=MAX_MODEL_TOKENS),
            created_at=as_utc(bank.tools.clock.now()),
        )
        create = bank.ledger.mental_models.create
        await bank.tools.workers.write(create, bank.name, made, most=MAX_MENTAL_MODELS)
        return made

    async def get(self, name: str) -> MentalModel:
        """One mental model, with its text where there is one; `state` says what is to be made of it.

        Args:
            name: as `create` gave it; or its id, as an answer cites it.

        Raises:
            InvalidRequest: there is none of that name.
            ModelError: as of `list`.
        """
        model = await self._named(name)
        return next(each for each in await self.list() if each.id == model.id)

    async def list(self) -> MentalModels:
        """All mental models, by name; each marked where it may be out of date.

        Raises:
            ModelError: their questions could not be embedded, to be compared with what changed.
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        bank = self._context
        known = await bank.tools.workers.read(bank.ledger.mental_models.all, bank.name)
        if not any(model.refreshed_at for model in known):
            return tuple(known)
        tools = await mental_model_tools(bank)
        async with bank.viewing() as view:
            return await bank.tools.workers.read(
                lambda: tuple(with_staleness(model, view, tools) for model in known)
            )

    @writes
    async def refresh(self, name: str) -> MentalModel:
        """Answer a mental model's question anew, now, and keep the answer.

        It is answered as by `reflect`, from facts alone, and forms no opinions. Without a model its text is the best memories
        themselves, and `extractive`. Where memory has no answer the text is empty, `state` is "nothing known", and if nothing
        was found no model is asked.

        Args:
            name: as `create` gave it.

        Returns:
            The model as it is now.

        Raises:
            InvalidRequest: there is none of that name, or the engine was opened read-only.
            ModelError: the model or the embedder failed; the text is as it was.
            RevisionConflict: memories it was answered from changed at each of three tries; call it again.
        """
        bank, model = self._context, await self._named(name)
        await bank.tools.workers.write(bank.claim_embedder)
        await refresh(model.id, await mental_model_tools(bank))
        return await self.get(name)

    @writes
    async def delete(self, name: str) -> None:
        """Delete a mental model: question, text and task.

        Args:
            name: as `create` gave it.

        Raises:
            InvalidRequest: there is none of that name, or the engine was opened read-only.
        """
        bank, model = self._context, await self._named(name)
        await bank.tools.workers.write(bank.ledger.mental_models.delete, bank.name, model.id)

    async def _named(self, name: object) -> MentalModel:
        """The model of a name as the ledger has it, without looking whether it is out of date."""
        bank, wanted = self._context, checked_name(name, "name")
        for model in await bank.tools.workers.read(bank.ledger.mental_models.all, bank.name):
            if wanted in (model.name, model.id):
                return model
        raise InvalidRequest(
            "name", f"there is no mental model {shown(name)}", "Pass a name that mental_models.list() gives."
        )
