"""Options of recall and reflect that a tool or a component is given once for all of its calls, checked when it is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hindsight_integrations.bank.memory_bank import AsyncMemoryBank
from hindsight_integrations.errors import InvalidRequest, shown

RECALL_OPTIONS = frozenset(inspect.signature(AsyncMemoryBank.recall).parameters) - {
    "self",
    "query",
    "embedding",
    "max_tokens",
}
"""Options of `bank.recall` that hold for every question."""

REFLECT_OPTIONS = frozenset(inspect.signature(AsyncMemoryBank.reflect).parameters) - {
    "self",
    "query",
    "operation",
}
"""Options of `bank.reflect` that hold for every question; `operation` is the key of one."""


@dataclass(frozen=True, slots=True)
class RecallDefaults:
    """What an integration asks of `bank.recall` where its caller says nothing (docs/integrations.md).

    Attributes:
        include_core: with core memory, and all of a small bank.
        max_tokens: what the texts may cost.
        budget: effort of recall.
        text: which form of each memory.
        relevance: how far down the ranking; no line of a prompt is spent on filler.
        include_records: with the complete table where a question asks over a kind of record.
    """

    include_core: bool
    max_tokens: int
    budget: str
    text: str = "compact"
    relevance: str = "likely"
    include_records: bool = True


UNASKED = RecallDefaults(include_core=True, max_tokens=2048, budget="low")
"""Where memory is written into a prompt unasked: recall node, middleware, HindsightMemory, HindsightMemoryBlock."""

SEARCHED = RecallDefaults(include_core=False, max_tokens=4096, budget="mid")
"""Where a program looks memories up: retrievers."""

CALLED = RecallDefaults(include_core=False, max_tokens=2048, budget="mid")
"""Where a model looks them up: tools."""

COUNTED: Mapping[str, Any] = MappingProxyType(
    {"text": "compact", "relevance": "all", "include_records": False, "include_core": False}
)
"""In all of them where `k` memories are asked for: so many, in the order of the ranking, and nothing beside them."""


def with_defaults(given: Mapping[str, Any], defaults: RecallDefaults) -> dict[str, Any]:
    """The options of an integration's recalls: the caller's, and its defaults for what the caller leaves out or gives as None.

    Args:
        given: options of `bank.recall` by their names, checked by it.
        defaults: of the integration.
    """
    own = {name: getattr(defaults, name) for name in COUNTED} if given.get("k") is None else COUNTED
    return {**own, **{name: value for name, value in given.items() if name not in own or value is not None}}


def checked_tokens(given: object, field: str, *, least: int, most: int | None = None) -> int:
    """A number of tokens in its range.

    Raises:
        InvalidRequest: it is none, or out of range.
    """
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):  # type: ignore[operator]
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise InvalidRequest(
            field, f"{shown(given)} is not a number of tokens", f"Pass a whole number, {bounds}."
        )
    return given  # type: ignore[return-value]


def checked_recall_options(given: object) -> dict[str, Any]:
    """Options of `bank.recall` by their names; their values are checked by it.

    Raises:
        InvalidRequest: it is no mapping, or has an option that recall has not, or that is another for each turn.
    """
    return _checked_options(given, "recall_options", RECALL_OPTIONS, 'of recall, as {"k": 5}')


def checked_reflect_options(given: object) -> dict[str, Any]:
    """Options of `bank.reflect` by their names; their values are checked by it.

    Raises:
        InvalidRequest: it is no mapping, or has an option that reflect has not, or that is another for each question.
    """
    return _checked_options(
        given, "reflect_options", REFLECT_OPTIONS, 'of reflect, as {"strategy": "agentic"}'
    )


def _checked_options(given: object, field: str, known: frozenset[str], example: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidRequest(field, f"{shown(given)} is not a mapping", f"Pass options {example}.")
    if unknown := sorted(str(name) for name in given if name not in known):
        raise InvalidRequest(
            field, f"{shown(unknown[0])} is not among them", f"Use some of {', '.join(sorted(known))}."
        )
    return dict(given)
