"""What a retain says about the agent becomes a task, in the retain's own commit (paper section 6.1, step 5 of retain). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_integrations.model.snippets import StoredSnippet
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.tempr.retain.proposal import WaitingPassage
from hindsight_integrations.validation.about_agent import Snippet


def snippet_tasks(snippets: Iterable[Snippet]) -> list[WaitingPassage]:
    """A task for each snippet, due at once."""
    return [
        WaitingPassage(
            TaskWrite(TaskKind.MERGE_BACKGROUND, _payload(snippet), reason="merge into the background"),
            frozenset({snippet.key}),
        )
        for snippet in snippets
    ]


def _payload(snippet: Snippet) -> str:
    message = () if snippet.document_id else (snippet.key.message_id,)
    stored = StoredSnippet(
        snippet.text, snippet.said_at, snippet.key.thread, message, snippet.document_id or ""
    )
    return stored.dumped()
