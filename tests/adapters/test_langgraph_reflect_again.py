"""The reflect subgraph interrupted, killed, replayed and resumed: approved opinions are stored once, and no others."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from documentation import example
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from views_of_remote_work import GAIN, LOSS, QUESTION, held, opinion, relation, remembering, single

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank
from hindsight_integrations.langgraph import create_reflect_subgraph
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]
Saver = BaseCheckpointSaver[Any]

SURVEY = "I believe remote work pays, since those in it said in a survey that they get more done."


class Around(MessagesState):
    answer: str
    reflection: dict[str, Any]


def chat(subgraph: Any, saver: Saver) -> Any:
    graph = StateGraph(Around)
    graph.add_node("reflect", subgraph)
    graph.add_edge(START, "reflect")
    return graph.compile(checkpointer=saver)


def thread(name: str = "t1") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def says(**fields: Any) -> Any:
    return {"messages": [HumanMessage(QUESTION, **fields)]}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite", check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


def asking(bank: MemoryBank, saver: Saver, **options: Any) -> Any:
    return chat(create_reflect_subgraph(bank, interrupt_before_commit=True, **options), saver)


def interrupted(state: dict[str, Any]) -> dict[str, Any]:
    (shown,) = state["__interrupt__"]
    value: dict[str, Any] = shown.value
    return value


def two_opinions(opener: Opener, config: HindsightConfig) -> MemoryBank:
    return remembering(opener, config, [single(opinion(LOSS, "2"), opinion(SURVEY, "3"))])


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (True, [LOSS, SURVEY]),
        (False, []),
        ([2], [SURVEY]),
        ([], []),
        ({"approve": [1]}, [LOSS]),
        ({"approve": True}, [LOSS, SURVEY]),
    ],
    ids=str,
)
def test_only_what_a_person_approved_is_kept(
    opener: Opener, light_config: HindsightConfig, saver: Saver, answer: Any, kept: list[str]
) -> None:
    """The person sees question, answer and changes; nothing is written meanwhile; the others are reported as refused by the person."""
    bank = two_opinions(opener, light_config)
    graph = asking(bank, saver)
    shown = interrupted(graph.invoke(says(), thread()))
    assert (shown["question"], shown["answer"]) == (QUESTION, "It has two sides.")
    assert [(each["number"], each["movement"], each["after"]) for each in shown["changes"]] == [
        (1, "form", 0.7),
        (2, "form", 0.7),
    ]
    assert held(bank) == []
    state = graph.invoke(Command(resume=answer), thread())
    assert sorted(each.text for each in bank.opinions.list()) == sorted(kept)
    told = {each["text"]: (each["outcome"], each["reason"]) for each in state["reflection"]["opinions"]}
    refused = ("refused", "a person refused it")
    assert told == {text: ("formed", "") if text in kept else refused for text in (LOSS, SURVEY)}


@pytest.mark.parametrize("wrong", ["yes", 7, [9], [True], ["1"], {"approve": "all"}, {"other": [1]}], ids=str)
def test_an_answer_that_cannot_be_read_is_asked_for_again(
    opener: Opener, light_config: HindsightConfig, saver: Saver, wrong: Any
) -> None:
    """It approves nothing and breaks nothing; the problem is reported, and the next answer counts."""
    bank = two_opinions(opener, light_config)
    graph = asking(bank, saver)
    graph.invoke(says(), thread())
    again = interrupted(graph.invoke(Command(resume=wrong), thread()))
    assert "[1, 2]" in again["problem"]
    assert held(bank) == []
    graph.invoke(Command(resume=[1]), thread())
    assert [each.text for each in bank.opinions.list()] == [LOSS]


def test_it_is_decided_again_on_the_evidence_as_it_then_is(
    opener: Opener, light_config: HindsightConfig, saver: Saver
) -> None:
    """If the opinion is formed elsewhere before the approval, it is reported as known, and stored once."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1")), single(opinion(GAIN, "1", "2"))])
    graph = asking(bank, saver)
    graph.invoke(says(), thread())
    bank.reflect(QUESTION)
    (before,) = bank.opinions.list()
    state = graph.invoke(Command(resume=True), thread())
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["known"]
    assert bank.opinions.list() == [before]


def test_a_confidence_moves_from_where_it_is_by_then(
    opener: Opener, light_config: HindsightConfig, saver: Saver
) -> None:
    """A person approved a step from 0.7; if another step is committed first, this one starts from the result."""
    script = [
        single(opinion(GAIN, "1")),
        single(opinion(LOSS, "2")),
        {"relations": [relation("opposes", "mild")]},
        single(opinion(SURVEY, "3")),
        {"relations": [relation("same", "strong")]},
    ]
    bank = remembering(opener, light_config, script)
    bank.reflect(QUESTION)
    graph = asking(bank, saver)
    (change,) = interrupted(graph.invoke(says(), thread()))["changes"]
    assert (change["movement"], change["before"], change["after"], change["held"]) == (
        "weaken",
        0.7,
        0.625,
        GAIN,
    )
    bank.reflect(QUESTION)
    (between,) = bank.opinions.list()
    state = graph.invoke(Command(resume=True), thread())
    (told,) = state["reflection"]["opinions"]
    (after,) = bank.opinions.list()
    assert (told["before"], told["after"]) == (between.confidence, after.confidence)
    assert between.confidence == pytest.approx(0.85)
    assert after.confidence == pytest.approx(0.775)
    assert after.evidence == 2


def test_what_was_forgotten_meanwhile_makes_no_opinion(
    opener: Opener, light_config: HindsightConfig, saver: Saver
) -> None:
    """If a memory on which an opinion is based is erased before the approval, the opinion is refused."""
    bank = two_opinions(opener, light_config)
    graph = asking(bank, saver)
    graph.invoke(says(), thread())
    (gone,) = [unit.id for unit in bank.units().units if "mentors" in unit.text]
    bank.forget(unit=gone)
    state = graph.invoke(Command(resume=True), thread())
    told = {each["text"]: (each["outcome"], each["reason"]) for each in state["reflection"]["opinions"]}
    assert told[LOSS] == ("refused", "a memory it is based on has been erased")
    assert [each.text for each in bank.opinions.list()] == [SURVEY]


def test_where_nothing_would_change_nobody_is_asked(
    opener: Opener, light_config: HindsightConfig, saver: Saver
) -> None:
    """An opinion that the agent already holds is reported as known, without an interrupt."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1"))] * 2)
    bank.reflect(QUESTION)
    state = asking(bank, saver).invoke(says(), thread())
    assert "__interrupt__" not in state
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["known"]


def test_interrupts_under_ainvoke(opener: Opener, light_config: HindsightConfig) -> None:
    """The same with async code."""
    bank = two_opinions(opener, light_config)
    graph = asking(bank, InMemorySaver())

    async def talked() -> Any:
        await graph.ainvoke(says(), thread())
        return await graph.ainvoke(Command(resume=[1]), thread())

    state = asyncio.run(talked())
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["formed", "refused"]


def test_nobody_else_resumes_it(opener: Opener, light_config: HindsightConfig, saver: Saver) -> None:
    """A state contains memories of the bank on which it started: a run with another bank is rejected, and approves nothing."""
    engines: list[Hindsight] = []

    def opening(**options: Any) -> Hindsight:
        engines.append(opener(**options))
        return engines[0]

    bank = two_opinions(opening, light_config)
    graph = chat(create_reflect_subgraph(engines[0], interrupt_before_commit=True), saver)
    mine: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "mira"}}
    other: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "eve"}}
    interrupted(graph.invoke(says(), mine))
    with pytest.raises(InvalidRequest, match="another bank"):
        graph.invoke(Command(resume=True), other)
    assert held(bank) == []
    graph.invoke(Command(resume=[2]), mine)
    assert [each.text for each in bank.opinions.list()] == [SURVEY]
    assert engines[0].bank("eve").opinions.list() == []


def test_a_replayed_turn_forms_nothing_twice_and_a_new_turn_may(
    opener: Opener, light_config: HindsightConfig, saver: Saver
) -> None:
    """A replay of the turn is the same operation; the same question in a new turn is a new operation."""
    script = [single(opinion(GAIN, "1")), single(opinion(SURVEY, "3")), single(opinion(SURVEY, "3"))]
    script.append({"relations": [relation("different")]})
    bank = remembering(opener, light_config, script)
    graph = chat(create_reflect_subgraph(bank), saver)
    first = graph.invoke(says(id="m1"), thread())
    start = next(each for each in graph.get_state_history(thread()) if each.next == ("reflect",))
    again = graph.invoke(None, start.config)
    assert [each.text for each in bank.opinions.list()] == [GAIN]
    ids = [[each["opinion_id"] for each in state["reflection"]["opinions"]] for state in (first, again)]
    assert ids[0] == ids[1]
    graph.invoke(says(id="m2"), thread())
    assert sorted(each.text for each in bank.opinions.list()) == sorted([GAIN, SURVEY])
    operations = {bank.opinions.history(each.id).log.operation for each in bank.opinions.list()}
    assert len(operations) == 2


def test_two_questions_at_once_are_two_operations(opener: Opener, light_config: HindsightConfig) -> None:
    """A planner that asks two questions for one message in one thread gets both answers."""
    script = [single(opinion(GAIN, "1")), single(opinion(SURVEY, "3"))]
    bank = remembering(opener, light_config, [*script, {"relations": [relation("different")]}])
    graph = create_reflect_subgraph(bank, checkpointer=InMemorySaver())
    for query in ("What of the commute?", "What of surveys of remote work?"):
        graph.invoke({"query": query, **says(id="m1")}, thread())
    assert len(bank.opinions.list()) == 2


def test_the_example_of_the_docs_runs(
    opener: Opener, light_config: HindsightConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    """As printed: it is interrupted, lists the changes, and stores the approved ones."""
    code = example("reflect", "create_reflect_subgraph")
    bank = two_opinions(opener, light_config)
    exec(code, {"bank": bank})  # noqa: S102 - the docs' own
    assert [each.text for each in bank.opinions.list()] == [LOSS]
    told = capsys.readouterr().out
    assert f"1 form {LOSS} None -> 0.7" in told
    assert "It has two sides. ['formed', 'refused']" in told


CRASHING = """
import os, sqlite3, sys
sys.path.insert(0, sys.argv[2])
from langgraph.checkpoint.sqlite import SqliteSaver
from hindsight_integrations import Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import create_reflect_subgraph
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel
from hindsight_integrations.bank.reflect_stages import AsyncReflectStages
from views_of_remote_work import GAIN, QUESTION, opinion, remembering, single

where, killed_in, after = sys.argv[1], sys.argv[3], sys.argv[4] == "after"
light = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

def opener(**options):
    return Hindsight.open(where + "/memory", embeddings=HashEmbedder(), reranker=None, **options)

bank = remembering(opener, light, [single(opinion(GAIN, "1"))])
stage = getattr(AsyncReflectStages, killed_in)

from hindsight_integrations.sync import ReflectStages
working = getattr(ReflectStages, killed_in)

def dying(face, *given, **options):
    if after:
        working(face, *given, **options)
    os._exit(9)

setattr(ReflectStages, killed_in, dying)
saver = SqliteSaver(sqlite3.connect(where + "/checkpoints.sqlite", check_same_thread=False))
graph = create_reflect_subgraph(bank, checkpointer=saver)
graph.invoke({"query": QUESTION}, {"configurable": {"thread_id": "t1"}}, durability="sync")
"""


@pytest.mark.parametrize(
    ("killed_in", "when"),
    [
        ("commit", "after"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("assess", "before"), ("assess", "after"), ("commit", "before"))
        ),
    ],
)
def test_a_process_killed_after_the_answer_goes_on_without_asking_the_model_again(
    opener: Opener, light_config: HindsightConfig, tmp_path: Path, killed_in: str, when: str
) -> None:
    """Resumed from SQLite: the answer is the stored one, and the opinion is formed once, wherever the commit was interrupted."""
    support = str(Path(__file__).resolve().parents[1] / "support")
    done = subprocess.run(
        [sys.executable, "-c", CRASHING, str(tmp_path), support, killed_in, when], check=False, timeout=120
    )
    assert done.returncode == 9
    model = ScriptedModel([])
    bank = opener(tmp_path / "memory", config=light_config, model=model).bank("mira")
    with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite", check_same_thread=False)) as connection:
        graph = create_reflect_subgraph(bank, checkpointer=SqliteSaver(connection))
        state = graph.invoke(None, thread())
    assert state["answer"] == "It has two sides."
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["formed"]
    assert [each.text for each in bank.opinions.list()] == [GAIN]
    assert model.calls == 0
