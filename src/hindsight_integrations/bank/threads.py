"""`bank.threads`: conversations followed as they go on, fork and go back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.reading import observed
from hindsight_integrations.choices import choice
from hindsight_integrations.config import OnModelFailure
from hindsight_integrations.model.requests import RetainItem
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.turns import OnFork, Role
from hindsight_integrations.retain.pipeline import ThreadList, follow
from hindsight_integrations.validation.intake import NothingToRetain
from hindsight_integrations.validation.limits import checked_flag, checked_list, checked_words
from hindsight_integrations.validation.messages import checked_roles, heard, identified
from hindsight_integrations.validation.retain_request import RetainRequest, checked_options, retain_request


class AsyncThreads(BankVerbs):
    """Conversations that are given whole, again and again: what changed of them is found out and retained."""

    namespace = "threads"

    @writes
    @observed
    async def follow(
        self,
        messages: Iterable[Any],
        *,
        thread: str,
        namespace: str = "",
        on_fork: OnFork | str = OnFork.SUPERSEDE,
        roles: Iterable[Role | str] = (Role.USER, Role.ASSISTANT),
        context: str = "",
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        on_model_failure: OnModelFailure | str | None = None,
        background: bool = False,
        extraction_timeout_s: float | None = None,
        remember: bool = True,
    ) -> RetainResult:
        """Retain what is new of a conversation, and bring its memories to the branch it is on.

        The messages are compared with those of the last time. New ones are retained, one with other text under its id
        supersedes its earlier version. A message that is missing was trimmed, and stays, if the conversation goes on
        from it; else a fork dropped it (a regenerated answer, a question asked anew), and what was made of it is closed,
        until a fork back brings it again.

        Args:
            messages: the whole conversation as it is now: Message, dicts with role and content, or messages of LangChain or LlamaIndex.
            thread: its id; message ids are unique within it.
            namespace: which of several lists of messages of one thread this is, where an agent and its parts keep their own.
            on_fork: "supersede", or "keep": what was made of dropped messages stays.
            roles: whose messages are retained: user, assistant, tool. A tool's result is retained with its call, cut at
                4,000 characters; an assistant's message that only calls tools never is. Any text over the limit of a
                message is cut.
            context: what this is, for extraction ("support chat").
            tags: visibility tags.
            metadata: values to keep with every memory.
            on_model_failure: as in `retain`.
            background: as in `retain`.
            extraction_timeout_s: as in `retain`.
            remember: False marks the new messages as seen and stores nothing of them, so that no later call remembers them.

        Raises:
            InvalidRequest: a message is unreadable, or two of one id differ, or the engine was opened read-only.
            ModelError: extraction or embedding failed; memory is unchanged.
        """
        services = self._context.services
        options = checked_options(on_model_failure, background, extraction_timeout_s)

        listened_to = checked_roles(roles)

        def requested(some: Sequence[Any]) -> RetainRequest | None:
            if not (said := heard(some, listened_to)):
                return None
            item = RetainItem(said, thread, None, context, tags, metadata)
            try:
                return retain_request(
                    item,
                    bank=self._context.name,
                    clock=services.clock,
                    dates=services.dates,
                    redact=services.redact,
                    options=options,
                )
            except NothingToRetain:
                return None

        given = ThreadList(
            items=identified(checked_list(messages, "messages")),
            thread=checked_words(thread, "thread"),
            namespace=checked_words(namespace, "namespace"),
            at=as_utc(services.clock.now()),
            on_fork=choice(OnFork, on_fork, "on_fork"),
        )
        await services.workers.write(self._context.claim_embedder)
        return await follow(
            given, requested, self._context, services, remember=checked_flag(remember, "remember")
        )
