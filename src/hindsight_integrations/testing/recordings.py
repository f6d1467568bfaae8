"""Record and replay of language models: the files of a folder, RecordedModel that answers from them, RecordingModel that writes them."""

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
from hindsight_integrations.prompts.json_answer import with_schema_in_words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms import LLM

KEY_DIGITS = 16  # hexadecimal, of a SHA-256: two of a million requests meet once in 37 million folders
SCHEMAS = "schemas"


class RecordedMessage(BaseModel):
    """One message of a request; its text is written as a list of lines, so that people and diffs can read it."""

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
    """A request, and its answer once there is one.

    Attributes:
        prompt: what it is for ("extract_facts").
        schema_name: class of the answer.
        schema_hash: of the JSON schema the answer was to have; says whether that has changed since.
        messages: system first.
        answer: an object of the schema; a text where the model wrote none; None as long as nobody has answered.
        problem: why the model's answer could not be used, empty if it could.
        model: who answered, empty if not known.
        tokens_in: prompt tokens as the model reported them.
        tokens_out: completion tokens likewise.
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
        """The answer as a text."""
        return self.answer if isinstance(self.answer, str) else json.dumps(self.answer)


def recording_of(prompt: Prompt[Any]) -> Recording:
    """A prompt as a request that nobody has answered."""
    return Recording(
        prompt=prompt.name,
        schema_name=prompt.schema.__name__,
        schema_hash=schema_hash(prompt.schema),
        messages=tuple(RecordedMessage(role=each.role, text=each.text) for each in prompt.messages),
    )


def recording_path(folder: Path, prompt: Prompt[Any]) -> Path:
    """The file of a request: by the prompt's name, the schema's name and the messages, and by nothing else.

    Temperature, the JSON schema's wording and the model's name stay out, so that the same question keeps its answer when
    they change.
    """
    asked = [prompt.name, prompt.schema.__name__, [[each.role.value, each.text] for each in prompt.messages]]
    key = sha256(json.dumps(asked, separators=(",", ":")).encode("ascii")).hexdigest()[:KEY_DIGITS]
    return folder / f"{_file_name(prompt.name)}-{key}.json"


def schema_hash(schema: type[BaseModel]) -> str:
    """Of a JSON schema, whatever the order of its keys."""
    text = json.dumps(schema.model_json_schema(), sort_keys=True)
    return sha256(text.encode("ascii")).hexdigest()[:12]


def read_recording(path: Path) -> Recording | None:
    """What a file holds; None if there is none.

    Raises:
        InvalidRequest: it is not a recording, or was edited into something else.
    """
    try:
        return Recording.model_validate(json.loads(path.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as error:
        reason = answer_problem(error)
    except (ValueError, OSError) as error:  # no JSON, no UTF-8, no permission
        reason = str(error)
    raise InvalidRequest("recording", f"{path} cannot be read: {reason}", "Mend the file, or delete it.")


def write_request(path: Path, prompt: Prompt[Any]) -> None:
    """Keep a request for whoever answers it, with its schema; a file that is there already stays as it is.

    Raises:
        OSError: the folder cannot be written.
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
    """Keep a request with its answer, in place of what the file held."""
    _write_whole(path, _encoded(recording), replace=True)


def unanswered(folder: str | Path) -> dict[Path, Recording]:
    """The requests of a folder that nobody has answered, by file, the longest waiting first.

    Raises:
        InvalidRequest: a file of the folder is not a recording.
    """
    paths = sorted(Path(folder).glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    found = ((path, read_recording(path)) for path in paths)
    return {path: recording for path, recording in found if recording and recording.answer is None}


def write_answer(request: str | Path, answer: Mapping[str, Any] | str, *, model: str = "") -> None:
    """Answer one request, by hand or from another program.

    Args:
        request: the file of the request, as `unanswered` and the error of a missing answer name it.
        answer: an object of the request's schema, or a text as a model would write it: where it is no JSON object, replaying
            it is an answer outside the schema, for which the engine will ask once more.
        model: who answered, for the file.

    Raises:
        InvalidRequest: there is no such request.
    """
    path = Path(request)
    recording = read_recording(path)
    if recording is None:
        raise InvalidRequest("request", f"there is no file {path}", "Take a path from unanswered(folder).")
    kept = answer_object(answer) if isinstance(answer, str) else dict(answer)
    answered = {"answer": answer if kept is None else kept, "model": model}
    unspent = {"problem": "", "tokens_in": 0, "tokens_out": 0}
    write_recording(path, recording.model_copy(update=answered | unspent))


def answer_object(text: str) -> dict[str, Any] | None:
    """The JSON object a text is; None if it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _encoded(recording: Recording) -> bytes:
    """The file's bytes: UTF-8, but for half a surrogate pair, which JSON writes as an escape."""
    fields = recording.model_dump(mode="json", exclude_defaults=True) | {"answer": recording.answer}
    ordered = {name: fields[name] for name in Recording.model_fields if name in fields}
    return (json.dumps(ordered, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def _write_whole(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a file in one step, so that nobody reads half of it; without `replace` an existing one wins."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        draft.write_bytes(data)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        pass  # another call asked the same
    finally:
        draft.unlink(missing_ok=True)


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
    texts = (message.text for message in prompt.messages if message.role is PromptRole.USER)
    return shown(" ".join(next(texts, "").split()))


class RecordingModel:
    """Asks a model for what its folder has no answer to, and keeps request and answer there for `RecordedModel`.

    What the folder has answered is not asked again: a run that was stopped goes on where it was, and a changed prompt asks
    anew. Delete a file to ask its request again. An answer outside its schema is kept as such, with what was wrong. A model
    that could not be reached or refused the key is not: its error is raised, and the request stays without an answer.

    Args:
        model: a LanguageModel, a LlamaIndex LLM, a LangChain chat model, or "openai:<name>".
        folder: where the recordings are kept; made if it is not there.

    Raises:
        InvalidRequest: the model is none of these, or its name has another provider, or none.
        MissingDependency: langchain-openai is not installed.
        ModelRefused: there is no API key.
    """

    def __init__(self, model: LanguageModel | LLM | BaseChatModel | str, folder: str | Path) -> None:
        from hindsight_integrations.models.named_models import language_model

        self._model = language_model(model, in_words=with_schema_in_words)
        self._recorded = RecordedModel(folder, name=self._model.name)

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self._model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """The folder's answer, else the model's, which is then in the folder.

        Raises:
            ModelUnavailable: the model could not be reached, timed out or limited the rate; not recorded.
            ModelRefused: its service refuses the key; not recorded.
            MalformedOutput: it answered outside the schema, now or when it was recorded.
            InvalidRequest: the file of the request is damaged, or the folder cannot be written; the model was not asked.
        """
        try:
            return await self._recorded.complete(prompt)
        except MissingAnswer as missing:
            path = missing.path
            if not path.exists():  # before the model is paid for an answer that would be lost
                raise InvalidRequest("folder", missing.reason, "Choose one that can be written.") from missing
        try:
            done = await self._model.complete(prompt)
        except MalformedOutput as error:  # its text unchanged, since the repair shows it
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
    """The answer as the model wrote it, since reading may leave things out; else as it was read."""
    written = answer_object(done.text)
    try:
        if written is not None and prompt.schema.model_validate(written) == done.output:
            return written
    except ValidationError:
        pass  # what the model wrote went through something else before it was read
    return done.output.model_dump(mode="json")
