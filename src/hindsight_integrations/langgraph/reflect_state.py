"""The state of the reflect subgraph: what goes in, what comes out, and what lies there between its nodes."""

# No `from __future__ import annotations`: see state.py.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.bank_finder import value_of
from hindsight_integrations.langgraph.state import Question, last_question, question

State = Mapping[str, Any]

WITHIN = ("of_bank", "underway", "answered", "moves", "move", "approved")
"""Keys that lie between the nodes; none of them comes out."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the state of the graph around has what a reflection takes and gives.

    Attributes:
        query: the question; where it is empty or missing the user's last message is.
        messages: the conversation.
        answer: takes the answer's text.
        reflection: takes the reflection as a dict.
        further: other keys, from which the bank's name is told.
        as_message: whether the answer is also written to the messages.
    """

    query: str
    messages: str
    answer: str
    reflection: str
    further: tuple[str, ...]
    as_message: bool

    def __post_init__(self) -> None:
        taken = [self.query, self.messages, self.answer, self.reflection, *self.further]
        if clash := {*WITHIN} & {*taken}:
            raise InvalidRequest(
                "state keys", f"{clash.pop()!r} is one of the subgraph's own", "Give the key another name."
            )
        if len({*taken[:4]}) < 4:
            raise InvalidRequest(
                "state keys",
                "one key is named for two things",
                "Name query, messages, answer and reflection apart.",
            )

    @property
    def schemas(self) -> tuple[Any, Any, Any]:
        """Of the whole state, of what goes in and of what comes out."""
        given: dict[str, Any] = {self.query: str, self.messages: list, **dict.fromkeys(self.further, Any)}
        made: dict[str, Any] = {self.answer: str, self.reflection: dict}
        within = {"of_bank": str, "underway": dict, "answered": dict, "move": dict, "approved": list}
        moves = {"moves": Annotated[list, joined]}
        shown = made | {self.messages: list} if self.as_message else made
        return _typed("State", given | made | within | moves), _typed("Input", given), _typed("Output", shown)


def joined(known: list[Any] | None, new: list[Any] | None) -> list[Any]:
    """What several nodes of one step write, together, in order of their numbers; None empties it."""
    if new is None:
        return []
    return sorted([*(known or ()), *new], key=lambda move: int(move["number"]))


def question_of(state: State, keys: Keys) -> Question | None:
    """The question: the one named, else the user's last message; None where there is neither. Its message is the user's last.

    Raises:
        InvalidRequest: the state has neither key, or what it names is no text.
    """
    named = question(value_of(state, keys.query))
    if named is None or state.get(keys.messages):
        asked = last_question(state, keys.messages)
        return asked if named is None else replace(named, message_id=asked.message_id if asked else None)
    return named


def operation_of(asked: Question, config: RunnableConfig) -> str:
    """The key under which whatever is run again of this reflection forms nothing twice.

    It is of the thread, the place of the graph, the user's message and the question: a replay of the turn has the same, the same
    question in a later turn another. Where there is no thread or no message id, one is drawn; it lies in the state from then on.
    """
    configurable = config.get("configurable", {})
    thread, place = str(configurable.get("thread_id", "")), str(configurable.get("checkpoint_ns", ""))
    if not thread or not asked.message_id:
        return f"langgraph:{uuid4().hex}"
    nodes = "|".join(part.partition(":")[0] for part in place.split("|")[:-1])
    seed = chr(30).join((thread, nodes, asked.message_id, asked.text))
    return f"langgraph:{sha256(seed.encode()).hexdigest()}"


def _typed(name: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - LangGraph takes any class with annotations
    return TypedDict(f"Reflect{name}", dict(fields), total=False)  # type: ignore[operator] # the keys are the user's


def changing(moves: Iterable[State]) -> list[dict[str, Any]]:
    """Those of the moves that would change something."""
    return [dict(move) for move in moves if move["movement"] != "neutral"]
