"""Snippets: what is said about the agent behind a bank, and waits to be merged into its background."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import as_utc


@dataclass(frozen=True, slots=True)
class StoredSnippet:
    """What the task of a merge keeps. Data directories hold it as JSON: the names of its fields stay as they are.

    An erasure knows it by its thread and sources, or by its document, and takes the task with it.

    Attributes:
        text: as it was said.
        said_at: when (aware UTC).
        thread: the conversation, or the document's own.
        sources: id of the message; none for a document.
        document: id of the document; empty for a message.
    """

    text: str
    said_at: datetime
    thread: str = ""
    sources: tuple[str, ...] = ()
    document: str = ""

    def dumped(self) -> str:
        """As the payload of a task."""
        fields: dict[str, object] = {
            "text": self.text,
            "said_at": self.said_at.isoformat(),
            "thread": self.thread,
            "sources": [*self.sources],
        }
        return json.dumps(fields | ({"document": self.document} if self.document else {}), ensure_ascii=False)


def stored_snippet(payload: str, task: int) -> StoredSnippet:
    """What the payload of a task keeps.

    Raises:
        InvalidRequest: it is damaged.
    """
    try:
        fields = json.loads(payload)
        text, said_at = fields["text"], datetime.fromisoformat(fields["said_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            f"task {task}", "its payload cannot be read", "Retain the input again."
        ) from error
    if not isinstance(text, str):
        raise InvalidRequest(f"task {task}", "its payload holds no text", "Retain the input again.")
    return StoredSnippet(text, as_utc(said_at))
