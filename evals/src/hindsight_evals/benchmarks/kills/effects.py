"""Effects and task states of `worker_kills`, read directly from the SQLite ledger."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hindsight_evals.benchmarks.kills.waiting import Item, Work
from hindsight_integrations.model.tasks import TaskKind, TaskState

EXTRACTED = {Work.PARKED, Work.QUEUED, Work.DOCUMENT}
TO_DO = (TaskState.PENDING, TaskState.LEASED)


@dataclass(frozen=True, slots=True)
class Effects:
    """The content of the ledger.

    Attributes:
        memories: number of valid memories with a text, without observations, by (bank, text).
        observations: number of observations with a text, by (bank, text).
        changes: the background after each change of the profile, oldest first, by bank.
        tasks: number of tasks by (bank, kind, state).
        waiting_turns: (bank, text) of messages that are found as turns, because their passage waits for
            extraction.
    """

    memories: Counter[tuple[str, str]]
    observations: Counter[tuple[str, str]]
    changes: dict[str, list[str]]
    tasks: Counter[tuple[str, str, str]]
    waiting_turns: Counter[tuple[str, str]]

    def count(self, *states: TaskState) -> int:
        """Return the number of tasks in these states."""
        return sum(count for (_, _, state), count in self.tasks.items() if state in states)


def effects(folder: Path) -> Effects:
    """Read the effects from a directory that no engine has open."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        units = "SELECT name, text FROM units JOIN banks ON banks.id = units.bank WHERE closed_at IS NULL AND"
        changes: dict[str, list[str]] = {}
        for bank, background in ledger.execute(
            "SELECT name, json_extract(profile_changes.profile, '$.background') FROM profile_changes "
            "JOIN banks ON banks.id = profile_changes.bank ORDER BY name, number"
        ):
            changes.setdefault(bank, []).append(background)
        return Effects(
            memories=Counter(ledger.execute(f"{units} kind = 'memory' AND fact_type <> 'observation'")),
            observations=Counter(ledger.execute(f"{units} fact_type = 'observation'")),
            changes=changes,
            tasks=Counter(
                ledger.execute("SELECT name, kind, state FROM tasks JOIN banks ON banks.id = tasks.bank")
            ),
            waiting_turns=Counter(ledger.execute(f"{units} kind = 'turn'")),
        )


def problems_on_the_way(seen: Effects, plan: Sequence[Item]) -> list[str]:
    """Return problems that must not occur at any time: an effect twice, a finished task without its effect, or the reverse."""
    twice = [
        (where, count)
        for counted in (seen.memories, seen.observations)
        for where, count in counted.items()
        if count > 1
    ]
    found = [f"{count} times: {where}" for where, count in twice]
    extracted, merged, observed = Counter[str](), Counter[str](), Counter[str]()
    for item in plan:
        if item.work in EXTRACTED:
            extracted[item.bank] += seen.memories[item.bank, item.sentence]
        elif item.work is Work.OBSERVE:
            observed[item.bank] += seen.observations[item.bank, item.sentence]
        else:
            merged[item.bank] += any(item.sentence in text for text in seen.changes.get(item.bank, ()))
    for bank in {item.bank for item in plan}:
        done = Counter({kind: seen.tasks[bank, kind, TaskState.DONE] for kind in TaskKind})
        passages = done[TaskKind.EXTRACT_PARKED] + done[TaskKind.EXTRACT_QUEUED]
        if passages != extracted[bank]:
            found.append(f"{bank}: {passages} passages done, {extracted[bank]} of them memories")
        if done[TaskKind.OBSERVE] != observed[bank]:
            found.append(f"{bank}: {done[TaskKind.OBSERVE]} entities done, {observed[bank]} observed")
        changes = len(seen.changes.get(bank, ()))
        if not done[TaskKind.MERGE_BACKGROUND] == changes == merged[bank]:
            found.append(
                f"{bank}: {done[TaskKind.MERGE_BACKGROUND]} merges done, {changes} changes, {merged[bank]} sentences"
            )
    return found


def problems_at_the_end(seen: Effects, plan: Sequence[Item]) -> list[str]:
    """Return what is missing or still waiting after all work is done."""
    found = problems_on_the_way(seen, plan)
    for item in plan:
        where = item.bank, item.sentence
        match item.work:
            case Work.BACKGROUND:
                count = seen.changes.get(item.bank, [""])[-1].count(item.sentence)
            case Work.OBSERVE:
                count = seen.observations[where]
            case _:
                count = seen.memories[where]
        if count != 1:
            found.append(f"{count} times at the end: {item.work}, {where}")
    found += [f"still waits as a turn: {where}" for where in seen.waiting_turns]
    left = {key: count for key, count in seen.tasks.items() if key[2] != TaskState.DONE}
    return found + [f"left behind: {count} of {key}" for key, count in left.items()]
