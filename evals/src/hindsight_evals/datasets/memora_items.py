"""The items of a Memora question: its evidence, looked up in the replay, with the turns that stated each item as true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hindsight_evals.datasets.memora_state import Value, elements
from hindsight_evals.episode import Item


class Replayed:
    """A persona's values, looked up by the evidence that names them.

    Args:
        values: the values, from `replay`.
        turns: ids of the spoken turns, by session.
    """

    def __init__(self, values: Sequence[Value], turns: Mapping[int, frozenset[str]]) -> None:
        self._values, self._turns = values, turns

    def sources(self, value: Value) -> frozenset[str]:
        """Return the turns of the sessions that stated a value."""
        return frozenset(turn for session in value.sessions for turn in self._turns[session])

    def ended_by(self, session: int) -> list[Value]:
        """Return the values that a session made untrue."""
        return [value for value in self._values if value.ended == session and value.text]

    def items(self, memory: Mapping[str, Any], forgetting: Mapping[str, Any]) -> tuple[Item, ...]:
        """Return the valid and the invalid items of a question, without duplicates.

        Items of which the conversations do not contain a word are omitted. So are events that are merely over, which
        nothing withdrew and which the dataset names by session only.
        """
        wanted = [value for leaf in _leaves(memory) for value in self._meant(leaf, held=True)]
        gone = [value for leaf in _leaves(forgetting) for value in self._meant(leaf, held=False)]
        values = {id(value): value for value in (*wanted, *gone) if value.text}
        return tuple(Item(value.text, self.sources(value), valid=value.held) for value in values.values())

    def _meant(self, leaf: Mapping[str, Any], *, held: bool) -> Iterator[Value]:
        """Yield the versions of a value that evidence names; a withdrawn version only if the value is not true again."""
        if "goal_value" in leaf:
            yield from self._stated_in(leaf["session_id"], "goal", held=held)
        elif "amount" in leaf or "step_count" in leaf:
            text = str(leaf.get("amount", leaf.get("step_count")))
            yield from (
                value for value in self._stated_in(leaf["session_id"], held=held) if value.key[-1] == text
            )
        elif (text := leaf.get("value", leaf.get("item"))) is not None:
            same = [value for value in self._values if value.key[-1] == str(text)]
            field = leaf.get("field")
            same = [value for value in same if field is None or value.key[-2] == field]
            if held or not any(value.held for value in same):
                yield from (value for value in same if value.held is held)

    def _stated_in(self, session: int, kind: str | None = None, *, held: bool) -> Iterator[Value]:
        return (
            value
            for value in self._values
            if session in value.sessions and value.held is held and kind in {None, value.key[0]}
        )


def _leaves(evidence: object) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of an evidence tree that name a value, with its session or as a field of a document."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from _leaves(part)
    elif isinstance(evidence, Mapping):
        yield from _named(evidence)
        for name, part in evidence.items():
            if name not in _NAMED:
                yield from _leaves(part)


_NAMED = frozenset({"goal_session", "content_data"})


def _named(evidence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the values that one object of an evidence tree names directly."""
    if "goal_session" in evidence:
        yield {**evidence["goal_session"], "goal_value": evidence.get("goal_value")}
    for field, content in evidence.get("content_data", {}).items():
        yield from ({"field": field, "value": text} for text in elements(content))
    if "session_id" in evidence:
        yield evidence
