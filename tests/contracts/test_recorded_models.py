"""Record and replay: the language-model contract for recorder and replay, and the files."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from table import every_row

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.models.protocols import (
    Completion,
    LanguageModel,
    Prompt,
    PromptMessage,
    PromptRole,
)
from hindsight_integrations.testing import (
    MissingAnswer,
    RecordedModel,
    RecordingModel,
    unanswered,
    write_answer,
)
from hindsight_integrations.testing.contracts import (
    VERDICT,
    LanguageModelContract,
    ModelFor,
    Verdict,
    verdict_prompt,
)
from hindsight_integrations.testing.recordings import write_request
from hindsight_integrations.testing.scripted_model import ScriptedModel

T = TypeVar("T", bound=BaseModel)
FOLDERS = count()


def answered(call: Coroutine[Any, Any, Completion[Verdict]]) -> Verdict:
    return asyncio.run(call).output


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


class TestRecordingModel(LanguageModelContract):
    @pytest.fixture
    def model_for(self, tmp_path: Path) -> ModelFor:
        return lambda answers: RecordingModel(ScriptedModel(answers), tmp_path / str(next(FOLDERS)))


class Replayed:
    """Each request is recorded first and then answered from the folder alone."""

    def __init__(self, model: RecordingModel, folder: Path) -> None:
        self._recording, self._recorded = model, RecordedModel(folder)

    @property
    def name(self) -> str:
        return self._recorded.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        with suppress(MalformedOutput):
            await self._recording.complete(prompt)
        return await self._recorded.complete(prompt)


class TestRecordedModel(LanguageModelContract):
    @pytest.fixture
    def model_for(self, tmp_path: Path) -> ModelFor:
        def build(answers: list[Any]) -> LanguageModel:
            folder = tmp_path / str(next(FOLDERS))
            return Replayed(RecordingModel(ScriptedModel(answers), folder), folder)

        return build


def test_the_file_is_readable(tmp_path: Path) -> None:
    """A reviewer can read the request and its answer in the file, line by line."""
    model = RecordingModel(ScriptedModel([VERDICT], model="tiny"), tmp_path)
    answered(model.complete(verdict_prompt("Is tea “hot”?\nTruly?")))
    (path,) = files(tmp_path)
    text = path.read_text("utf-8")
    written = json.loads(text)
    assert path.name.startswith("verdict-")
    assert "“hot”" in text
    assert written["messages"][0] == {"role": "system", "text": ["Judge."]}
    assert written["messages"][-1]["text"] == ["Is tea “hot”?", "Truly?"]
    assert written["answer"] == VERDICT
    assert written["model"] == "ScriptedModel/tiny"
    assert written["tokens_in"] > 0
    (schema,) = (tmp_path / "schemas").iterdir()
    assert schema.stem == f"Verdict-{written['schema_hash']}"
    assert "confidence" in json.loads(schema.read_text())["properties"]


def test_a_requests_file_is_the_same_everywhere(tmp_path: Path) -> None:
    """A recording is found on another machine, with any version of Python and any hash seed."""
    model = RecordedModel(tmp_path)
    with pytest.raises(MissingAnswer) as caught:
        answered(model.complete(verdict_prompt("Schläft Zoë? 😴")))
    assert caught.value.path.name == "verdict-c76b35f85dca0b86.json"


@every_row(
    "change",
    [
        {"messages": (PromptMessage(PromptRole.USER, "Is it not so?"),)},
        {"messages": (PromptMessage(PromptRole.SYSTEM, "Is it so?"),)},
        {"name": "other"},
        {"schema": type("Other", (Verdict,), {})},
    ],
    ids=["words", "role", "name", "schema"],
)
def test_another_question_has_another_file(tmp_path: Path, change: dict[str, Any]) -> None:
    """No request is answered with another one's answer."""
    prompt = Prompt("verdict", (PromptMessage(PromptRole.USER, "Is it so?"),), Verdict)
    answered(RecordingModel(ScriptedModel([VERDICT]), tmp_path).complete(prompt))
    with pytest.raises(MissingAnswer):
        answered(RecordedModel(tmp_path).complete(replace(prompt, **change)))


def test_the_same_question_keeps_its_answer(tmp_path: Path) -> None:
    """Neither another temperature nor another wording of the schema invalidates a matching recording."""
    answered(RecordingModel(ScriptedModel([VERDICT]), tmp_path).complete(verdict_prompt()))

    class Reworded(BaseModel):
        """Another description."""

        answer: str

    Reworded.__name__ = "Verdict"
    reworded = Prompt("verdict", verdict_prompt().messages, Reworded, temperature=0.7)
    assert asyncio.run(RecordedModel(tmp_path).complete(reworded)).output == Reworded(answer="yes")


def test_an_answer_to_another_schema_is_missing(tmp_path: Path) -> None:
    """If a new version of a schema needs more than the recorded answer has, replay reports it, and the recorder asks again."""
    answered(RecordingModel(ScriptedModel([VERDICT]), tmp_path).complete(verdict_prompt()))

    class Longer(Verdict):
        """Needs one more field."""

        reason: str

    Longer.__name__ = "Verdict"
    prompt = Prompt("verdict", verdict_prompt().messages, Longer)
    with pytest.raises(MissingAnswer, match=r"another version of its schema \(reason: Field required\)"):
        asyncio.run(RecordedModel(tmp_path).complete(prompt))
    answer = {**VERDICT, "reason": "it is wet"}
    asyncio.run(RecordingModel(ScriptedModel([answer]), tmp_path).complete(prompt))
    assert asyncio.run(RecordedModel(tmp_path).complete(prompt)).output.reason == "it is wet"
    assert len(files(tmp_path)) == 1


def test_a_missing_answer_names_its_request_and_what_to_do(tmp_path: Path) -> None:
    """The error names the file, the prompt and the first words of the request, and two ways to get an answer."""
    with pytest.raises(MissingAnswer) as caught:
        answered(RecordedModel(tmp_path / "new").complete(verdict_prompt("Truly?")))
    error = caught.value
    assert (error.prompt, error.beginning) == ("verdict", "'Is water wet?'")
    assert error.path == files(tmp_path / "new")[0]
    for part in (str(error.path), "'verdict'", "Is water wet?", "RecordingModel(", "write_answer("):
        assert part in str(error)


def test_several_requests_at_once_are_all_written_down(tmp_path: Path) -> None:
    """All requests of a passage cut in four are written in one run, so that somebody can answer them."""

    async def ask() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(RecordedModel(tmp_path).complete(verdict_prompt(str(number))))

    with pytest.raises(ExceptionGroup):
        asyncio.run(ask())
    assert len(unanswered(tmp_path)) == 4


def test_requests_are_answered_by_hand(tmp_path: Path) -> None:
    """A person or another program lists the open requests and answers them, and the model returns the answers."""
    model = RecordedModel(tmp_path)
    for text in ("Is it day?", "Is it night?"):
        with pytest.raises(MissingAnswer):
            answered(model.complete(verdict_prompt(text)))
    waiting = unanswered(tmp_path)
    assert [each.messages[-1].text for each in waiting.values()] == ["Is it day?", "Is it night?"]
    first, second = waiting
    write_answer(first, json.dumps(VERDICT), model="a person")
    assert list(unanswered(tmp_path)) == [second]
    assert answered(model.complete(verdict_prompt("Is it day?"))) == Verdict(answer="yes", confidence=0.5)
    write_answer(second, {"answer": "no", "confidence": 1})
    assert answered(model.complete(verdict_prompt("Is it night?"))).answer == "no"
    assert unanswered(tmp_path) == {}


@pytest.mark.parametrize("answer", ["I cannot tell.", '{"answer": "yes", "confidence": 7}', "[]", ""])
def test_a_wrong_answer_by_hand_is_malformed(tmp_path: Path, answer: str) -> None:
    """An answer by a person is validated like one by a model."""
    model = RecordedModel(tmp_path)
    with pytest.raises(MissingAnswer) as missing:
        answered(model.complete(verdict_prompt()))
    write_answer(missing.value.path, answer)
    with pytest.raises(MalformedOutput) as caught:
        answered(model.complete(verdict_prompt()))
    assert caught.value.output == answer
    assert caught.value.problem


def test_it_waits_for_an_answer(tmp_path: Path) -> None:
    """With `wait` somebody can answer while the program runs; a half-written file is not read as an answer."""

    with pytest.raises(MissingAnswer) as missing:
        answered(RecordedModel(tmp_path, wait=0.05).complete(verdict_prompt()))
    path = missing.value.path

    async def write() -> None:
        whole = path.read_text("utf-8")
        path.write_text(whole[:40], encoding="utf-8")  # an editor that is saving
        await asyncio.sleep(0.3)
        path.write_text(whole, encoding="utf-8")
        write_answer(path, VERDICT)

    async def both() -> Completion[Verdict]:
        done, _ = await asyncio.gather(RecordedModel(tmp_path, wait=20).complete(verdict_prompt()), write())
        return done

    assert asyncio.run(both()).output.answer == "yes"


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("m", "down"), ModelRefused("m", "key"), KeyError("bug")]
)
def test_a_failure_is_not_recorded(tmp_path: Path, failure: Exception) -> None:
    """A network failure on the day of recording is not replayed."""
    with pytest.raises(type(failure)):
        answered(RecordingModel(ScriptedModel([failure]), tmp_path).complete(verdict_prompt()))
    assert len(unanswered(tmp_path)) == 1
    again = ScriptedModel([VERDICT])
    assert answered(RecordingModel(again, tmp_path).complete(verdict_prompt())).answer == "yes"
    assert unanswered(tmp_path) == {}


def test_what_is_recorded_is_not_asked_again(tmp_path: Path) -> None:
    """An interrupted recording continues where it stopped; for a deleted file, the request is sent again."""
    scripted = ScriptedModel([VERDICT, {"answer": "no", "confidence": 0}])
    model = RecordingModel(scripted, tmp_path)
    for _ in range(2):
        assert answered(model.complete(verdict_prompt())).answer == "yes"
    assert scripted.calls == 1
    files(tmp_path)[0].unlink()
    assert answered(model.complete(verdict_prompt())).answer == "no"


def test_odd_characters_come_back(tmp_path: Path) -> None:
    """Line ends of every kind, control characters and half an emoji are recorded unchanged."""
    text = "a\r\nb\rc\n\x00\u2028d\ud83d"
    answer = {"answer": "é\ud83d\n", "confidence": 1}
    model = RecordingModel(ScriptedModel([json.dumps(answer)]), tmp_path)
    assert answered(model.complete(verdict_prompt(text))).answer == answer["answer"]
    assert answered(RecordedModel(tmp_path).complete(verdict_prompt(text))).answer == answer["answer"]
    (path,) = files(tmp_path)
    lines = json.loads(path.read_bytes())["messages"][-1]["text"]
    assert "\n".join(lines) == text


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"prompt": "verdict"}', b"\xff", '{"anser": 1}'],
    ids=["empty", "half", "list", "fields", "bytes", "typo"],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str | bytes) -> None:
    """A damaged file is neither used as an answer nor silently recorded again."""
    answered(RecordingModel(ScriptedModel([VERDICT]), tmp_path).complete(verdict_prompt()))
    (path,) = files(tmp_path)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for model in (RecordedModel(tmp_path), RecordingModel(ScriptedModel([VERDICT]), tmp_path)):
        with pytest.raises(InvalidRequest, match=path.name):
            answered(model.complete(verdict_prompt()))
    with pytest.raises(InvalidRequest, match="Correct or delete the file"):
        unanswered(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Replay reports it together with the missing answer; a recorder does not call a model whose answer it could not store."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(MissingAnswer, match="could not be written"):
        answered(RecordedModel(blocked / "folder").complete(verdict_prompt()))
    scripted = ScriptedModel([VERDICT])
    with pytest.raises(InvalidRequest, match="writable directory"):
        answered(RecordingModel(scripted, blocked / "folder").complete(verdict_prompt()))
    assert scripted.calls == 0


@pytest.mark.parametrize("wait", [-1, float("nan")])
def test_a_wait_that_is_none_is_refused(tmp_path: Path, wait: float) -> None:
    """An invalid wait is an error at once."""
    with pytest.raises(InvalidRequest, match="wait"):
        RecordedModel(tmp_path, wait=wait)


def test_an_answer_to_nothing_is_refused(tmp_path: Path) -> None:
    """A mistyped path does not create a file."""
    with pytest.raises(InvalidRequest, match="unanswered"):
        write_answer(tmp_path / "verdict-0.json", VERDICT)


def test_a_request_never_replaces_an_answer(tmp_path: Path) -> None:
    """A request written after another process answered it leaves the answer unchanged."""
    answered(RecordingModel(ScriptedModel([VERDICT]), tmp_path).complete(verdict_prompt()))
    (path,) = files(tmp_path)
    write_request(path, verdict_prompt())
    assert answered(RecordedModel(tmp_path).complete(verdict_prompt())).answer == "yes"
    assert [each for each in tmp_path.iterdir() if each.is_file()] == [path]


RECORD = """
import asyncio, sys
from hindsight_integrations.testing import RecordingModel
from hindsight_integrations.testing.contracts import verdict_prompt
from hindsight_integrations.testing.recordings import write_request
from hindsight_integrations.testing.scripted_model import ScriptedModel
model = RecordingModel(ScriptedModel(lambda messages: {"answer": messages[-1].content * 2000, "confidence": 1}), sys.argv[1])
async def ask():
    await asyncio.gather(*(model.complete(verdict_prompt(str(number % 10))) for number in range(30)))
asyncio.run(ask())
"""


@pytest.mark.slow
def test_several_processes_record_into_one_folder(tmp_path: Path) -> None:
    """Parallel test runs neither damage one another's files nor read half of one."""
    command = [sys.executable, "-c", RECORD, str(tmp_path)]
    running = [
        subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2", "3")
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert len(files(tmp_path)) == 10
    model = RecordedModel(tmp_path)
    assert answered(model.complete(verdict_prompt("7"))).answer == "7" * 2000
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"]
