"""Which namespaces a listing of LangGraph's asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from langgraph.store.base import ListNamespacesOp, MatchCondition

Namespace = tuple[str, ...]

ANY = "*"


def widest_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """The longest labels all that match begin with, as far as a condition on prefixes says it before its first "*"."""
    known = [
        tuple(takewhile(lambda label: label != ANY, condition.path))
        for condition in conditions
        if condition.match_type == "prefix"
    ]
    return max(known, key=len, default=())


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """The page an operation asks for: those that meet all conditions, cut to a depth, each once, in order."""
    conditions = op.match_conditions or ()
    found = [each for each in namespaces if all(_matches(each, condition) for condition in conditions)]
    cut = sorted({each[: op.max_depth] for each in found} if op.max_depth is not None else found)
    return cut[op.offset : op.offset + op.limit]


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    ends = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return _alike(ends, path)


def _alike(labels: Sequence[str], path: Sequence[str]) -> bool:
    return all(wanted in (ANY, label) for label, wanted in zip(labels, path, strict=True))
