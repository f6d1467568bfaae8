"""Comparing a conversation with its log, by properties: forks, trims and returns in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.turns import OnFork, Thread, ThreadMark
from hindsight_integrations.retain.threads import thread_change

Branch = tuple[str, ...]
MOVES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=12)
"""Each a move: go back to one of the messages seen so far (0: the start), and say so many new ones."""


def follow(thread: Thread, branch: Branch, on_fork: OnFork = OnFork.SUPERSEDE) -> Thread:
    change = thread_change(thread, [(each, f"hash of {each}") for each in branch], on_fork=on_fork)
    entries = {**thread.entries, **{entry.message_id: entry for entry in change.entries}}
    return Thread(ThreadMark(len(branch), "digest", change.head), entries)


def branches(moves: list[tuple[int, int]]) -> list[Branch]:
    """Build the conversations that result from the moves; all start with the same message."""
    made: list[Branch] = [("m0",)]
    parent: dict[str, Branch] = {"m0": ("m0",)}
    for back, count in moves:
        seen = list(parent)
        branch = parent[seen[back % len(seen)]]
        for _ in range(count):
            branch = (*branch, f"m{len(parent)}")
            parent[branch[-1]] = branch
        made.append(branch)
    return made


@given(MOVES)
def test_what_holds_is_the_branch_one_is_on(moves: list[tuple[int, int]]) -> None:
    """After any forks, the valid messages are those of the current list."""
    thread = Thread()
    for branch in branches(moves):
        thread = follow(thread, branch)
        assert {each for each, entry in thread.entries.items() if not entry.gone} == set(branch)


@given(MOVES, st.integers(0, 12))
def test_trimming_drops_nothing(moves: list[tuple[int, int]], kept: int) -> None:
    """Passing only the last messages does not change which messages are valid."""
    thread = Thread()
    for branch in branches(moves):
        thread = follow(thread, branch)
        assert follow(thread, branch[-max(1, kept) :]).entries == thread.entries


@given(MOVES)
def test_keep_drops_nothing(moves: list[tuple[int, int]]) -> None:
    thread = Thread()
    for branch in branches(moves):
        thread = follow(thread, branch, OnFork.KEEP)
    assert not any(entry.gone for entry in thread.entries.values())


@given(MOVES)
def test_following_twice_changes_nothing(moves: list[tuple[int, int]]) -> None:
    thread = Thread()
    for branch in branches(moves):
        thread = follow(thread, branch)
        assert follow(thread, branch) == thread
