"""What a model may say when it calls a tool of memory. Never whose memory it is: that is the run's."""

# No `from __future__ import annotations`: see memories.py.

from datetime import date, timedelta
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SkipValidation

from hindsight_integrations.model.aggregates import Aggregation
from hindsight_integrations.prompts.memory_tools import tool_descriptions

LONGEST_WORD = 512  # characters of a kind, a category or an id
FIRST_DAY, LAST_DAY = (
    date(1000, 1, 1),
    date(9000, 1, 1),
)  # where no bound is given; no time zone leads out of datetime

# Put in by ToolNode and hidden from the model. Not validated, or pydantic would build one of what a model wrote; not
# dumped either, since it holds the whole state.
Injected = Annotated[Any, SkipValidation, InjectedToolArg, PlainSerializer(lambda _: None)]


def _described(name: str, default: Any = ..., **bounds: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    return Field(default, description=tool_descriptions()[name], **bounds)


class Arguments(BaseModel):
    """Arguments of a tool; what they do not name is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=False)


class RetainArguments(Arguments):
    """What to keep."""

    content: str = _described("content", min_length=1)
    runtime: Injected = None


class RecallArguments(Arguments):
    """What to look for."""

    query: str = _described("query", min_length=1)
    runtime: Injected = None


class ReflectArguments(Arguments):
    """What to answer."""

    question: str = _described("question", min_length=1)
    runtime: Injected = None


class ForgetArguments(Arguments):
    """What to forget."""

    memory_id: str = _described("memory_id", min_length=1, max_length=LONGEST_WORD)
    runtime: Injected = None


class EraseArguments(Arguments):
    """What to forget, or to erase."""

    memory_id: str = _described("memory_id", min_length=1, max_length=LONGEST_WORD)
    erase: bool = _described("erase", False)
    runtime: Injected = None


class RecordsArguments(Arguments):
    """Which records, of which time, and what to make of them."""

    kind: str | None = _described("kind", None, max_length=LONGEST_WORD)
    category: str | None = _described("category", None, max_length=LONGEST_WORD)
    start: date | None = _described("start", None)
    end: date | None = _described("end", None)
    how: Aggregation | None = _described("how", None)
    runtime: Injected = None


def window(start: date | None, end: date | None) -> tuple[str, str] | None:
    """The days from the first to the last as `bank.records` takes them; None where there is no limit."""
    if start is None and end is None:
        return None
    first = max(start or FIRST_DAY, FIRST_DAY)
    last = min(end or LAST_DAY, LAST_DAY)
    return first.isoformat(), (last + timedelta(days=1)).isoformat()
