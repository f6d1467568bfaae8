"""Record and replay of language models: RecordingModel writes recordings to a directory, RecordedModel answers from them."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, ModelError, shown
from hindsight_integrations.models.protocols import (
    Completion,
    LanguageModel,
    Prompt,
    PromptRole,
    answer_problem,
)
from hindsight_integrations.prompts.rendering import with_schema_in_words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms import LLM

# Hex digits of a SHA-256; a collision among a million requests has a probability of 1 in 37 million.
KEY_DIGITS = 16
SCHEMAS = "schemas"


class RecordedMessage(BaseModel):
    """One message of a request; its text is stored as a list of lines, for readable files and diffs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: PromptRole
    text: str

    @field_validator("text", mode="before")
    @classmethod
    def _joined(cls, lines: object) -> object:
        return "\n".join(map(str, lines)) if isinstance(lines, list) else lines

    @field_serializer("text")
    def _lines(self, text: str) -> list[str]:
        return text.split("\n")


class Recording(BaseModel):
    """A request and its answer, if there is one.

    Attributes:
        prompt: the prompt's name ("extract_facts").
        schema_name: the answer's class.
        schema_hash: hash of the answer's JSON schema, to detect changes.
        messages: the messages, system first.
        answer: an object of the schema; a string if the model wrote no object; None if unanswered.
        problem: why the model's answer was unusable; empty if it was usable.
        model: the answering model's name; empty if unknown.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    schema_name: str
    schema_hash: str
    messages: tuple[RecordedMessage, ...]
    answer: dict[str, Any] | str | None = None
    problem: str = ""
    model: str = ""
    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)

    @property
    def text(self) -> str:
        """The answer as text."""
        return self.answer if isinstance(self.answer, str) else json.dumps(self.answer)


def recording_of(prompt: Prompt[Any]) -> Recording:
    """Create an unanswered recording of a prompt."""
    return Recording(
        prompt=prompt.name,
        schema_name=prompt.schema.__name__,
        schema_hash=schema_hash(prompt.schema),
        messages=tuple(RecordedMessage(role=each.role, text=each.text) for each in prompt.messages),
    )


def recording_path(folder: Path, prompt: Prompt[Any]) -> Path:
    """Return a request's file, named by a hash of the prompt's name, the schema's name and the messages.

    Temperature, the JSON schema's text and the model's name are not included, so that answers stay valid when they change.
    """
    asked = [prompt.name, prompt.schema.__name__, [[each.role.value, each.text] for each in prompt.messages]]
    key = sha256(json.dumps(asked, separators=(",", ":")).encode("ascii")).hexdigest()[:KEY_DIGITS]
    return folder / f"{_file_name(prompt.name)}-{key}.json"


def schema_hash(schema: type[BaseModel]) -> str:
    """Hash a JSON schema, independently of the order of its keys."""
    text = json.dumps(schema.model_json_schema(), sort_keys=True)
    return sha256(text.encode("ascii")).hexdigest()[:12]


def read_recording(path: Path) -> Recording | None:
    """Read a recording; None if the file does not exist.

    Raises:
        InvalidRequest: the file is not a valid recording.
    """
    try:
        return Recording.model_validate(json.loads(path.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as error:
        reason = answer_problem(error)
    except (ValueError, OSError) as error:  # invalid JSON or UTF-8, or no permission
        reason = str(error)
    raise InvalidRequest("recording", f"{path} cannot be read: {reason}", "Correct or delete the file.")


def write_request(path: Path, prompt: Prompt[Any]) -> None:
    """Write an unanswered request and its schema; an existing file is not changed.

    Raises:
        OSError: the directory cannot be written.
    """
    request = recording_of(prompt)
    schemas = path.parent / SCHEMAS
    schemas.mkdir(parents=True, exist_ok=True)
    schema = schemas / f"{_file_name(request.schema_name)}-{request.schema_hash}.json"
    if not schema.exists():
        text = json.dumps(prompt.schema.model_json_schema(), indent=1)
        _write_whole(schema, text.encode("ascii"), replace=False)
    _write_whole(path, _encoded(request), replace=False)


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording, replacing the file's content."""
    _write_whole(path, _encoded(recording), replace=True)


def unanswered(folder: str | Path) -> dict[Path, Recording]:
    """Return the unanswered requests of a directory by file, oldest first.

    Raises:
        InvalidRequest: a file is not a valid recording.
    """
    paths = sorted(Path(folder).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    found = ((path, read_recording(path)) for path in paths)
    return {path: recording for path, recording in found if recording and recording.answer is None}


def write_answer(request: str | Path, answer: Mapping[str, Any] | str, *, model: str = "") -> None:
    """Answer one request, by hand or from another program.

    Args:
        request: the request's file, as returned by `unanswered` or named in `MissingAnswer`.
        answer: an object of the request's schema, or a model's text; text that is not a JSON object is replayed as
            malformed output, which the engine asks the model to repair.
        model: the answering model's name, stored in the file.

    Raises:
        InvalidRequest: there is no such request.
    """
    path = Path(request)
    recording = read_recording(path)
    if recording is None:
        raise InvalidRequest(
            "request", f"the file {path} does not exist", "Use a path that unanswered(folder) returned."
        )
    kept = answer_object(answer) if isinstance(answer, str) else dict(answer)
    answered = {"answer": answer if kept is None else kept, "model": model}
    unspent = {"problem": "", "tokens_in": 0, "tokens_out": 0}
    write_recording(path, recording.model_copy(update=answered | unspent))


def answer_object(text: str) -> dict[str, Any] | None:
    """Parse a text as a JSON object; None if it is not one."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _encoded(recording: Recording) -> bytes:
    """Encode a recording as UTF-8 JSON; lone surrogates become escapes."""
    fields = recording.model_dump(mode="json", exclude_defaults=True) | {"answer": recording.answer}
    ordered = {name: fields[name] for name in Recording.model_fields if name in fields}
    return (json.dumps(ordered, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def _write_whole(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file atomically; without `replace` an existing file is kept."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        draft.write_bytes(data)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        pass  # a concurrent call wrote the same request
    finally:
        draft.unlink(missing_ok=True)


T = TypeVar("T", bound=BaseModel)

POLL_SECONDS = 0.2  # interval between checks for an answer


class MissingAnswer(ModelError, LookupError):
    """No answer is recorded for a request. Not retryable (hence LookupError).

    Attributes:
        path: the request's file.
        prompt: the prompt's name.
        beginning: start of the user's message, on one line.
        reason: why there is no answer.
    """

    def __init__(self, path: Path, prompt: str, beginning: str, reason: str) -> None:
        self.path, self.prompt, self.beginning, self.reason = path, prompt, beginning, reason
        super().__init__(
            f"no answer is recorded for {prompt!r}, {beginning}: {reason}. Its file is {path}. Record one "
            f"with RecordingModel(model, {str(path.parent)!r}), or write it with write_answer(file, answer). If there was "
            "one before, the request has changed: the prompt, the messages with their times, or the recalled memories."
        )


class RecordedModel:
    """Language model that answers from recordings, written by `RecordingModel` or by hand.

    A recorded malformed answer raises `MalformedOutput` again, so that repairs are replayed too. A request without an
    answer is written to a file and raises `MissingAnswer`.

    Args:
        folder: the directory of the recordings; created at the first request without an answer.
        wait: seconds to wait until another program has written the answer; 0 does not wait. A retain waits at most
            `RetainConfig.extraction_timeout_s` in total.
        name: the model's name in errors.

    Raises:
        InvalidRequest: `wait` is negative.
    """

    def __init__(self, folder: str | Path, *, wait: float = 0.0, name: str = "recorded") -> None:
        if not wait >= 0:
            raise InvalidRequest(
                "wait", f"{shown(wait)} is not a number of seconds", "Pass seconds, or 0 not to wait."
            )
        self._folder = Path(folder)
        self._wait = wait
        self._name = name

    @property
    def name(self) -> str:
        """The model's name, for errors and `doctor`."""
        return self._name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return the recorded answer.

        Raises:
            MissingAnswer: there is none, or it does not match the current version of the schema.
            MalformedOutput: the recorded answer is malformed.
            InvalidRequest: the request's file is damaged.
        """
        path = recording_path(self._folder, prompt)
        found = _found_or_requested(path, prompt)
        if isinstance(found, Recording):
            return self._replayed(prompt, path, found)
        if (recording := await self._awaited(path)) is None:
            raise found
        return self._replayed(prompt, path, recording)

    async def _awaited(self, path: Path) -> Recording | None:
        """Wait for the recording's answer; None if there is none in time."""
        with anyio.move_on_after(self._wait):
            while self._wait:
                await anyio.sleep(POLL_SECONDS)
                try:
                    recording = read_recording(path)
                except InvalidRequest:
                    continue  # the file is being written
                if recording is not None and recording.answer is not None:
                    return recording
        return None

    def _replayed(self, prompt: Prompt[T], path: Path, recording: Recording) -> Completion[T]:
        text, problem = recording.text, recording.problem
        tokens = (recording.tokens_in, recording.tokens_out)
        if not problem:
            try:
                if isinstance(recording.answer, dict):
                    output = prompt.schema.model_validate(recording.answer)
                else:
                    output = prompt.schema.model_validate_json(text)
            except ValidationError as error:
                problem = answer_problem(error)
                if isinstance(recording.answer, dict) and recording.schema_hash != schema_hash(prompt.schema):
                    reason = f"the recorded answer is for another version of its schema ({problem})"
                    raise MissingAnswer(path, prompt.name, _beginning(prompt), reason) from error
            else:
                return Completion(output, *tokens, text)
        raise MalformedOutput(self._name, text, problem, tokens_in=tokens[0], tokens_out=tokens[1])


def _found_or_requested(path: Path, prompt: Prompt[T]) -> Recording | MissingAnswer:
    """Return the answered recording, or write the request to a file and return the error that names it."""
    recording = read_recording(path)
    if recording is not None and recording.answer is not None:
        return recording
    reason = "it has not been answered"
    try:
        write_request(path, prompt)
    except OSError as error:
        reason += f", and its file could not be written ({error.strerror})"
    return MissingAnswer(path, prompt.name, _beginning(prompt), reason)


def _beginning(prompt: Prompt[T]) -> str:
    """Return the start of the user's first message, on one line."""
    texts = (message.text for message in prompt.messages if message.role is PromptRole.USER)
    return shown(" ".join(next(texts, "").split()))


class RecordingModel:
    """Language model that calls another model for unrecorded requests and records the answers for `RecordedModel`.

    Recorded requests are not sent again, so an interrupted run can be resumed; a changed prompt is a new request. Delete
    a file to repeat its request. Malformed answers are recorded with the problem. If the model is unreachable or rejects
    the key, the error is raised and the request stays unanswered.

    Args:
        model: a LanguageModel, a LlamaIndex LLM, a LangChain chat model, or "openai:<name>".
        folder: the directory of the recordings; created if missing.

    Raises:
        InvalidRequest: the model is none of these, or its name has no provider or an unknown one.
        MissingDependency: langchain-openai is not installed.
        ModelRefused: there is no API key.
    """

    def __init__(self, model: LanguageModel | LLM | BaseChatModel | str, folder: str | Path) -> None:
        from hindsight_integrations.models.named_models import language_model

        self._model = language_model(model, in_words=with_schema_in_words)
        self._recorded = RecordedModel(folder, name=self._model.name)

    @property
    def name(self) -> str:
        """The name of the recorded model."""
        return self._model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return the recorded answer, else call the model and record its answer.

        Raises:
            ModelUnavailable: the model could not be reached, timed out or was rate-limited; not recorded.
            ModelRefused: the service rejects the key; not recorded.
            MalformedOutput: the answer is malformed, now or in the recording.
            InvalidRequest: the request's file is damaged, or the directory cannot be written; the model was not called.
        """
        try:
            return await self._recorded.complete(prompt)
        except MissingAnswer as missing:
            path = missing.path
            if not path.exists():  # before paying for an answer that could not be stored
                raise InvalidRequest("folder", missing.reason, "Choose a writable directory.") from missing
        try:
            done = await self._model.complete(prompt)
        except MalformedOutput as error:  # recorded verbatim, because the repair prompt shows it
            self._keep(path, prompt, error, answer=error.output, problem=error.problem)
            raise
        self._keep(path, prompt, done, answer=_answer(prompt, done))
        return done

    def _keep(
        self, path: Path, prompt: Prompt[T], cost: Completion[T] | MalformedOutput, **answered: object
    ) -> None:
        answered |= {"model": self.name, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out}
        write_recording(path, recording_of(prompt).model_copy(update=answered))


def _answer(prompt: Prompt[T], done: Completion[T]) -> object:
    """Return the answer as the model wrote it, since parsing may drop parts; as parsed if the text was transformed first."""
    written = answer_object(done.text)
    try:
        if written is not None and prompt.schema.model_validate(written) == done.output:
            return written
    except ValidationError:
        pass  # the model's text was transformed before it was parsed
    return done.output.model_dump(mode="json")
