"""Options of recall and reflect: names and values checked, and what each kind of integration asks for where its caller says nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.options import (
    RECALL_DEFAULTS,
    REFLECT_DEFAULTS,
    Embedding,
    RecallOptions,
)
from hindsight_integrations.model.requests import GivenScores, MinScores
from hindsight_integrations.validation.limits import MAX_QUERY, MAX_TOKENS, checked_list, checked_text

STANDING_RECALL: Final = RECALL_DEFAULTS.keys() - {"embedding"}
"""Options of recall that may hold for every question; a vector is of one."""

STANDING_REFLECT: Final = REFLECT_DEFAULTS.keys() - {"operation"}
"""Options of reflect that may hold for every question; `operation` is the key of one."""

PROMPT_DEFAULTS: Final[RecallOptions] = {
    "max_tokens": 2048,
    "budget": "low",
    "text": "compact",
    "relevance": "likely",  # no line of a prompt is spent on filler
    "include_records": True,
    "include_core": True,
}
"""Where memory is written into a prompt unasked: recall node, middleware, HindsightMemory, HindsightMemoryBlock."""

SEARCH_DEFAULTS: Final[RecallOptions] = {
    **PROMPT_DEFAULTS,
    "max_tokens": 4096,
    "budget": "mid",
    "include_core": False,
}
"""Where a program looks memories up: retrievers."""

TOOL_DEFAULTS: Final[RecallOptions] = {**SEARCH_DEFAULTS, "max_tokens": 2048}
"""Where a model looks them up: tools."""

WITH_K: Final[RecallOptions] = {
    "text": "compact",
    "relevance": "all",
    "include_records": False,
    "include_core": False,
}
"""In all of them where `k` memories are asked for: so many, in the order of the ranking, and nothing beside them."""

SEARCH_WITH_K: Final[RecallOptions] = {**WITH_K, "max_tokens": MAX_TOKENS}
"""The same of retrievers, which then have no token budget of their own."""


def with_defaults(
    options: Mapping[str, Any], defaults: RecallOptions, with_k: RecallOptions = WITH_K
) -> RecallOptions:
    """The options of an integration's recall: the caller's, and its defaults for what the caller leaves out or gives as None.

    Args:
        options: of `bank.recall`, which checks their values.
        defaults: of the integration.
        with_k: what differs from them where `k` is given.
    """
    own: dict[str, Any] = {**defaults, **({} if options.get("k") is None else with_k)}
    given = {name: value for name, value in options.items() if value is not None or name not in own}
    return cast("RecallOptions", {**own, **given})


def accept_options(
    options: Mapping[str, Any], known: Collection[str], field: str | None = None
) -> dict[str, Any]:
    """Options by their names, iterators made into tuples, so that they serve for more than one call.

    Args:
        options: as the caller gave them.
        known: names that may be given.
        field: the argument that holds them; None where they are arguments themselves.

    Raises:
        InvalidRequest: a name is not among them; the error says which one is nearest.
    """
    if unknown := [str(name) for name in options if name not in known]:
        nearest = get_close_matches(unknown[0], known, 1)
        hint = f"Did you mean {nearest[0]!r}? " if nearest else ""
        listed = f"{hint}Use some of {', '.join(sorted(known))}."
        if field is None:
            raise InvalidRequest(unknown[0], "unknown option", listed)
        raise InvalidRequest(field, f"{shown(unknown[0])} is not among them", listed)
    return {name: tuple(value) if isinstance(value, Iterator) else value for name, value in options.items()}


def checked_recall_options(options: object) -> dict[str, Any]:
    """The `recall_options` of an integration, beside its query and max_tokens; `bank.recall` checks their values.

    Raises:
        InvalidRequest: it is not a mapping, or has an option that recall does not have or that differs by question.
    """
    return _checked_mapping(
        options, "recall_options", STANDING_RECALL - {"max_tokens"}, 'of recall, as {"k": 5}'
    )


def checked_reflect_options(options: object) -> dict[str, Any]:
    """The `reflect_options` of an integration, beside its query; `bank.reflect` checks their values.

    Raises:
        InvalidRequest: it is not a mapping, or has an option that reflect does not have or that differs by question.
    """
    return _checked_mapping(
        options, "reflect_options", STANDING_REFLECT, 'of reflect, as {"strategy": "agentic"}'
    )


def _checked_mapping(options: object, field: str, known: Collection[str], example: str) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidRequest(field, f"{shown(options)} is not a mapping", f"Pass options {example}.")
    return accept_options(options, known, field)


def checked_tokens(tokens: object, field: str, *, least: int, most: int | None = None) -> int:
    """A number of tokens in its range.

    Raises:
        InvalidRequest: it is not a whole number, or out of range.
    """
    if (
        not isinstance(tokens, int)
        or isinstance(tokens, bool)
        or tokens < least
        or (most is not None and tokens > most)
    ):
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise InvalidRequest(
            field, f"{shown(tokens)} is not a number of tokens", f"Pass a whole number, {bounds}."
        )
    return tokens


MAX_OPERATION = 512  # characters of the key of a reflection


def checked_schema(given: object) -> type[BaseModel] | None:
    """The pydantic model of a typed answer; None stays None.

    Raises:
        InvalidRequest: it is no pydantic model class.
    """
    if given is None:
        return None
    if not isinstance(given, type) or not issubclass(given, BaseModel):
        raise InvalidRequest(
            "response_schema", f"{shown(given)} is not a pydantic model", "Pass a subclass of BaseModel."
        )
    return given


def checked_tools(given: object) -> tuple[Callable[..., object], ...]:
    """The caller's tools; None means none.

    Raises:
        InvalidRequest: it is not a list, or one of them cannot be called.
    """
    found = [] if given is None else checked_list(given, "tools")
    for each in found:
        if not callable(each) and not callable(getattr(each, "ainvoke", None)):  # LangChain's tools
            reason = f"{shown(each)} cannot be called"
            raise InvalidRequest("tools", reason, "Pass functions or LangChain tools.")
    return tuple(found)


UNIT = 1e-5  # how far from 1 the length of a unit vector in float32 may be
MAX_EMBEDDED = 64  # texts embedded in place of one question

_REMEDY = (
    "Pass a vector of numbers made by the bank's embedder for a question, or texts to embed in its place."
)


def checked_embedding(given: Embedding) -> tuple[float, ...] | tuple[str, ...]:
    """A unit vector, or texts to embed; empty where the question itself is to be embedded.

    Args:
        given: as the caller wrote it. Whether its dimension is the embedder's is seen where the embedder is known.

    Raises:
        InvalidRequest: it is neither a vector with a direction nor a list of texts.
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
        raise InvalidRequest("embedding", f"{type(given).__name__} is not a vector", _REMEDY)
    if any(isinstance(item, str) for item in given):
        if len(given) > MAX_EMBEDDED:
            raise InvalidRequest(
                "embedding", f"it has {len(given)} texts, over {MAX_EMBEDDED}", "Pass fewer."
            )
        return tuple(checked_text(text, f"embedding[{n}]", MAX_QUERY) for n, text in enumerate(given))
    return _unit_vector(given)


def _unit_vector(given: Sequence[Any] | npt.NDArray[Any]) -> tuple[float, ...]:
    try:
        vector = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise InvalidRequest("embedding", "its numbers are not a single row", _REMEDY) from None
    if vector.ndim != 1 or not vector.size or vector.dtype.kind not in "fiu":
        raise InvalidRequest("embedding", "it is not a row of numbers", _REMEDY)
    vector = vector.astype(np.float64)
    if not np.isfinite(vector).all():
        raise InvalidRequest("embedding", "it has NaN or infinite numbers", _REMEDY)
    largest = np.abs(vector).max()
    if not largest:
        raise InvalidRequest("embedding", "it is all zeros, which has no direction", _REMEDY)
    scaled = vector / largest  # first, so that no square overflows or vanishes
    length = float(np.linalg.norm(scaled)) * largest
    if abs(length - 1) < UNIT:  # as the embedder gave it: the last bits decide between memories equally near
        return tuple(vector.tolist())
    return tuple((scaled / np.linalg.norm(scaled)).tolist())


class _Thresholds(BaseModel):
    """What each stage can give; bools and numeric strings are no numbers here."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    semantic: float | None = Field(None, ge=-1, le=1, description="a number from -1 to 1")
    keyword: float | None = Field(None, ge=0, description="a number from 0 to inf")
    reranker: float | None = Field(None, ge=0, le=1, description="a number from 0 to 1")
    final: float | None = Field(None, description="a number from -inf to inf")


def checked_min_scores(given: GivenScores) -> MinScores:
    """Thresholds as a typed value.

    Args:
        given: MinScores or a mapping of stages to thresholds; None lets everything through.

    Raises:
        InvalidRequest: a stage is not known, or a threshold is no number that stage can give.
    """
    if given is None:
        return MinScores()
    if not isinstance(given, MinScores | Mapping):
        raise InvalidRequest(
            "min_scores", f"{shown(given)} is not a mapping", 'Pass MinScores or {"reranker": 0.3}.'
        )
    values = asdict(given) if isinstance(given, MinScores) else dict(given)
    try:
        return MinScores(**_Thresholds.model_validate(values).model_dump())
    except ValidationError as error:
        problem = error.errors()[0]
        stage, value = problem["loc"][0] if problem["loc"] else next(iter(values), ""), problem["input"]
    stages = _Thresholds.model_fields
    if stage not in stages:
        raise InvalidRequest("min_scores", f"{shown(stage)} is not a stage", f"Use: {', '.join(stages)}.")
    expected = stages[str(stage)].description
    raise InvalidRequest(f"min_scores.{stage}", f"{shown(value)} is not {expected}", "Choose one there.")
