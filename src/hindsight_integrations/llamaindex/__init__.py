"""Long-term memory for LlamaIndex: a retriever over a memory bank.

Importing this package does not import LlamaIndex; using a name does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hindsight_integrations.errors import MissingDependency

if TYPE_CHECKING:
    from hindsight_integrations.llamaindex.retriever import HindsightRetriever

__all__ = ["HindsightRetriever"]

_HOME_OF = {"HindsightRetriever": "retriever"}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "llama_index":
            raise
        remedy = 'Run: pip install "hindsight-integrations[llamaindex]"'
        raise MissingDependency("llama-index-core", remedy) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
