"""Recordings: a request to a language model and its answer as one readable JSON file.

A folder of them is what `RecordingModel` writes and `RecordedModel` answers from:

    extract_facts-1f0c9d2ab7e45d13.json     prompt, schema, messages, answer; a text is a list of its lines
    schemas/ExtractedFacts-8f14e45fceea.json     the JSON schema of the answer, for whoever answers by hand
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ports.language_model import Prompt, Role, answer_problem

KEY_DIGITS = 16  # hexadecimal, of a SHA-256: two of a million requests meet once in 37 million folders
SCHEMAS = "schemas"


class RecordedMessage(BaseModel):
    """One message of a request; its text is written as a list of lines, so that people and diffs can read it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
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
