"""The nodes of the reflect subgraph: each a stage of `bank.reflect_stages`, with what it reads and writes of the state."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.bank_finder import BankFinder
from hindsight_integrations.langgraph.events import EventKind, emit
from hindsight_integrations.langgraph.failures import tolerated
from hindsight_integrations.langgraph.node import MemoryNode, Update
from hindsight_integrations.langgraph.reflect_state import Keys, State, changing, operation_of, question_of
from hindsight_integrations.langgraph.state import Question
from hindsight_integrations.tolerance import OnError

Stage: TypeAlias = Callable[[Any, State], Any]
"""Of (the bank's stages, the state): what the stage gives, to be awaited on the async face."""

RESUME_WITH = "True for all of them, False for none, or a list of the numbers that are approved"


@dataclass(frozen=True, slots=True)
class ReflectNodes:
    """Makes the nodes.

    Attributes:
        where: finds the bank.
        options: of every stage.
        keys: where the state has what.
        on_error: what becomes of a run whose answer is written when the memory then fails.
        approval: whether a person is asked before anything is kept.
    """

    where: BankFinder
    options: Mapping[str, Any]
    keys: Keys
    on_error: OnError
    approval: bool

    def recall(self) -> MemoryNode:
        """Looks up what the question needs; without a question there is nothing to do, and the answer is empty."""
        keys = self.keys
        fresh: Update = {keys.query: "", keys.messages: [], "answered": {}, "moves": None, "approved": []}
        unasked: Update = {keys.answer: "", keys.reflection: {}, "of_bank": "", "underway": {}}

        def begun(stages: Any, asked: Question, config: RunnableConfig) -> Any:  # noqa: ANN401 - either face
            return stages.recall(asked.text, **self.options, operation=operation_of(asked, config))

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
            bank, asked = self.where.open(state, config), question_of(state, keys)
            if asked is None:
                return fresh | unasked
            return {**fresh, "of_bank": bank.name, "underway": begun(bank.reflect_stages, asked, config)}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
            bank, asked = await self.where.aopen(state, config), question_of(state, keys)
            if asked is None:
                return fresh | unasked
            return {
                **fresh,
                "of_bank": bank.name,
                "underway": await begun(bank.reflect_stages, asked, config),
            }

        return MemoryNode("recall", run, arun)

    def think(self) -> MemoryNode:
        """Asks the model for the next step."""
        return self._stage(
            "think", lambda stages, state: stages.think(state["underway"], **self.options), _further
        )

    def tools(self) -> MemoryNode:
        """Makes the call that the step asked for."""
        return self._stage(
            "tools", lambda stages, state: stages.call_tool(state["underway"], **self.options), _further
        )

    def answer(self) -> MemoryNode:
        """Writes the answer; what was recalled leaves the state with it."""
        return self._stage(
            "answer", lambda stages, state: stages.answer(state["underway"], **self.options), self._answered
        )

    def assess(self) -> MemoryNode:
        """Has all opinions of the answer compared with those held, in one call."""
        return self._stage(
            "assess",
            lambda stages, state: stages.assess(state["answered"], **self.options),
            lambda given, _: {"answered": given},
            missing="the opinions of the answer, which were not assessed",
        )

    def movement(self, name: str) -> MemoryNode:
        """Says what one opinion would do to what is held; nothing is written yet."""

        def run(state: Any, _: RunnableConfig) -> Update:  # noqa: ANN401 - what was sent
            _tell(state["move"], state["of_bank"], committed=False)
            return {"moves": [state["move"]]}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - what was sent
            return run(state, config)

        return MemoryNode(name, run, arun)

    def approve(self) -> MemoryNode:
        """Asks a person which of the changes may be made; where nothing would change nobody is asked."""

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            _check_same(self.where.name(state, config), state)  # who resumes it may be somebody else
            changes = changing(state.get("moves") or ())
            return {"approved": _asked(state["answered"], changes) if changes else []}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            return run(state, config)

        return MemoryNode("approve", run, arun)

    def commit(self) -> MemoryNode:
        """Decides anew and keeps what is to be kept, in one commit."""

        def committed(stages: Any, state: State) -> Any:  # noqa: ANN401 - either face
            approved = state["approved"] if self.approval else None
            return stages.commit(state["answered"], approved=approved, **self.options)

        return self._stage("commit", committed, self._committed, missing="the opinions of the answer")

    def _answered(self, given: Mapping[str, Any], _: str) -> Update:
        reflection = given["reflection"]
        written: Update = {self.keys.answer: reflection["text"], self.keys.reflection: reflection}
        if self.keys.as_message:
            told = uuid5(NAMESPACE_URL, given["operation"])  # the same turn again says the same message again
            written[self.keys.messages] = [AIMessage(reflection["text"], id=str(told))]
        return {**written, "underway": {}, "answered": dict(given) if given["candidates"] else {}}

    def _committed(self, reflection: Mapping[str, Any], bank: str) -> Update:
        for opinion in reflection["opinions"]:
            _tell(opinion, bank, committed=True)
        return {self.keys.reflection: dict(reflection), "answered": {}, "moves": None, "approved": []}

    def _stage(
        self, name: str, stage: Stage, update: Callable[[Any, str], Update], *, missing: str = ""
    ) -> MemoryNode:
        """A node that runs one stage.

        Args:
            name: of the node.
            stage: what it does.
            update: of (what the stage gives, the bank's name): what the node writes.
            missing: what the run goes on without where the memory fails; empty where it cannot go on.
        """
        on_error = self.on_error if missing else OnError.RAISE
        lost: Update = {"answered": {}, "moves": None, "approved": []}

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            written: Update = {}
            with tolerated(on_error, node=name, bank=state["of_bank"], missing=missing):
                bank = self.where.open(state, config)
                _check_same(bank.name, state)
                written |= update(stage(bank.reflect_stages, state), bank.name)
            return written or lost

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            written: Update = {}
            with tolerated(on_error, node=name, bank=state["of_bank"], missing=missing):
                bank = await self.where.aopen(state, config)
                _check_same(bank.name, state)
                written |= update(await stage(bank.reflect_stages, state), bank.name)
            return written or lost

        return MemoryNode(name, run, arun)


def _further(underway: Mapping[str, Any], _: str) -> Update:
    return {"underway": dict(underway)}


def _check_same(bank: str, state: State) -> None:
    """Refuse to go on with another bank than the reflection began with.

    Raises:
        InvalidRequest: it is somebody else's memory by now.
    """
    if bank != state["of_bank"]:
        raise InvalidRequest(
            "bank",
            "the reflection was begun on another bank, whose memories lie in its state",
            "Resume it with the context or configurable it was invoked with.",
        )


def _asked(answered: State, changes: list[dict[str, Any]]) -> list[int]:
    """The numbers of the changes that a person approves. An answer that cannot be read is asked for again."""
    numbers = {change["number"] for change in changes}
    payload = {
        "type": "hindsight.opinions",
        "question": answered["query"],
        "answer": answered["reflection"]["text"],
        "changes": changes,
        "resume_with": RESUME_WITH,
    }
    given = interrupt(payload)
    while (approved := _approved(given, numbers)) is None:
        problem = f"{str(given)[:200]!r} is no answer, there are the numbers {sorted(numbers)}"
        given = interrupt({**payload, "problem": problem})
    return approved


def _approved(given: object, numbers: set[int]) -> list[int] | None:
    """What a person's answer approves; None if it cannot be read."""
    if isinstance(given, Mapping):
        given = given.get("approve")
    if isinstance(given, bool):
        return sorted(numbers) if given else []
    if not isinstance(given, list | tuple | set | frozenset):
        return None
    chosen = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    return sorted({*chosen}) if len(chosen) == len(given) and numbers.issuperset(chosen) else None


def _tell(opinion: State, bank: str, *, committed: bool) -> None:
    """One event of an opinion, without its text."""
    told = {name: opinion.get(name) for name in ("number", "outcome", "movement", "before", "after")}
    emit(EventKind.OPINION, bank, **told, opinion=opinion["opinion_id"], committed=committed)
