"""The answer object in a model's text: found among other text, but never in a draft or a part."""

from __future__ import annotations

from pydantic import BaseModel, Field
from table import every_row

from hindsight_integrations.models.protocols import written_answer


class Verdict(BaseModel):
    """A schema for the tests."""

    answer: str = Field(min_length=1)


YES = '{"answer": "yes"}'


@every_row(
    "text",
    [
        YES,
        f"```json\n{YES}\n```",
        f"Sure, here it is:\n```\n{YES}\n```\nAnything else?",
        f'<think>Could be {{"answer": "no"}}. Or not.</think>\n{YES}',
        f'A template opened it. {{"answer": "no"}}</think>{YES}',
        f"<THINK>hm</THINK>```json\n{YES}\n```",
        f"<think>a</think><think>b</think>{YES}",
        f"The answer is {YES}, as you see.",
    ],
    ids=["bare", "fence", "talk", "thinking", "half-open", "both", "twice", "sentence"],
)
def test_what_stands_around_an_answer_costs_no_second_call(text: str) -> None:
    """Reasoning, code fences and small talk are removed; a draft within the reasoning is not the answer."""
    found = written_answer(Verdict, text)
    assert found is not None
    assert found.answer == "yes"


@every_row(
    "text",
    [
        "",
        "no idea",
        '{"answer": "ye',
        f"<think>{YES} but let me think on",
        f"{YES} or {YES}",
        f"```json\n{YES}\n```\n```json\n{YES}\n```",
        '{"answer": ""}',
        '{"other": 1}',
        "[1, 2]",
        '{"a": ' * 5000,
    ],
    ids=["nothing", "prose", "cut", "endless", "two", "fences", "empty", "other", "list", "deep"],
)
def test_a_doubt_is_no_answer(text: str) -> None:
    """Truncated or ambiguous answers, and those outside the schema or only in the reasoning, are requested again."""
    assert written_answer(Verdict, text) is None
