"""The ways of asking a service for a structured answer: what it refuses it is not asked again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from enum import Enum, StrEnum
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import FeatureUnsupported
from hindsight_integrations.ports.language_model import Prompt, TextPrompt

T = TypeVar("T", bound=BaseModel)

logger = logging.getLogger("hindsight_integrations")

InWords: TypeAlias = "Callable[[Prompt[T]], Prompt[T]]"
"""A prompt with its schema among the messages, for a service that takes none."""


class Way(Enum):
    """How a service is asked for a structured answer, the surest first."""

    SCHEMA = "response_format json_schema"  # or whatever is the client's own way
    TOOL = "a tool call"
    WORDS = "JSON in the prompt"


class Extra(StrEnum):
    """What of a prompt a request may say besides messages and schema, by the field of OpenAI's protocol."""

    MOST_TOKENS = "max_completion_tokens"
    TEMPERATURE = "temperature"


_OF_PROMPT = {Extra.MOST_TOKENS: "most_tokens", Extra.TEMPERATURE: "temperature"}


class StructuredWays:
    """How a service is asked at present. Safe from many threads: calls at once step down together.

    Args:
        name: the model's, for the log.
        ways: those there are, the first first; at least one.
        sends: what of a prompt goes along besides messages and schema.
    """

    def __init__(self, name: str, ways: Sequence[Way], sends: Collection[Extra] = ()) -> None:
        self._name = name
        self._ways = ways
        self._now = ways[0], frozenset(sends)
        self._choosing = threading.Lock()

    @property
    def now(self) -> tuple[Way, frozenset[Extra]]:
        """The way, and what goes along."""
        return self._now

    def step_down(self, asked: tuple[Way, frozenset[Extra]], error: FeatureUnsupported) -> None:
        """Ask in the next way from now on, or without what was refused.

        Args:
            asked: what `now` was when the service refused.
            error: its refusal.

        Raises:
            FeatureUnsupported: the error given, if there is no next way.
        """
        with self._choosing:
            if self._now != asked:
                return  # another call has just done so
            way, sends = asked
            if refused := [extra for extra in sends if extra in error.reason]:
                self._now = way, sends - {*refused}
                logger.warning(
                    "model %s: its service refuses %s, which is not sent any more",
                    self._name,
                    refused[0].value,
                )
                return
            rest = self._ways[self._ways.index(way) + 1 :]
            if not rest:
                raise error
            self._now = rest[0], sends
            logger.warning(
                "model %s: its service refuses %s; it is asked by %s from now on",
                self._name,
                way.value,
                rest[0].value,
            )


def said_along(prompt: Prompt[T] | TextPrompt, sends: Collection[Extra]) -> dict[str, Any]:
    """What of a prompt goes along, by the field of the request."""
    return {extra.value: getattr(prompt, _OF_PROMPT[extra]) for extra in sends}
