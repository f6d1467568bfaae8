"""Merging a snippet into a bank's background: read, merge, and write it in one commit with the task's end (paper section 5.6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.cara.background import background_sentences, same_sentence
from hindsight_integrations.cara.background_merging import Merged, merged
from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.errors import BackgroundRefused, ModelUnavailable, RevisionConflict
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.snippets import stored_snippet
from hindsight_integrations.model.tasks import Task, TaskClaim
from hindsight_integrations.model.writes import ProfileWrite, WriteSet
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.text.language import Language

ATTEMPTS = 8  # merges made again because the profile changed meanwhile
_MERGED = "merged what was said "
_SAID = re.compile(re.escape(_MERGED) + r"(\S+)$")


@dataclass(frozen=True, slots=True)
class BackgroundTools:
    """What the merging of backgrounds needs of the engine.

    Attributes:
        languages: of the bank's texts, the likeliest first.
    """

    projector: Projector
    model: LanguageModel | None
    workers: Runner
    languages: Sequence[Language]


async def merge_waiting(task: Task, tools: BackgroundTools) -> Settled:
    """Merge the snippet a task keeps, and write the background and the task's end in one commit.

    Raises:
        BackgroundRefused: it cannot be merged; the background is as it was.
        InvalidRequest: the payload is damaged.
        MalformedOutput: none of the model's answers could be read.
        ModelUnavailable: the model could not be reached, or only one could tell what to do and there is none.
        ModelRefused: its service refuses the key.
        TaskClosed: somebody else finished the task meanwhile; nothing was written.
    """
    snippet = stored_snippet(task.payload, task.id)
    try:
        _, made = await merge_snippet(snippet.text, snippet.said_at, tools, completing=(task.claim,))
    except BackgroundRefused as refused:
        if refused.undecided and tools.model is None:
            # a task's reason has no text of memories
            raise ModelUnavailable(
                "for the background", f"the snippet contradicts it; {refused.remedy}"
            ) from refused
        raise
    return Settled(merged=1, tokens_in=made.tokens_in, tokens_out=made.tokens_out)


async def merge_snippet(
    text: str, said_at: datetime, tools: BackgroundTools, *, completing: tuple[TaskClaim, ...] = ()
) -> tuple[BankProfile, Merged]:
    """Merge what was said about the agent at a moment; what was said after it is not changed by it.

    A profile that changes meanwhile is merged into anew, so that of two merges at once both count.

    Args:
        text: the snippet.
        said_at: when it was said (aware UTC).
        tools: the engine's.
        completing: leases of the tasks whose outcome this is.

    Returns:
        The profile as it is now, and what the merge cost.

    Raises:
        BackgroundRefused: it cannot be merged; the background is as it was.
        MalformedOutput: none of the model's answers could be read.
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
        RevisionConflict: the profile changed at every try.
        TaskClosed: a task was finished by somebody else meanwhile; nothing was written.
    """
    spent = Merged("")
    for attempt in range(ATTEMPTS):
        ledger, bank = tools.projector.ledger, tools.projector.name
        changes = await tools.workers.read(ledger.profile_changes, bank)
        made = await _merged_into(changes, text, said_at, tools)
        spent = Merged(made.background, spent.tokens_in + made.tokens_in, spent.tokens_out + made.tokens_out)
        try:
            profile = await tools.workers.write(
                _commit, made.background, changes[-1:], said_at, completing, tools.projector
            )
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return profile, spent
    raise AssertionError("unreachable: the loop returns or raises")


async def _merged_into(
    changes: Sequence[ProfileChange], text: str, said_at: datetime, tools: BackgroundTools
) -> Merged:
    """The background of the newest change with a snippet merged in."""
    profile = changes[-1].profile if changes else BankProfile()
    newer = said_after(said_at, changes, tools.languages)
    return await merged(
        profile.background, text, tools.languages, name=profile.name, model=tools.model, newer=newer
    )


def merge_reason(said_at: datetime) -> str:
    """The reason of a change of profile that a merge makes: it tells later merges when the snippet was said."""
    return f"{_MERGED}{said_at.isoformat()}"


def merged_at(change: ProfileChange) -> datetime | None:
    """When the snippet that a change merged was said; None for a change that is no merge."""
    match = _SAID.fullmatch(change.reason)
    try:
        return datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def said_after(
    moment: datetime, changes: Sequence[ProfileChange], languages: Sequence[Language]
) -> frozenset[str]:
    """The sentences of the present background that were said after a moment, as `same_sentence` has them.

    A sentence that a merge left as it was is as old as before; a profile that is set or restored is as old as that.

    Args:
        moment: aware UTC.
        changes: all of the bank's, oldest first.
        languages: of the bank, the likeliest first.
    """
    known: dict[str, datetime] = {}
    for change in changes:
        snippet_at, before = merged_at(change), known
        since = snippet_at or change.effective_at
        sentences = map(same_sentence, background_sentences(change.profile.background, languages))
        known = {each: before.get(each, since) if snippet_at else since for each in sentences}
    return frozenset(sentence for sentence, since in known.items() if since > moment)


def _commit(
    background: str,
    newest: Sequence[ProfileChange],
    said_at: datetime,
    completing: tuple[TaskClaim, ...],
    projector: Projector,
) -> BankProfile:
    """Write the background, if it is another one, and the end of the tasks; the profile there is then.

    Raises:
        RevisionConflict: the profile changed since it was read; nothing was written.
        TaskClosed: a task was finished by somebody else meanwhile; nothing was written.
    """
    before = newest[0] if newest else None
    profile = before.profile if before else BankProfile()
    write = None
    if background != profile.background:
        profile = replace(profile, background=background)
        write = ProfileWrite(profile, said_at, merge_reason(said_at), before.number if before else 0)
    if write is None and not completing:
        return profile
    with projector.ledger.transaction(projector.name) as transaction:
        revision = transaction.feed.revision
        transaction.commit(WriteSet(projector.name, revision, profile=write, completed_tasks=completing))
    if completing:
        projector.catch_up()
    return profile
