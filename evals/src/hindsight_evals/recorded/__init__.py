"""Weeks of Memora with a strong model's answers to the extraction prompt, which are replayed without a model.

`weekly-NAME.json.gz` is a week as published by Memora (geniesinc/Memora, Apache-2.0, `LICENSE`), and
`weekly-NAME.answers.jsonl.gz` contains the answers, each given to a single request without other knowledge of
the week. An answer is looked up by the prompt's name and all messages except the fixed instructions. So the
instructions may be reworded, but the memories shown with a passage must not change.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from hindsight_integrations import ModelError
from hindsight_integrations.models.protocols import Completion, Prompt, PromptRole

HERE = Path(__file__).parent
KEY_DIGITS = 20  # number of hexadecimal digits

T = TypeVar("T", bound=BaseModel)


class ReplayedModel:
    """A language model that returns the recorded answers of one week.

    Args:
        name: name of the week ("weekly-content_writer").
    """

    name = "replayed"

    def __init__(self, name: str) -> None:
        lines = gzip.decompress((HERE / f"{name}.answers.jsonl.gz").read_bytes()).decode().splitlines()
        self._answers: dict[str, Any] = {line["key"]: line["answer"] for line in map(json.loads, lines)}

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return the recorded answer.

        Raises:
            ModelError: the request was not recorded.
        """
        asked = [message.text for message in prompt.messages if message.role is not PromptRole.SYSTEM]
        answer = self._answers.get(key_of(prompt.name, asked))
        if answer is None:
            raise ModelError(f"no answer is recorded for {prompt.name!r}, {asked[0][-300:]!r}")
        return Completion(prompt.schema.model_validate(answer), text=json.dumps(answer))


def week_file(name: str, folder: Path) -> Path:
    """Unpack the week into a folder; return the file."""
    path = folder / f"{name}.json"
    path.write_bytes(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))
    return path


def key_of(prompt: str, asked: Iterable[str]) -> str:
    """Return the key of a request: a hash of the prompt's name and the messages after its instructions."""
    return sha256(json.dumps([prompt, *asked]).encode()).hexdigest()[:KEY_DIGITS]


def keep(recordings: Path, week: Path) -> int:
    """Write a week and the answers of a folder of recordings into this package; return the number of answers."""
    lines = []
    for path in sorted(recordings.glob("*.json")):
        recording = json.loads(path.read_text())
        asked = [
            "\n".join(each["text"]) for each in recording["messages"] if each["role"] != PromptRole.SYSTEM
        ]
        if recording.get("answer") is not None:
            line = {"key": key_of(recording["prompt"], asked), "answer": recording["answer"]}
            lines.append(json.dumps(line, ensure_ascii=False))
    written = {
        f"{week.stem}.json.gz": week.read_bytes(),
        f"{week.stem}.answers.jsonl.gz": "\n".join(lines).encode(),
    }
    for name, content in written.items():
        (HERE / name).write_bytes(gzip.compress(content, mtime=0))
    return len(lines)
