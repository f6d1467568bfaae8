"""Names of options checked, and what each kind of integration asks of `bank.recall` where its caller says nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.options import (
    RECALL_DEFAULTS,
    REFLECT_DEFAULTS,
    RecallOptions,
)
from hindsight_integrations.validation.limits import MAX_TOKENS

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
