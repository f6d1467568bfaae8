"""`bank.threads`: follow a conversation as it continues, forks and rewinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.reading import observed
from hindsight_integrations.bank.tasks import extract_due
from hindsight_integrations.choices import choice
from hindsight_integrations.config import Extract, OnModelFailure
from hindsight_integrations.model.requests import RetainItem
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.turns import OnFork, Role
from hindsight_integrations.retain.pipeline import ThreadList, follow
from hindsight_integrations.validation.intake import NothingToRetain
from hindsight_integrations.validation.limits import checked_flag, checked_list, checked_words
from hindsight_integrations.validation.messages import checked_roles, heard, identified
from hindsight_integrations.validation.retain_request import RetainRequest, checked_options, retain_request


class AsyncThreads(BankVerbs):
    """Follows conversations that are passed as complete lists of messages."""

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
        extract: Extract | str = Extract.TURN,
        remember: bool = True,
    ) -> RetainResult:
        """Retain the new messages of a conversation, and invalidate memories made from discarded messages.

        The messages are compared with those of the previous call. New messages are retained. A message with different text
        replaces its earlier version. A missing message that precedes the last known message of the list counts as trimmed, and
        its memories stay valid. Any other missing message was discarded by a fork (a regenerated answer, an edited question):
        memories made from it are invalid until the thread returns to it.

        Args:
            messages: the complete current conversation: Message, dicts with role and content, or messages of LangChain or LlamaIndex.
            thread: id of the conversation. Message ids are unique within a thread.
            namespace: distinguishes several lists of messages within one thread, such as those of an agent's subgraphs.
            on_fork: "supersede", or "keep" to keep memories of discarded messages valid.
            roles: roles whose messages are retained: user, assistant, tool. A tool's result is retained together with its call
                and truncated at 4,000 characters. An assistant's message that only calls tools is not retained. Any text over
                the limit of a message is truncated.
            context: description of the conversation for extraction ("support chat").
            tags: visibility tags.
            metadata: values stored with every memory.
            on_model_failure: as in `retain`.
            background: as in `retain`.
            extraction_timeout_s: as in `retain`; does not apply to messages that were already waiting.
            extract: when facts are extracted. "turn": immediately. "idle" stores messages as they are and extracts them together
                when they fill a passage (`RetainConfig.chunk_characters`), after 5 minutes without a new message, or in
                `tasks.settle`. "session" waits for `tasks.settle`, 10 passages, or an hour without a new message. Due messages
                are extracted by the worker, or, without one and unless `background` is set, by the bank's next call with "idle"
                or "session". Has no effect without a model or with verbatim extraction.
            remember: False marks the new messages as seen without making memories, so that no later call retains them.

        Raises:
            InvalidRequest: a message is invalid, two messages with one id differ, or the engine was opened read-only.
            ModelError: extraction or embedding failed; memory is unchanged.
        """
        services = self._context.services
        options = checked_options(
            on_model_failure,
            background,
            extraction_timeout_s,
            extract,
            namespace=checked_words(namespace, "namespace"),
        )

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
            namespace=options.namespace,
            at=as_utc(services.clock.now()),
            on_fork=choice(OnFork, on_fork, "on_fork"),
        )
        await services.workers.write(self._context.claim_embedder)
        result = await follow(
            given, requested, self._context, services, remember=checked_flag(remember, "remember")
        )
        if options.extract is Extract.TURN or options.background or services.worker is not WorkerMode.NONE:
            return result
        return replace(result, settled=await extract_due(self._context))
