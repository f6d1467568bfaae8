"""Tasks that are still to be done, of those that nobody withdrew. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.text.language import Language


def open_tasks(entries: Sequence[RecordEntry], languages: Sequence[Language]) -> list[RecordEntry]:
    """Tasks without those that say themselves that they are done or gone, or of which a later one says so.

    Args:
        entries: records of tasks.
        languages: they may be in.
    """
    found: list[RecordEntry] = []
    for entry in sorted(entries, key=lambda each: each.memory.mentioned_at):
        said = str(entry.record.value)
        bare = next(filter(None, (_without_done(said, each) for each in languages)), None)
        if bare is None:
            found.append(entry)
        else:
            found = [each for each in found if str(each.record.value).casefold() != bare.casefold()]
    return found


def _without_done(text: str, language: Language) -> str | None:
    """What a task is called that says itself that it is done; None where it does not say so."""
    bare, done = language.records.done.subn("", text)
    return bare.strip() if done else None
