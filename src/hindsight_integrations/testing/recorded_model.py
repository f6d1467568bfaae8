"""RecordedModel: a LanguageModel that answers from a folder of recordings, without key, network or cost."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import anyio
from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, ModelError, shown
from hindsight_integrations.ports.language_model import Completion, Prompt, Role, answer_problem
from hindsight_integrations.testing.recordings import (
    Recording,
    read_recording,
    recording_path,
    schema_hash,
    write_request,
)

T = TypeVar("T", bound=BaseModel)

POLL_SECONDS = 0.2  # between two looks for an answer that somebody is writing


class MissingAnswer(ModelError, LookupError):
    """A request whose answer is not in the folder. Retrying cannot help (hence LookupError).

    Attributes:
        path: the file of the request.
        prompt: the prompt's name.
        beginning: of what the user's message says, on one line.
        reason: why there is none.
    """

    def __init__(self, path: Path, prompt: str, beginning: str, reason: str) -> None:
        self.path, self.prompt, self.beginning, self.reason = path, prompt, beginning, reason
        super().__init__(
            f"no answer is recorded for {prompt!r}, {beginning}: {reason}. Its file is {path}. Record one "
            f"with RecordingModel(model, {str(path.parent)!r}), or write it with write_answer(file, answer). If there was "
            "one before, what is asked has changed since: the prompt, the messages and their times, or what memory shows."
        )


class RecordedModel:
    """Answers each request from the file that `RecordingModel`, or somebody by hand, wrote for it.

    An answer that was outside its schema when it was recorded is so again (`MalformedOutput`), so that repairs are replayed
    too. A request without an answer is written down as a file and raises `MissingAnswer`.

    Args:
        folder: where the recordings are; made at the first request that has none.
        wait: seconds to wait for an answer that somebody else writes meanwhile; 0 for none. A retain waits no longer in all
            than `RetainConfig.extraction_timeout_s`.
        name: the model's name in errors.

    Raises:
        InvalidRequest: `wait` is negative.
    """

    def __init__(self, folder: str | Path, *, wait: float = 0.0, name: str = "recorded") -> None:
        if not wait >= 0:
            raise InvalidRequest("wait", f"{shown(wait)} is not a time to wait", "Give seconds, 0 for none.")
        self._folder = Path(folder)
        self._wait = wait
        self._name = name

    @property
    def name(self) -> str:
        """The model's name, for errors and doctor."""
        return self._name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """The recorded answer.

        Raises:
            MissingAnswer: there is none, or it was given to another schema and does not fit this one.
            MalformedOutput: the recorded answer is outside the schema, as it was when it was given.
            InvalidRequest: the file of the request is damaged.
        """
        path = recording_path(self._folder, prompt)
        found = _found_or_requested(path, prompt)
        if isinstance(found, Recording):
            return self._replayed(prompt, path, found)
        if (recording := await self._awaited(path)) is None:
            raise found
        return self._replayed(prompt, path, recording)

    async def _awaited(self, path: Path) -> Recording | None:
        """The recording once it has an answer; None if it has none in time."""
        with anyio.move_on_after(self._wait):
            while self._wait:
                await anyio.sleep(POLL_SECONDS)
                try:
                    recording = read_recording(path)
                except InvalidRequest:
                    continue  # an editor is writing it
                if recording is not None and recording.answer is not None:
                    return recording
        return None

    def _replayed(self, prompt: Prompt[T], path: Path, recording: Recording) -> Completion[T]:
        text, problem = recording.text, recording.problem
        tokens = (recording.tokens_in, recording.tokens_out)
        if not problem:
            try:
                output = _validated(prompt.schema, recording)
            except ValidationError as error:
                problem = answer_problem(error)
                if isinstance(recording.answer, dict) and recording.schema_hash != schema_hash(prompt.schema):
                    reason = f"the one there was given to another version of its schema ({problem})"
                    raise MissingAnswer(path, prompt.name, _beginning(prompt), reason) from error
            else:
                return Completion(output, *tokens, text)
        raise MalformedOutput(self._name, text, problem, tokens_in=tokens[0], tokens_out=tokens[1])


def _found_or_requested(path: Path, prompt: Prompt[T]) -> Recording | MissingAnswer:
    """The recording with its answer; else the request is written down, and this is the error that names it."""
    recording = read_recording(path)
    if recording is not None and recording.answer is not None:
        return recording
    reason = "nobody has answered it"
    try:
        write_request(path, prompt)
    except OSError as error:
        reason += f", and it could not be written down ({error.strerror})"
    return MissingAnswer(path, prompt.name, _beginning(prompt), reason)


def _validated(schema: type[T], recording: Recording) -> T:
    if isinstance(recording.answer, dict):
        return schema.model_validate(recording.answer)
    return schema.model_validate_json(recording.text)


def _beginning(prompt: Prompt[T]) -> str:
    """How the user's first message begins, on one line."""
    texts = (message.text for message in prompt.messages if message.role is Role.USER)
    return shown(" ".join(next(texts, "").split()))
