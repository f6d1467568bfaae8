"""What an item of a LangGraph store is found by: texts at paths of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import get_text_at_path, tokenize_path

WHOLE = "$"

Paths = Sequence[str] | Literal[False]


def item_texts(value: Mapping[str, Any], paths: Paths) -> tuple[str, ...]:
    """The texts at these paths, in order; "$" is the whole value in readable lines. False and no path give none."""
    if paths is False:
        return ()
    return tuple(
        text
        for path in paths
        for text in ([readable(value)] if path == WHOLE else get_text_at_path(value, tokenize_path(path)))
        if text
    )


def readable(value: Mapping[str, Any]) -> str:
    """A value as a reader would write it down: a line for each text or number in it, with the name it has.

    Braces and quotes mean nothing to an embedder, and a value that is one text alone is that text.
    """
    lines = list(_lines(value, ""))
    return (
        lines[0][1]
        if len(lines) == 1
        else "\n".join(f"{name}: {text}" if name else text for name, text in lines)
    )


def _lines(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _lines(each, str(key))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _lines(each, name)
    elif value is not None and value != "":
        yield name, str(value)
