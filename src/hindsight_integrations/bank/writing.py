"""The bank's verbs that change it: retain, retain_many, edit, withdraw, restore, forget."""

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

BATCH_SIZE = 64  # items; about what one commit of a few hundred facts holds


class WritingVerbs(BankVerbs):
    """Verbs that change the bank."""

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

        Returns once every channel finds what was retained, and the ledger has it on disk; indexes are written to disk in
        batches, and brought up to the ledger after a kill. The same input twice is one memory. A document retained again
        with other text is brought up to date: passages that are still there are not read again, and what only the
        removed ones stated is closed. A message retained again with other text supersedes its earlier version.

        A passage for which the model gives no usable answer waits as a task, named in the result; `tasks.settle` tries
        again.

        Args:
            content: text, a Document, or messages: Message, dicts with role and content, or messages of LangChain or
                LlamaIndex. Also documents of LangChain and documents and nodes of LlamaIndex, one or a list: the nodes of a source are
                that document, whole again, and must all be there; several documents are retained in one commit.
            context: what this is, for extraction ("support chat").
            timestamp: when it was said or written, for what carries no time of its own; now if None.
            thread: the conversation; message ids are unique within it.
            document_id: the caller's id of a plain text.
            entities: names every memory of this call is about.
            tags: visibility tags.
            metadata: values to keep with every memory: text, numbers, truth values and lists of these keep their type, None is
                left out, anything else is kept as its text; 16 kB at most.
            facts: facts somebody else extracted from the content; None means extract them here. Under `changes` a fact names the
                memories it ends or changes, by `unit_id` or by `sources`, the ids of the messages they were made from. Records of
                kind `document_item` make the fact a document, or go to the one that `adds_to` names. An unknown key is an error.
            append: add the text to the document of that id instead of replacing it; the same text with the same
                timestamp is added once.
            about_agent: the text or document says who the agent behind the bank is, or of a conversation its system
                messages do: merged into the background of its profile, as a task. Only the program can say so; what
                users, assistants and tools say never changes who the agent is.
            on_model_failure: "raise" or "queue": what becomes of passages when the model cannot be reached; None for the
                engine's setting.
            background: no model is asked now: the messages are committed, each found word for word meanwhile, and facts are
                extracted by the worker, or `tasks.settle`. Without a model nothing is put off.
            extraction_timeout_s: seconds the model may take; what it has not answered by then waits. None for the setting.

        Raises:
            InvalidRequest: the input is empty, over a limit or inconsistent, or the engine was opened read-only.
            ModelError: extraction or embedding failed; memory is unchanged.
        """
        services = self._context.services
        options = checked_options(on_model_failure, background, extraction_timeout_s)
        if facts is not None and options != AS_SET:
            raise InvalidRequest(
                "facts", "no model is asked for facts that are given", "Leave the options of extraction out."
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
        await services.workers.write(self._context.claim_embedder)
        return await retain(requests, self._context, services)

    @writes
    async def retain_many(
        self,
        items: Iterable[RetainItem | str | Document | Any],
        *,
        progress: Callable[[int, int], object] | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> BulkResult:
        """Remember many texts, documents and conversations: embedded and committed in batches.

        One bad item does not stop the others: its error is in the result and nothing of it is stored. What is already
        remembered is skipped, so that after a kill the same call does what is left.

        Args:
            items: `RetainItem`s, texts, documents (ours, LangChain's or LlamaIndex's) or conversations (lists of messages); messages
                alone are one conversation. Of two versions of one document or message the later one wins.
            progress: called after each batch with the number of items done, and of all; what it raises stops the work.
            batch_size: at most so many items a commit, 1 to 10,000.

        Raises:
            InvalidRequest: batch_size is out of range, or the engine was opened read-only.
            EngineClosed: the engine was closed; batches committed before stay.
        """
        size = checked_count(batch_size, "batch_size", most=10_000)
        requests = [self._request(item) for item in items_of(checked_list(items, "items"))]
        if progress is not None and not callable(progress):
            raise InvalidRequest(
                "progress", f"{shown(progress)} cannot be called", "Pass a function, or None."
            )
        services = self._context.services
        await services.workers.write(self._context.claim_embedder)
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
        """Correct a memory in place; it keeps its id, its sources and its validity. What is None stays.

        New text is embedded and indexed, and temporal and semantic links are made anew with text or time; causal links and
        the entities it mentions stay as they are. The old text is not kept; `maintenance.edits` lists when what was
        changed.

        Args:
            unit_id: which.
            text: what it says.
            occurred: when it happened: an Interval, or (start, end).
            tags: its visibility tags.
            metadata: its values, in place of those it has.

        Raises:
            InvalidRequest: the bank holds none of that id, nothing is to be changed, a value is over a limit, or the
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
            raise InvalidRequest(
                "edit", "nothing is to be changed", "Pass text=, occurred=, tags= or metadata=."
            )
        return await services.workers.write(corrected, self._context, checked_unit_id(unit_id), changes)

    @writes
    async def withdraw(self, unit_id: str, *, reason: str = "") -> bool:
        """Close a memory or an item of a document, as a later statement that ends it would; `restore` undoes it.

        A document is closed with all its items.

        It stays in the ledger, is history for `include_invalidated` and for `as_of` an earlier time, and what stands on it
        follows. To erase it, `forget` it. A new message that says it again makes a new memory; the very same input, retained
        once more, is known and changes nothing.

        Args:
            unit_id: id of the memory or item.
            reason: why, for people who read `history`; empty says that it was withdrawn.

        Returns:
            False if it held no more already; nothing is written then.

        Raises:
            InvalidRequest: the bank has no such memory, it is an opinion, was made from facts or waits for extraction (the
                error says what to do instead), or the engine was opened read-only.
        """
        why = checked_text(reason, "reason", MAX_NAME) if reason else checked_words(reason, "reason")
        return await self._context.services.workers.write(
            withdrawn, self._context, checked_unit_id(unit_id), why
        )

    @writes
    async def restore(self, unit_id: str) -> bool:
        """Undo the closing of a memory or of an item: it is valid again from now on, and the log says so.

        A document comes back with the items that ended with it, not with those removed before.

        Args:
            unit_id: id of the memory or item (`RetainResult.closed` and `removed` name it).

        Returns:
            False if it was valid already; nothing is written then.

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
        """Erase memories for good: from the ledger, from every index and from the files underneath.

        With a memory go its vector, its links, the items of a document, the passage or the turns it came from, what was made of it
        (observations, opinions worded from it, texts of mental models), waiting work that carries its text, and entities and
        names that only it used. Messages it came from stay known by their hash, so that a replayed
        conversation does not bring it back; `everything` forgets those too. What a forgotten memory had ended holds again, and the
        receipt lists it. To say that something is no longer true,
        retain that instead: then history is kept.

        An entity is erased by what is its own for certain. If memories mention it under another name that was only found
        to look alike, one that may be somebody else's, the call is refused and lists the names; `names` then says which
        of them to forget.

        Costs a rewrite of the ledger's files and of the bank's vector collection.

        Args:
            unit: id of one memory.
            units: ids of several, as picked from a dry run.
            document: id of a document.
            entity: name or id of an entity: it, every memory that mentions it, and every turn in which one of its names
                stands whole: "Apollo 2" does not go with "Apollo". A name that no memory mentions as an entity ("LH100") is
                looked for in the texts.
            names: of the entity: only these names go, and the memories that mention it under one of them.
            window: (start, end): what happened or was said in it.
            everything: all memories of the bank; its name, its profile and what that was before stay (see
                `profile.forget_history`), and so do its directives and the questions of its mental models.
            thread: a conversation: its turns, and every memory made from them ("" for messages retained without a thread).
            message: id of one message of `thread`: its turn, and every memory made from it.
            text: what is meant, as people say it ("Frank's phone number", "+49 170 1234567"): identifiers in it go with every
                memory and turn in which they stand, however they are written there; a name is `entity`; else every memory, closed
                ones included, that has its names and most of its words. Look at a dry run first.
            before: what was mentioned before this moment, whenever it happened, and every turn said before it.
            tags: with `before`: only what bears one of them.
            dry_run: erase nothing; the receipt says which memories would go, and which names of entities and identifiers.

        Raises:
            InvalidRequest: not exactly one of them is given, the bank holds nothing of that id or text, the text fits half
                the bank, the entity holds names that may be others', or the engine was opened read-only.
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
                f"it was given {len(given)} things to forget",
                "Pass exactly one of unit=, units=, document=, entity=, window=, thread= (with message= or not), text=, before= and everything=True.",
            )
        if tags is not None and before is None:
            raise InvalidRequest("tags", "they choose among what is older", "Pass before= with them.")
        if names is not None and entity is None:
            raise InvalidRequest("names", "they are names of no entity", "Pass entity= with them.")
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
        """An item as a request, or the error that makes it none."""
        bank, services = self._context.name, self._context.services
        try:
            return retain_request(
                item, bank=bank, clock=services.clock, dates=services.dates, redact=services.redact
            )
        except HindsightError as error:
            return error
