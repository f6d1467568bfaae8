"""How old each statement of a background is, so that what was said later wins whatever was merged first (decision 123). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hindsight_integrations.cara.background import (
    Relation,
    between,
    own_sentences,
    read_sentence,
    still_standing,
)
from hindsight_integrations.model.profile import ProfileChange
from hindsight_integrations.text.descriptions import Statement
from hindsight_integrations.text.language import Language

_MERGED = "merged what was said "
_SAID = re.compile(re.escape(_MERGED) + r"(\S+)$")


def merge_reason(said_at: datetime) -> str:
    """The reason of a change of profile that a merge makes: it tells when the snippet was said, for later merges, too."""
    return f"{_MERGED}{said_at.isoformat()}"


def merged_at(change: ProfileChange) -> datetime | None:
    """When the snippet that a change merged was said; None for a change that is no merge."""
    found = _SAID.fullmatch(change.reason)
    try:
        return datetime.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def said_after(
    moment: datetime, changes: Sequence[ProfileChange], languages: Sequence[Language]
) -> list[Statement]:
    """The statements of the present background that were said after a moment.

    What a merge left as it was is as old as before; a profile that was set or restored says all of it anew.

    Args:
        moment: aware UTC.
        changes: all of the bank's, oldest first.
        languages: of the bank, the likeliest first.
    """
    known: list[tuple[Statement, datetime]] = []
    for change in _since_last_set(changes):
        said_at = merged_at(change)
        known = [
            (
                statement,
                change.effective_at if said_at is None else _since(statement, known, said_at),
            )
            for statement in _statements(change.profile.background, languages)
        ]
    return [statement for statement, since in known if since > moment]


def without_outdated(
    snippet: str, newer: Sequence[Statement], languages: Sequence[Language], *, name: str
) -> str:
    """The snippet without what newer statements contradict.

    Raises:
        BackgroundRefused: they contradict it in a sentence that says more, and no rule can tell what of it holds.
    """
    if not newer:
        return snippet
    kept: list[str] = []
    for sentence in own_sentences(snippet, languages, name=name):
        said = read_sentence(sentence, languages).said
        left = [standing for each in said if (standing := _beside(each, newer)) is not None]
        kept += [sentence] if left == list(said) else [f"{statement.text}." for statement in left]
    return " ".join(kept)


def _since_last_set(changes: Sequence[ProfileChange]) -> Sequence[ProfileChange]:
    """The changes from the last one on that is no merge: those before it say nothing of the present background."""
    starts = [number for number, change in enumerate(changes) if merged_at(change) is None]
    return changes[starts[-1] :] if starts else changes


def _since(statement: Statement, known: Sequence[tuple[Statement, datetime]], said_at: datetime) -> datetime:
    """When a statement was said: before the merge that left it, or with its snippet."""
    earlier = (since for old, since in known if between(old, statement) is Relation.REPEATS)
    return next(earlier, said_at)


def _statements(background: str, languages: Sequence[Language]) -> list[Statement]:
    sentences = own_sentences(background, languages)
    return [said for sentence in sentences for said in read_sentence(sentence, languages).said]


def _beside(statement: Statement | None, newer: Sequence[Statement]) -> Statement | None:
    """What stands of a statement beside newer ones; None if nothing."""
    for other in newer:
        if statement is not None and between(statement, other) is Relation.CONFLICTS:
            statement = still_standing(statement, other)
    return statement
