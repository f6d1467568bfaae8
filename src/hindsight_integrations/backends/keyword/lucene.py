"""BM25 by Lucene through Pyserini: one index per bank under `<data>/lucene/<bank key>`.

Scores are Lucene's BM25: idf * tf / (tf + k1 * (1 - b + b * length / average length)), idf = ln(1 + (N - n + 0.5) /
(n + 0.5)). Since Lucene 8 the constant factor (k1 + 1) of the textbook is left out; it changes no ranking. Lengths up
to 40 words are exact, longer ones are kept to three or four significant bits.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hindsight_integrations.backends.keyword.java import JavaFailure, run_on_java_thread
from hindsight_integrations.backends.keyword.lucene_store import LuceneStore, open_directory
from hindsight_integrations.backends.keyword.store_pool import KeywordStore, KeywordStores
from hindsight_integrations.errors import IndexOutOfStep, LedgerBusy

T = TypeVar("T")

LOCKED = "org.apache.lucene.store.LockObtainFailedException"


class LuceneKeywords(KeywordStores):
    """The Lucene indexes of one engine. All engines of a process share one JVM and one Java thread."""

    index_name = "Lucene"
    folder_name = "lucene"

    def _serially(self, bank_key: str, work: Callable[[], T]) -> T:
        try:
            return run_on_java_thread(work)
        except (JavaFailure, OSError) as failure:
            if isinstance(failure, JavaFailure) and failure.class_name == LOCKED and self._folder:
                raise LedgerBusy(self._folder / bank_key, None) from failure
            raise IndexOutOfStep(self.index_name, bank_key, str(failure)) from failure

    def _open_store(self, bank_key: str) -> KeywordStore:
        return LuceneStore(self._path(bank_key))

    def _erase(self, bank_key: str) -> None:
        path = self._path(bank_key)
        if path is not None and path.exists():
            directory = open_directory(path)
            directory.obtainLock("write.lock").close()  # never delete what another process is writing
            directory.close()
            shutil.rmtree(path)

    def _path(self, bank_key: str) -> Path | None:
        return None if self._folder is None else self._folder / bank_key
