"""Token counts and truncation in the raw answers of services, as passed on by LlamaIndex's clients."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace as Having
from typing import Any

import pytest
from table import every_row

from hindsight_integrations.models.llamaindex import is_cut_off, tokens_of


class FinishReason(Enum):
    """A finish reason as in Google's client, with an arbitrary value."""

    STOP = 1
    MAX_TOKENS = 2


OPENAI = Having(
    choices=[Having(finish_reason="length", message=None)],
    usage=Having(prompt_tokens=11, completion_tokens=7),
)
RESPONSES = Having(
    status="incomplete",
    incomplete_details=Having(reason="max_output_tokens"),
    usage=Having(input_tokens=11, output_tokens=7),
)
ANTHROPIC = {"stop_reason": "max_tokens", "usage": Having(input_tokens=11, output_tokens=7)}
BEDROCK = {"stopReason": "max_tokens", "usage": {"inputTokens": 11, "outputTokens": 7}}
GEMINI = {
    "finish_reason": FinishReason.MAX_TOKENS,
    "usage_metadata": {"prompt_token_count": 11, "candidates_token_count": 7},
}
OLLAMA = {"done_reason": "length", "prompt_eval_count": 11, "eval_count": 7}


@every_row(
    "answer",
    [OPENAI, RESPONSES, ANTHROPIC, BEDROCK, GEMINI, OLLAMA],
    ids=["openai", "responses", "anthropic", "bedrock", "gemini", "ollama"],
)
def test_services_tell_their_tokens_and_that_they_were_cut_off(answer: Any) -> None:
    """Tokens and truncation are read from every service's format."""
    assert tokens_of(answer) == (11, 7)
    assert is_cut_off(answer)


@pytest.mark.parametrize(
    "piece",
    [
        {"delta": Having(stop_reason="max_tokens"), "type": "message_delta"},
        {"messageStop": {"stopReason": "max_tokens"}},
    ],
    ids=["anthropic", "bedrock"],
)
def test_streams_tell_it_in_their_last_piece(piece: Any) -> None:
    """In a stream, the last event has the finish reason."""
    assert is_cut_off(piece)


@every_row(
    "answer",
    [
        None,
        "text",
        {},
        {"choices": []},
        {"choices": None, "usage": None},
        {"finish_reason": FinishReason.STOP},
        Having(choices=[Having(finish_reason="stop", delta=Having(content="length"))], usage=None),
        {"usage": {"prompt_tokens": None}, "stop_reason": "end_turn"},
    ],
    ids=str,
)
def test_what_is_not_said_is_not_guessed(answer: Any) -> None:
    """Without information an answer has no tokens and is complete."""
    assert tokens_of(answer) == (0, 0)
    assert not is_cut_off(answer)


def test_tokens_may_stand_beside_the_answer() -> None:
    """Token counts outside the raw answer are read too."""
    assert tokens_of(None, {"prompt_tokens": 11, "completion_tokens": 7}) == (11, 7)
