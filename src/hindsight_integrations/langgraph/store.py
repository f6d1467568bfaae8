"""HindsightStore: a LangGraph store over a memory bank, with exact lookup by key and hybrid search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import takewhile
from operator import methodcaller
from typing import Any, Literal

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from hindsight_integrations import (
    AsyncHindsight,
    AsyncMemoryBank,
    FoundItem,
    Hindsight,
    InvalidRequest,
    ItemDelete,
    ItemPut,
    MemoryBank,
)
from hindsight_integrations import Item as StoredItem
from hindsight_integrations.errors import shown
from hindsight_integrations.langgraph.bank_finder import AnyMemory
from hindsight_integrations.validation.items import checked_item_filter
from hindsight_integrations.validation.limits import checked_count

WHOLE = "$"
STORE = "store"  # default bank name
Paths = Sequence[str] | Literal[False]
MOST_MINUTES = 1_000 * 365 * 24 * 60.0  # a thousand years

Call = Callable[[Any], Any]
"""Function that calls the `items` namespace of a sync or async bank."""

StoreStep = tuple[Call, Callable[[Any], None]]
"""A call, and the function to which its result is passed."""


class HindsightStore(BaseStore):
    """Items in one bank, for `compile(store=...)`, `create_agent(store=...)`, tools and Agent Server.

    store = HindsightStore(engine)
    store.put(("memories", "alice"), "food", {"text": "Alice likes red apples."})
    store.search(("memories", "alice"), query="what does she eat?")

    All namespaces of a store share one bank, so a search under any prefix gives a single ranking. To isolate tenants,
    create a store per tenant, each with its own bank. Labels must not contain dots: encode e-mail addresses with
    `namespace_label`.

    The store may be used from any number of threads and event loops at once, sync and async. It opens the bank at the
    first call, and does not close the engine.

    Args:
        memory: a sync or async engine or bank.
        bank: with an engine: the bank's name; the bank is created at the first call.
        index: paths in a value whose texts are searchable, unless a put names other paths; "$" is the whole value. With
            False or no path, items are listed but never match a query.
        ttl: LangGraph's TTL configuration: `default_ttl` (minutes), `refresh_on_read`. Expired items are hidden regardless
            of `omit_expired`, and erased by `settle`, a worker or `sweep_ttl`.

    Raises:
        InvalidRequest: `memory` is neither an engine nor a bank; `bank` is given although `memory` is a bank; `index` is
            not a list of paths; or `ttl` is not a configuration or its default is not positive.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        bank: str | None = None,
        index: Paths = (WHOLE,),
        ttl: TTLConfig | None = None,
    ) -> None:
        if not isinstance(memory, AnyMemory):
            raise InvalidRequest(
                "memory",
                f"{type(memory).__name__} is neither an engine nor a bank",
                "Pass a sync or async engine or bank.",
            )
        if bank is not None and isinstance(memory, MemoryBank | AsyncMemoryBank):
            raise InvalidRequest("bank", "`memory` is already a bank", "Omit bank.")
        self._memory, self._name = memory, STORE if bank is None else bank
        self._index = _checked_paths(index, "index")
        self.ttl_config = _checked_ttl_config(ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations; reads see the state before the batch, and the last put for a key wins.

        Args:
            ops: LangGraph operations.

        Raises:
            InvalidRequest: an operation is invalid; nothing was written.
            InvalidNamespaceError: LangGraph does not allow a label; nothing was written.
            HindsightError: the bank cannot be read or written.
        """
        steps, results = self._planned(list(ops))
        items = self._bank().items
        for call, place in steps:
            place(call(items))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations, asynchronously; see `batch`.

        Args:
            ops: LangGraph operations.
        """
        steps, results = self._planned(list(ops))
        items = (await self._abank()).items
        for call, place in steps:
            place(await call(items))
        return results

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store or update an item, see LangGraph's `BaseStore.put`; the error for a label with a dot names the remedy."""
        with _dots_explained():
            super().put(namespace, key, value, index, ttl=ttl)

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store or update an item, asynchronously; see `put`."""
        with _dots_explained():
            await super().aput(namespace, key, value, index, ttl=ttl)

    def forget(self, namespace: tuple[str, ...], key: str | None = None) -> int:
        """Erase an item, or all items under a prefix, and scrub them from all files; return the number erased.

        Args:
            namespace: the item's namespace, or the prefix.
            key: the item's key; None erases all items whose namespace starts with these labels.
        """
        return self._bank().items.forget(namespace, key)

    async def aforget(self, namespace: tuple[str, ...], key: str | None = None) -> int:
        """Erase an item or all items under a prefix, asynchronously; see `forget`.

        Args:
            namespace: the item's namespace, or the prefix.
            key: the item's key; None erases all items whose namespace starts with these labels.
        """
        return await (await self._abank()).items.forget(namespace, key)

    def sweep_ttl(self) -> int:
        """Erase expired items and scrub deleted ones from all files, as a worker does; return the number erased."""
        return self._bank().items.expire()

    async def asweep_ttl(self) -> int:
        """Erase expired items, asynchronously; see `sweep_ttl`."""
        return await (await self._abank()).items.expire()

    def _bank(self) -> MemoryBank:
        memory = self._memory
        if isinstance(memory, MemoryBank | AsyncMemoryBank):
            return memory if isinstance(memory, MemoryBank) else MemoryBank.over(memory)
        engine = memory if isinstance(memory, Hindsight) else Hindsight.over(memory)
        return engine.bank(self._name)

    async def _abank(self) -> AsyncMemoryBank:
        memory = self._memory
        if isinstance(memory, MemoryBank | AsyncMemoryBank):
            return memory if isinstance(memory, AsyncMemoryBank) else memory.asynchronous
        engine = memory if isinstance(memory, AsyncHindsight) else memory.asynchronous
        return await engine.bank(self._name)

    def _planned(self, ops: Sequence[Op]) -> tuple[list[StoreStep], list[Result]]:
        """Plan the calls on the bank's items, reads first and one write last; return them and the list of results."""
        for op in ops:
            _check_op(op)
        results: list[Result] = [None] * len(ops)
        steps = [*_gets(ops, results)]
        for at, op in enumerate(ops):
            if isinstance(op, SearchOp):
                steps.append((_search(op), partial(_place_found, results, at)))
            elif isinstance(op, ListNamespacesOp):
                prefix = widest_prefix(op.match_conditions or ())
                steps.append((methodcaller("namespaces", prefix), partial(_place_listed, results, at, op)))
        writes = [self._write(op) for op in ops if isinstance(op, PutOp)]
        if writes:
            steps.append((methodcaller("write", writes), lambda _: None))
        return steps, results

    def _write(self, op: PutOp) -> ItemPut | ItemDelete:
        namespace = tuple(op.namespace)
        if op.value is None:
            return ItemDelete(namespace, op.key)
        if not isinstance(op.value, Mapping):
            raise InvalidRequest("value", f"{type(op.value).__name__} is not a mapping", "Pass a dict.")
        paths = self._index if op.index is None else _checked_paths(op.index, "index")
        ttl = None if op.ttl is None else timedelta(minutes=_checked_minutes(op.ttl))
        return ItemPut(namespace, op.key, op.value, item_texts(op.value, paths), ttl)


def namespace_label(identity: str) -> str:
    """Encode an identity as a namespace label: "ann@example.com" becomes "ann@example%2Ecom". The encoding is reversible.

    Args:
        identity: any string, such as the id of a user, an agent or a tenant.
    """
    if not identity:
        return "%"
    label = identity.replace("%", "%25").replace(".", "%2E").replace("\0", "%00")
    return "%6C" + label[1:] if label == _RESERVED else label


def identity_of(label: str) -> str:
    """Decode a label created by `namespace_label`."""
    return _TOKEN.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", label)


_TOKEN = re.compile("%(25|2E|00|6C)|%$")
_RESERVED = "langgraph"  # LangGraph does not allow this as the first label


def item_texts(value: Mapping[str, Any], paths: Paths) -> tuple[str, ...]:
    """Return the texts at these paths, in order; "$" returns the whole value as readable lines, and False returns no texts."""
    if paths is False:
        return ()
    return tuple(
        text
        for path in paths
        for text in ([readable(value)] if path == WHOLE else get_text_at_path(value, tokenize_path(path)))
        if text
    )


def readable(value: Mapping[str, Any]) -> str:
    """Format a value as "name: text" lines, one per string or number; a value with a single entry is that entry's text.

    The text is embedded, and JSON's braces and quotes would add noise.
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


Namespace = tuple[str, ...]

ANY = "*"

MOST = 2**31  # largest limit, offset or depth


def check_listing(op: ListNamespacesOp) -> None:
    """Validate a listing of namespaces.

    Raises:
        InvalidRequest: a path is not a list of labels, or the limit, offset or depth is not a non-negative integer.
    """
    for condition in op.match_conditions or ():
        path: object = condition.path
        if not isinstance(path, tuple | list):
            raise InvalidRequest(
                "match_conditions", "each path must be a list of labels", 'Pass ("memories", "*").'
            )
    checked_count(op.limit, "limit", least=0, most=MOST)
    checked_count(op.offset, "offset", least=0, most=MOST)
    if op.max_depth is not None:
        checked_count(op.max_depth, "max_depth", least=0, most=MOST)


def widest_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the longest literal prefix, up to the first "*", that the prefix conditions require."""
    known = [
        tuple(takewhile(lambda label: label != ANY, condition.path))
        for condition in conditions
        if condition.match_type == "prefix"
    ]
    return max(known, key=len, default=())


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the requested page of the matching namespaces, truncated to max_depth, sorted and without duplicates."""
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
    return all(wanted in (ANY, label) for label, wanted in zip(ends, path, strict=True))


def _check_op(op: Op) -> None:
    """Reject operations that LangGraph does not allow, and a str as namespace, which would be split into characters."""
    if isinstance(op, GetOp | PutOp):
        labels: object = op.namespace
    elif isinstance(op, SearchOp):
        labels = op.namespace_prefix
    elif isinstance(op, ListNamespacesOp):
        check_listing(op)
        labels = ()
    else:
        raise InvalidRequest(
            "ops",
            f"{type(op).__name__} is not an operation",
            "Pass GetOp, PutOp, SearchOp or ListNamespacesOp.",
        )
    if not isinstance(labels, tuple | list):
        raise InvalidRequest(
            "namespace", f"{shown(labels)} is not a tuple of labels", 'Pass ("memories", "ann").'
        )
    validate_op_namespace(op)


def _gets(ops: Sequence[Op], results: list[Result]) -> Iterator[StoreStep]:
    """Yield one call for the reads that refresh the time to live, and one for the other reads."""
    for refresh in (False, True):
        at = [n for n, op in enumerate(ops) if isinstance(op, GetOp) and bool(op.refresh_ttl) is refresh]
        if at:
            keys = [(tuple(ops[n].namespace), ops[n].key) for n in at]  # type: ignore[union-attr]
            yield methodcaller("get", keys, refresh=refresh), partial(_place_got, results, at)


def _search(op: SearchOp) -> Call:
    return methodcaller(
        "search",
        tuple(op.namespace_prefix),
        query=op.query or "",
        where=checked_item_filter(op.filter),
        limit=op.limit,
        offset=op.offset,
        refresh=bool(op.refresh_ttl),
    )


def _place_got(results: list[Result], at: Sequence[int], found: Sequence[StoredItem | None]) -> None:
    for place, item in zip(at, found, strict=True):
        results[place] = None if item is None else Item(**_fields(item))


def _place_found(results: list[Result], at: int, found: Sequence[FoundItem]) -> None:
    results[at] = [SearchItem(**_fields(each.item), score=each.score) for each in found]


def _place_listed(
    results: list[Result], at: int, op: ListNamespacesOp, namespaces: Sequence[tuple[str, ...]]
) -> None:
    results[at] = listed(namespaces, op)


def _fields(item: StoredItem) -> dict[str, Any]:
    """Return the fields of LangGraph's `Item`."""
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _checked_paths(given: object, field: str) -> Paths:
    if given is False:
        return False
    if isinstance(given, Mapping):
        raise InvalidRequest(
            field,
            "LangGraph's IndexConfig is not supported, because the engine has its own embedder",
            "Pass the embedder to Hindsight.open(embeddings=...), and pass a list of paths here.",
        )
    if (
        isinstance(given, str)
        or not isinstance(given, list | tuple)
        or not all(isinstance(path, str) for path in given)
    ):
        raise InvalidRequest(
            field, f"{shown(given)} is not a list of paths", 'Pass ["$"], ["text", "notes[*].text"] or False.'
        )
    return tuple(given)


def _checked_ttl_config(given: TTLConfig | None) -> TTLConfig | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidRequest(
            "ttl", f"{shown(given)} is not a TTL configuration", 'Pass {"default_ttl": 60}, in minutes.'
        )
    if given.get("default_ttl") is not None:
        _checked_minutes(given["default_ttl"])
    return given


def _checked_minutes(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= MOST_MINUTES:
        raise InvalidRequest(
            "ttl",
            f"{shown(given)} is not a valid time to live",
            "Pass a positive number of minutes, or None for an item that does not expire.",
        )
    return given


@contextmanager
def _dots_explained() -> Iterator[None]:
    """Add the remedy to LangGraph's error for a label with a dot, such as an e-mail address."""
    try:
        yield
    except InvalidNamespaceError as error:
        if "periods" not in str(error):
            raise
        remedy = (
            "Use hindsight_integrations.langgraph.namespace_label(...) for labels such as e-mail addresses."
        )
        raise InvalidNamespaceError(f"{error} {remedy}") from None
