"""Ingest and contexts: the first stage of a run, with the real engine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_evals.episode import Episode, Item, Question, Session
from hindsight_evals.memory_system import Context, MemorySystem, Peer, Place
from hindsight_evals.metrics.stating import stated
from hindsight_evals.peers.hindsight import hindsight
from hindsight_evals.peers.plain_rrf import PLAIN_RRF
from hindsight_evals.results import Answer, Judgment, QuestionResult, ResultFiles
from hindsight_evals.runner.contexts import ContextStage
from hindsight_integrations import Message
from hindsight_integrations.testing.doubles import HashEmbedder, WordCounter

START = datetime(2025, 6, 2, 9, tzinfo=UTC)


def session(number: int, said: str) -> Session:
    moment = START + timedelta(days=number)
    return Session(f"S{number}", moment, (Message(said, "user", moment, f"S{number}:1"),))


DOG = Item("dog named Pixel", frozenset({"S1:1"}), valid=True)
QUESTIONS = (
    Question("q/1", "What is the dog called?", START + timedelta(days=9), "remembering", items=(DOG,)),
    Question("q.2", "Who plays the cello?", START + timedelta(days=9), "remembering"),
)
EPISODE = Episode(
    "life one",
    "made",
    "weekly",
    (session(1, "We named the dog Pixel."), session(2, "My sister plays the cello.")),
    QUESTIONS,
)


@pytest.fixture
def stage(tmp_path: Path) -> ContextStage:
    files = ResultFiles(tmp_path)
    return ContextStage(files, tmp_path / "memories", HashEmbedder(), WordCounter(), budgets=(6, 60))


def nothing() -> None: ...


@pytest.mark.parametrize("peer", [hindsight(), PLAIN_RRF], ids=lambda peer: peer.name)
def test_every_question_has_a_file_with_a_context_for_each_budget(stage: ContextStage, peer: Peer) -> None:
    """What was served is kept with its sources and tokens, and what a system took beside it."""
    stage.run(peer, EPISODE, retained=nothing, asked=nothing)
    results = list(stage.files.all())
    assert {result.question.id: result.question for result in results} == {q.id: q for q in QUESTIONS}
    dog = stage.files.read(peer.name, "life one", "q/1")
    assert stated(dog.contexts[60], DOG)
    assert dog.contexts[6].tokens <= 6 < dog.contexts[60].tokens
    [took] = stage.files.timings()
    assert took.sessions == 2
    assert [len(times) for times in took.recall_ms.values()] == [2, 2]
    assert took.ingest_s > 0


def test_what_is_done_is_not_done_again(stage: ContextStage) -> None:
    """A resumed run opens no system without open questions, and asks only the open ones."""
    stage.run(PLAIN_RRF, EPISODE, retained=nothing, asked=nothing)
    refuses = replace(PLAIN_RRF, open=_opens_nothing)
    stage.run(refuses, EPISODE, retained=nothing, asked=nothing)
    stage.files.path("plain-rrf", "life one", "q.2").unlink()
    asked: list[int] = []
    stage.run(PLAIN_RRF, EPISODE, retained=nothing, asked=lambda: asked.append(1))
    assert len(asked) == 1


def test_a_system_that_keeps_files_goes_on_with_them_and_another_begins_again(stage: ContextStage) -> None:
    """After a kill during an ingest, systems without files start again."""
    ours = hindsight()
    place = Place(stage.memories / ours.name / EPISODE.name, EPISODE.name, stage.embedder, stage.tokens)
    place.folder.mkdir(parents=True)
    with ours.open(place) as system:
        system.retain(EPISODE.sessions[0])
    stage.run(ours, EPISODE, retained=nothing, asked=nothing)
    resumed = {question.id: stage.files.read(ours.name, EPISODE.name, question.id) for question in QUESTIONS}
    other = replace(stage, files=ResultFiles(stage.memories.parent / "other"), memories=stage.memories / "o")
    other.run(ours, EPISODE, retained=nothing, asked=nothing)
    assert resumed == {q.id: other.files.read(ours.name, EPISODE.name, q.id) for q in QUESTIONS}
    leftovers = stage.memories / "plain-rrf" / EPISODE.name / "leftover"
    leftovers.mkdir(parents=True)
    stage.run(PLAIN_RRF, EPISODE, retained=nothing, asked=nothing)
    assert not leftovers.exists()


def test_the_same_results_are_the_same_bytes(stage: ContextStage, tmp_path: Path) -> None:
    """Sets are written in order, and threads do not change the output."""
    threaded = replace(
        stage, files=ResultFiles(tmp_path / "b"), memories=tmp_path / "b" / "memories", threads=4
    )
    for one in (stage, threaded):
        one.run(hindsight(), EPISODE, retained=nothing, asked=nothing)
    for question in QUESTIONS:
        names = ("hindsight", EPISODE.name, question.id)
        assert stage.files.path(*names).read_bytes() == threaded.files.path(*names).read_bytes()


def test_own_answers_are_taken_down(stage: ContextStage) -> None:
    """The answers of a system that answers by itself are stored and judged."""
    replace(stage, own_answers=True).run(hindsight(), EPISODE, retained=nothing, asked=nothing)
    answer = stage.files.read("hindsight", EPISODE.name, "q/1").answer
    assert answer is not None
    assert answer.by == "itself"
    assert "Pixel" in answer.text


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Unreadable judgments count as missing, not as no."""
    judgments = {"answer": (Judgment("a", None), Judgment("b", yes=False, confidence=0.5))}
    answer = Answer("Pixel", "reader", 256, 300, 4)
    result = QuestionResult("s", "d", "", "e", QUESTIONS[0], {256: Context(())}, answer, judgments)
    files = ResultFiles(tmp_path)
    files.write(result)
    assert files.read("s", "e", "q/1") == result


def _opens_nothing(place: Place) -> AbstractContextManager[MemorySystem]:
    raise AssertionError(place)
