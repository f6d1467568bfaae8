"""Which namespaces a listing of LangGraph's asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from langgraph.store.base import ListNamespacesOp, MatchCondition

from hindsight_integrations import InvalidRequest
from hindsight_integrations.validation.limits import checked_count

Namespace = tuple[str, ...]

ANY = "*"

MOST = 2**31  # namespaces of a page: a larger number is a slip


def check_listing(op: ListNamespacesOp) -> None:
    """Refuse what a listing of namespaces cannot be asked for.

    Raises:
        InvalidRequest: a path is no list of labels, or the limit, offset or depth is no count.
    """
    for condition in op.match_conditions or ():
        path: object = condition.path
        if not isinstance(path, tuple | list):
            raise InvalidRequest("match_conditions", "a path is no list of labels", 'Pass ("memories", "*").')
    checked_count(op.limit, "limit", least=0, most=MOST)
    checked_count(op.offset, "offset", least=0, most=MOST)
    if op.max_depth is not None:
        checked_count(op.max_depth, "max_depth", least=0, most=MOST)


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
