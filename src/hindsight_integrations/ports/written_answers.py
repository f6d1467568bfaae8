"""The structured answer in what a model wrote: small models think aloud first, put fences around it, or add a sentence. Pure."""

from __future__ import annotations

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_REASONING_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_REASONING_BEGINS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)


def written_answer(schema: type[T], text: str) -> T | None:
    """The one object of a schema that a text holds, whatever stands around it; None if there is none, or a doubt which.

    Nothing is taken from reasoning, which may hold drafts, nor from an object that is not complete.
    """
    try:
        return schema.model_validate_json(_object_in(_without_reasoning(text)))
    except ValidationError:
        return None


def _without_reasoning(text: str) -> str:
    """The text after the reasoning; none if that does not end. Some templates leave the opening tag to the prompt."""
    text = _REASONING.sub("", text)
    *_, text = _REASONING_ENDS.split(text)
    return "" if _REASONING_BEGINS.search(text) else text


def _object_in(text: str) -> str:
    """The JSON object in the one fence of a text, else the one that stands in it; empty if there are several."""
    fences = _FENCE.findall(text)
    if fences:
        return str(fences[0]) if len(fences) == 1 else ""
    start = text.find("{")
    if start < 0:
        return ""
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        return ""
    return "" if "{" in text[end:] else text[start:end]
