"""The systems under evaluation, this package included: one file each, all with the interface `MemorySystem`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec

from hindsight_evals.memory_system import Peer
from hindsight_integrations.errors import InvalidRequest, MissingDependency

RERANKED = "hindsight-reranked"

_HOMES: Mapping[str, tuple[str, str]] = {
    "hindsight": ("hindsight", "HINDSIGHT"),
    RERANKED: ("hindsight", "HINDSIGHT_RERANKED"),
    "plain-rrf": ("plain_rrf", "PLAIN_RRF"),
    "vectors-told-deletions": ("told_deletions", "TOLD_DELETIONS"),
    "full-context": ("full_context", "FULL_CONTEXT"),
    "chroma": ("chroma", "CHROMA"),
    "bm25s": ("bm25", "BM25"),
    "llamaindex-fusion": ("llamaindex_fusion", "LLAMAINDEX_FUSION"),
    "langgraph-memory": ("langgraph_memory", "LANGGRAPH_MEMORY"),
    "langgraph-sqlite": ("langgraph_sqlite", "LANGGRAPH_SQLITE"),
    "langmem": ("langmem", "LANGMEM"),
    "mem0": ("mem0", "MEM0"),
}
"""Module and name of each system, in the order of tables."""

_NEEDED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "bm25s": (("bm25s", "Stemmer"), "bm25s PyStemmer"),
    "llamaindex-fusion": (
        ("llama_index.core", "llama_index.retrievers.bm25"),
        "llama-index-core llama-index-retrievers-bm25",
    ),
    "langgraph-memory": (("langgraph",), "langgraph"),
    "langgraph-sqlite": (("langgraph.store.sqlite", "sqlite_vec"), "langgraph-checkpoint-sqlite"),
    "langmem": (("langmem",), "langmem"),
    "mem0": (("mem0", "qdrant_client", "posthog"), "mem0ai"),
}
"""Modules that must be importable, and what to install if one is missing."""


def names() -> tuple[str, ...]:
    """Return the names of all systems, in the order of tables."""
    return tuple(_HOMES)


def missing(name: str) -> str | None:
    """Return what to install for a system; None if everything is installed."""
    modules, install = _NEEDED.get(name, ((), ""))
    return None if all(_is_there(module) for module in modules) else install


def installed() -> Iterator[str]:
    """Yield the names of the installed systems."""
    return (name for name in _HOMES if missing(name) is None)


def peer(name: str) -> Peer:
    """Return a system by name.

    Raises:
        InvalidRequest: the name is unknown.
        MissingDependency: a package that it needs is not installed.
    """
    if name not in _HOMES:
        raise InvalidRequest("system", f"{name!r} is not a known system", f"Use one of: {', '.join(_HOMES)}.")
    if install := missing(name):
        raise MissingDependency(name, f"Run: pip install {install}")
    module, attribute = _HOMES[name]
    found: Peer = getattr(import_module(f"{__name__}.{module}"), attribute)
    return found


def _is_there(module: str) -> bool:
    """Return whether a module can be found; this imports the packages that contain it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
