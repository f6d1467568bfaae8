"""Methods of a bank that write: retain, retain_many, edit, withdraw, restore, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.entities import checked_names
from hindsight_integrations.bank.maintenance import erased, erasure_of, foreseen
from hindsight_integrations.bank.reading import observed
from hindsight_integrations.bank.unit_changes import corrected, restored, withdrawn
from hindsight_integrations.config import AS_SET, OnModelFailure
from hindsight_integrations.errors import HindsightError, InvalidRequest, shown
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Document, RetainItem
from hindsight_integrations.model.results import BulkResult, RetainResult
from hindsight_integrations.model.time import Interval, Window
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.retain.pipeline import Given, retain, retain_many
from hindsight_integrations.validation.arguments import checked_instant, checked_unit_id, checked_window
from hindsight_integrations.validation.intake import Content, documents_in, items_of
from hindsight_integrations.validation.limits import (
    MAX_NAME,
    checked_count,
    checked_id,
    checked_list,
    checked_tags,
    checked_text,
    checked_words,
    redacted,
)
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.retain_request import checked_options, retain_request

BATCH_SIZE = 64  # number of items per commit, about a few hundred facts


class WritingVerbs(BankVerbs):
    """Methods that change the bank."""

    @writes
    @observed
    async def retain(
        self,
        content: Content,
        *,
        context: str = "",
        timestamp: datetime | str | float | None = None,
        thread: str = "",
        document_id: str | None = None,
        entities: Sequence[str] = (),
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        facts: Iterable[ExtractedFact | Mapping[str, Any]] | None = None,
        append: bool = False,
        about_agent: bool = False,
        on_model_failure: OnModelFailure | str | None = None,
        background: bool = False,
        extraction_timeout_s: float | None = None,
    ) -> RetainResult:
        """Remember a text, a document or the messages of a conversation.

        Returns when the ledger is on disk and every channel finds the new memories. Index files are written later, in batches,
        and catch up with the ledger after a crash. Retaining the same input twice stores it once. If a document is retained
        again with different text, only changed passages are extracted, and memories that came only from removed passages become
        invalid. A message retained again with different text replaces its earlier version.

        A passage for which the model gave no valid answer becomes a task, listed in the result; `tasks.settle` retries it.

        Args:
            content: text, a Document, or messages: Message, dicts with role and content, or messages of LangChain or
                LlamaIndex. Also LangChain documents and LlamaIndex documents and nodes, one or a list. Nodes of one source are
                joined into that document, so all of them must be passed. Several documents are retained in one commit.
            context: description of the content for extraction ("support chat").
            timestamp: time of messages and texts that have no time of their own; None means now.
            thread: id of the conversation. Message ids are unique within a thread.
            document_id: an id of your choice for a plain text, which makes it a document.
            entities: names of entities that every memory of this call mentions.
            tags: visibility tags.
            metadata: values stored with every memory, at most 16 kB. Strings, numbers, booleans and lists of these keep their
                type, None is omitted, and other values are converted to strings.
            facts: facts that you have extracted yourself; None extracts them here. In `changes`, a fact names the memories that
                it invalidates or changes, by `unit_id` or by `sources` (ids of the messages they were made from). With records
                of kind `document_item`, a fact becomes a document, or adds items to the document named in `adds_to`. Unknown
                keys are errors.
            append: append the text to the document with that id instead of replacing it. The same text with the same timestamp
                is appended once.
            about_agent: the text or document describes the agent and is merged into the background of its profile, as a task.
                Of a conversation, only system messages are merged: nothing that users, assistants or tools say changes the
                profile.
            on_model_failure: "raise" or "queue" passages when the model cannot be reached; None uses the engine's setting.
            background: do not call the model now. Messages are stored and found verbatim until the worker or `tasks.settle`
                extracts their facts. Has no effect without a model.
            extraction_timeout_s: timeout of extraction in seconds; passages that are not extracted by then are queued. None
                uses the setting.

        Raises:
            InvalidRequest: the input is empty, over a limit or inconsistent, or the engine was opened read-only.
            ModelError: extraction or embedding failed; memory is unchanged.
        """
        services = self._context.services
        options = checked_options(on_model_failure, background, extraction_timeout_s)
        if facts is not None and options != AS_SET:
            raise InvalidRequest(
                "facts", "they cannot be combined with options of extraction", "Omit those options, or facts."
            )
        item = RetainItem(
            content, thread, timestamp, context, tags, metadata, facts, entities, document_id, about_agent
        )
        bank = self._context.name
        documents = documents_in(content)
        if len(documents) > 1 and facts is not None:
            raise InvalidRequest(
                "facts", "they are ambiguous with several documents", "Retain each document separately."
            )
        items = [replace(item, content=document) for document in documents] or [item]
        requests = [
            retain_request(
                each,
                bank=bank,
                clock=services.clock,
                dates=services.dates,
                append=append,
                redact=services.redact,
                options=options,
            )
            for each in items
        ]
        await self._context.view_services.workers.write(self._context.claim_embedder)
        return await retain(requests, self._context, self._context.view_services)

    @writes
    async def retain_many(
        self,
        items: Iterable[RetainItem | str | Document | Any],
        *,
        progress: Callable[[int, int], object] | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> BulkResult:
        """Remember many texts, documents and conversations, embedding and committing them in batches.

        An invalid item does not stop the others: the result contains its error, and nothing of it is stored. Items that are
        already stored are skipped, so the call can be repeated after a crash.

        Args:
            items: `RetainItem`s, texts, documents (of this package, LangChain or LlamaIndex) or conversations (lists of
                messages). A plain list of messages is one conversation. If a document or message occurs in two versions, the
                later one is stored.
            progress: called after each batch with the number of finished items and the number of all items; an exception stops
                the work.
            batch_size: maximum number of items per commit, 1 to 10,000.

        Raises:
            InvalidRequest: batch_size is out of range, or the engine was opened read-only.
            EngineClosed: the engine was closed; batches committed before are kept.
            LedgerUnreachable, BankLocked: as for `retain`; batches committed before are kept, so repeat the call.
        """
        size = checked_count(batch_size, "batch_size", most=10_000)
        requests = [self._request(item) for item in items_of(checked_list(items, "items"))]
        if progress is not None and not callable(progress):
            raise InvalidRequest(
                "progress", f"{shown(progress)} is not callable", "Pass a function, or None."
            )
        services = self._context.services
        await self._context.view_services.workers.write(self._context.claim_embedder)
        outcomes = await retain_many(
            requests,
            self._context,
            services,
            batch_size=size,
            concurrent=services.config.retain.concurrent_extractions,
            progress=progress,
        )
        return BulkResult(tuple(outcomes))

    @writes
    async def edit(
        self,
        unit_id: str,
        *,
        text: str | None = None,
        occurred: Interval | tuple[datetime | str, datetime | str] | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> MemoryUnit:
        """Correct a memory in place. It keeps its id, sources and validity; arguments that are None change nothing.

        New text is embedded and indexed. Temporal and semantic links are recomputed when the text or time changes; causal links
        and mentioned entities do not change. The old text is discarded; `maintenance.edits` lists when which fields changed.

        Args:
            unit_id: id of the memory.
            text: new text.
            occurred: new time of the event: an Interval or (start, end).
            tags: new visibility tags.
            metadata: new metadata, which replaces all of the old.

        Raises:
            InvalidRequest: the bank has no memory with that id, no field is given, a value is over a limit, or the
                engine was opened read-only.
            ModelError: the text could not be embedded; the memory is unchanged.
        """
        services = self._context.services
        values = {
            "text": None if text is None else checked_text(redacted(text, services.redact), "text"),
            "occurred": occurred
            if isinstance(occurred, Interval)
            else checked_window(occurred, services.dates),
            "tags": None if tags is None else checked_tags(tags),
            "metadata": None if metadata is None else checked_metadata(metadata),
        }
        changes = {name: value for name, value in values.items() if value is not None}
        if not changes:
            raise InvalidRequest("edit", "no change was given", "Pass text=, occurred=, tags= or metadata=.")
        return await services.workers.write(corrected, self._context, checked_unit_id(unit_id), changes)

    @writes
    async def withdraw(self, unit_id: str, *, reason: str = "") -> bool:
        """Invalidate a memory or an item of a document, as a later contradicting statement would; `restore` undoes it.

        A document becomes invalid with all its items, and so does everything derived from the memory. The memory stays in the
        ledger: recall returns it with `include_invalidated`, or with `as_of` an earlier time. Use `forget` to erase it. A new
        message with the same statement makes a new memory; retaining the same input again changes nothing.

        Args:
            unit_id: id of the memory or item.
            reason: reason shown in `history`; "withdrawn" by default.

        Returns:
            False if the memory was already invalid; nothing is written then.

        Raises:
            InvalidRequest: the bank has no such memory; the memory is an opinion, was derived from facts or is waiting for
                extraction (the error says what to do instead); or the engine was opened read-only.
        """
        why = checked_text(reason, "reason", MAX_NAME) if reason else checked_words(reason, "reason")
        return await self._context.services.workers.write(
            withdrawn, self._context, checked_unit_id(unit_id), why
        )

    @writes
    async def restore(self, unit_id: str) -> bool:
        """Make an invalid memory or item valid again from now on, and log the change.

        A document is restored with the items that became invalid together with it, but not with items removed before.

        Args:
            unit_id: id of the memory or item, as in `RetainResult.closed` and `removed`.

        Returns:
            False if the memory was already valid; nothing is written then.

        Raises:
            InvalidRequest: the bank has no such memory, or the engine was opened read-only.
        """
        return await self._context.services.workers.write(restored, self._context, checked_unit_id(unit_id))

    @writes
    async def forget(
        self,
        *,
        unit: str | None = None,
        units: Sequence[str] | None = None,
        document: str | None = None,
        entity: str | None = None,
        names: Sequence[str] | None = None,
        window: Window = None,
        everything: bool = False,
        thread: str | None = None,
        message: str | None = None,
        text: str | None = None,
        before: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Erase memories permanently from the ledger and from every index, including their files.

        A memory is erased together with its vector, links and items, the passage or turns it came from, everything derived from
        it (observations, opinions, texts of mental models), tasks that contain its text, and entities and names that only it
        used. Hashes of its messages are kept, so that replaying the conversation does not bring it back; `everything` erases
        these too. Memories that an erased memory had invalidated become valid again and are listed in the receipt. If a
        statement is merely no longer true, retain the new fact instead, which keeps the history.

        An entity is erased under the names that are certainly its own. If memories mention it by a similar name that may belong
        to another entity, the call is refused and lists these names; choose among them with `names`.

        The ledger's files and the bank's vector collection are rewritten, so that no bytes of the text remain in them.

        Args:
            unit: id of one memory.
            units: ids of several memories, for example from a dry run.
            document: id of a document.
            entity: name or id of an entity. Erases the entity, every memory that mentions it, and every turn that contains one
                of its names as whole words (forgetting "Apollo" does not erase "Apollo 2"). A name that is not an entity
                ("LH100") is searched for in the texts.
            names: erase only these names of the entity, and the memories that mention it by one of them.
            window: (start, end) of the time in which the memories occurred or were mentioned.
            everything: all memories of the bank. The bank's name, profile and its history (see `profile.forget_history`),
                directives and the questions of mental models are kept.
            thread: id of a conversation: its turns, and every memory made from them ("" for messages without a thread).
            message: id of one message of `thread`: its turn, and every memory made from it.
            text: a description ("Frank's phone number", "+49 170 1234567"). An identifier is erased with every memory and turn
                that contains it, in any notation. A name is treated as `entity`. Any other description erases every memory,
                including invalid ones, that contains its names and most of its words. Try it with `dry_run` first.
            before: memories mentioned before this time, regardless of when they occurred, and every turn before it.
            tags: with `before`: only memories with one of these tags.
            dry_run: erase nothing; the receipt lists the memories, names of entities and identifiers that would be erased.

        Raises:
            InvalidRequest: none or several of the selections are given, no memory matches, the text matches too many memories,
                the entity has names that may belong to others, or the engine was opened read-only.
        """
        if thread is None and message is not None:
            thread = ""
        given = [
            each
            for each in (unit, units, document, entity, window, everything or None, thread, text, before)
            if each is not None
        ]
        if len(given) != 1:
            raise InvalidRequest(
                "forget",
                f"{len(given)} selections were given",
                "Pass exactly one of unit=, units=, document=, entity=, window=, thread= (optionally with message=), text=, before= and everything=True.",
            )
        if tags is not None and before is None:
            raise InvalidRequest("tags", "they only restrict before=", "Pass before= as well, or omit them.")
        if names is not None and entity is None:
            raise InvalidRequest("names", "they only restrict entity=", "Pass entity= as well, or omit them.")
        services = self._context.services
        erasure = Erasure(
            unit=checked_id(unit, "unit"),
            units=() if units is None else tuple(map(checked_unit_id, checked_list(units, "units"))),
            document=checked_id(document, "document"),
            entity=checked_id(entity, "entity"),
            names=() if names is None else checked_names(names),
            window=checked_window(window, services.dates),
            everything=bool(everything),
            thread=None if thread is None else checked_words(thread, "thread"),
            message=checked_id(message, "message"),
            before=checked_instant(before, "before", services.dates),
            tags=() if tags is None else checked_tags(tags),
        )
        if text is not None:
            erasure = await erasure_of(self._context, checked_text(text, "text", MAX_NAME))
        erase = foreseen if dry_run else erased
        return await services.workers.write(erase, self._context, erasure)

    def _request(self, item: RetainItem) -> Given:
        """Validate an item of `retain_many`; return the request, or the error."""
        bank, services = self._context.name, self._context.services
        try:
            return retain_request(
                item, bank=bank, clock=services.clock, dates=services.dates, redact=services.redact
            )
        except HindsightError as error:
            return error
