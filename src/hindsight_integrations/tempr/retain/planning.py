"""What of a retain has to be read: messages and passages the bank does not know yet, in their present wording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.writes import DocumentWrite, MessageKey
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.documents import Cut, plan_document
from hindsight_integrations.tempr.retain.superseding import (
    DocumentChange,
    edited_places,
    partners,
    said_before,
)
from hindsight_integrations.validation.intake import Intake, content_hash, document_thread


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be extracted.

    Attributes:
        keys: identities of all that was given.
        known: those the bank has in this wording.
        fresh: messages to read.
        before: messages that only give context.
        change: the document to store; None for a conversation.
    """

    keys: tuple[MessageKey, ...]
    known: frozenset[MessageKey]
    fresh: tuple[Message, ...] = ()
    before: tuple[Message, ...] = ()
    change: DocumentChange | None = None

    @property
    def nothing_new(self) -> bool:
        """Whether the bank has all of it."""
        return len(self.known) == len(self.keys)

    @property
    def pieces(self) -> tuple[str, ...]:
        """Passages of the document to read."""
        return tuple(text for text, _ in self._asked())

    @property
    def ordinals(self) -> tuple[int, ...]:
        """Ordinals of those passages."""
        return tuple(ordinal for _, ordinal in self._asked())

    def _asked(self) -> list[tuple[str, int]]:
        fresh = self.change.plan.fresh if self.change else ()
        return [(chunk.text, chunk.ordinal) for chunk in fresh if chunk.text.strip()]


def read_conversation(intake: Intake, view: BankView) -> Reading:
    """Messages not known in this wording are read, and with an edited one those that share a fact with it."""
    known = view.ledger.known_messages(view.bank, intake.keys)
    edited = edited_places(intake.keys, known)
    shared = (
        partners(said_before(view.ledger, view.bank, edited), edited) if known and edited else frozenset()
    )
    pairs = list(zip(intake.messages, intake.keys, strict=True))
    asked = [key not in known or (key.thread, key.message_id) in shared for _, key in pairs]
    return Reading(
        keys=intake.keys,
        known=known,
        fresh=tuple(message for (message, _), ask in zip(pairs, asked, strict=True) if ask),
        before=tuple(message for (message, _), ask in zip(pairs, asked, strict=True) if not ask),
    )


def read_document(
    intake: Intake,
    view: BankView,
    cut: Cut | None,
    describe: Callable[[str], DocumentWrite],
    *,
    append: bool,
) -> Reading:
    """Compare a document with its stored version.

    Args:
        intake: with a document.
        view: its bank.
        cut: makes passages; None for facts somebody else extracted, which are not told apart by passage.
        describe: the row to store, from the content hash of the whole text.
        append: the text is added to what is stored.
    """
    known = view.ledger.known_messages(view.bank, intake.keys)
    if intake.document is None or len(known) == len(intake.keys):
        return Reading(intake.keys, known)
    stored = view.ledger.document(view.bank, intake.document.id or "")
    plan = plan_document(
        intake.document, stored, cut or _whole, append=append, anew=cut is None and not append
    )
    write = describe(content_hash(plan.document.text))
    version = MessageKey(document_thread(write.id), "", write.content_hash)
    return Reading(
        keys=tuple(dict.fromkeys((*intake.keys, version))), known=known, change=DocumentChange(write, plan)
    )


def _whole(text: str) -> Sequence[str]:
    return [text]
