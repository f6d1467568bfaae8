"""Validation of option names, and the recall defaults of each kind of integration."""

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
"""Recall options that an integration may set for all questions; `embedding` is specific to one question."""

STANDING_REFLECT: Final = REFLECT_DEFAULTS.keys() - {"operation"}
"""Reflect options that an integration may set for all questions; `operation` identifies one reflection."""

PROMPT_DEFAULTS: Final[RecallOptions] = {
    "max_tokens": 2048,
    "budget": "low",
    "text": "compact",
    "relevance": "likely",  # omits weak matches, which would waste the prompt's tokens
    "include_records": True,
    "include_core": True,
}
"""Defaults for memory in prompts: recall node, middleware, HindsightMemory and HindsightMemoryBlock."""

SEARCH_DEFAULTS: Final[RecallOptions] = {
    **PROMPT_DEFAULTS,
    "max_tokens": 4096,
    "budget": "mid",
    "include_core": False,
}
"""Defaults for searches by programs: retrievers."""

TOOL_DEFAULTS: Final[RecallOptions] = {**SEARCH_DEFAULTS, "max_tokens": 2048}
"""Defaults for searches by models: tools."""

WITH_K: Final[RecallOptions] = {
    "text": "compact",
    "relevance": "all",
    "include_records": False,
    "include_core": False,
}
"""Overrides of the defaults above if `k` is set: exactly the best `k` memories, without records or core memory."""

SEARCH_WITH_K: Final[RecallOptions] = {**WITH_K, "max_tokens": MAX_TOKENS}
"""Overrides for retrievers if `k` is set, which remove the token budget as well."""


def with_defaults(
    options: Mapping[str, Any], defaults: RecallOptions, with_k: RecallOptions = WITH_K
) -> RecallOptions:
    """Return an integration's recall options: the caller's options, with defaults for missing ones and for None.

    Args:
        options: the caller's options; `bank.recall` validates their values.
        defaults: the integration's defaults.
        with_k: overrides of the defaults if `k` is set.
    """
    own: dict[str, Any] = {**defaults, **({} if options.get("k") is None else with_k)}
    chosen = {name: value for name, value in options.items() if value is not None or name not in own}
    return cast("RecallOptions", {**own, **chosen})


def accept_options(
    options: Mapping[str, Any], known: Collection[str], field: str | None = None
) -> dict[str, Any]:
    """Check the names of options, and convert iterators to tuples, so that they can be used repeatedly.

    Args:
        options: the caller's options.
        known: the valid names.
        field: the argument that contains them; None if they are arguments themselves.

    Raises:
        InvalidRequest: a name is unknown; the error suggests the closest valid one.
    """
    if unknown := [str(name) for name in options if name not in known]:
        nearest = get_close_matches(unknown[0], known, 1)
        hint = f"Did you mean {nearest[0]!r}? " if nearest else ""
        listed = f"{hint}Valid options: {', '.join(sorted(known))}."
        if field is None:
            raise InvalidRequest(unknown[0], "unknown option", listed)
        raise InvalidRequest(field, f"{shown(unknown[0])} is an unknown option", listed)
    return {name: tuple(value) if isinstance(value, Iterator) else value for name, value in options.items()}


def checked_recall_options(options: object) -> dict[str, Any]:
    """Check the names in an integration's `recall_options`; `bank.recall` validates the values.

    Raises:
        InvalidRequest: the value is not a mapping, or an option is unknown or specific to one question.
    """
    return _checked_mapping(
        options, "recall_options", STANDING_RECALL - {"max_tokens"}, 'of recall, such as {"k": 5}'
    )


def checked_reflect_options(options: object) -> dict[str, Any]:
    """Check the names in an integration's `reflect_options`; `bank.reflect` validates the values.

    Raises:
        InvalidRequest: the value is not a mapping, or an option is unknown or specific to one question.
    """
    return _checked_mapping(
        options, "reflect_options", STANDING_REFLECT, 'of reflect, such as {"strategy": "agentic"}'
    )


def _checked_mapping(options: object, field: str, known: Collection[str], example: str) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidRequest(field, f"{shown(options)} is not a mapping", f"Pass options {example}.")
    return accept_options(options, known, field)
