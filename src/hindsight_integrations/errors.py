"""Exceptions raised by this package.

    HindsightError
    ├── InvalidRequest        (ValueError)   the call cannot be carried out as written
    │   ├── ArchiveInvalid                   a line of an archive is invalid
    │   └── BackgroundRefused                a snippet cannot be merged into a bank's background
    ├── BankNotFound          (LookupError)  the bank does not exist, and create=False
    │   └── BankForgotten                    the object's bank was forgotten
    ├── StorageError
    │   ├── LedgerBusy                       another process owns the data directory
    │   ├── LedgerReadOnly                   the data directory cannot be written
    │   ├── LedgerFailed                     the ledger file is damaged, or the disk failed
    │   ├── LedgerUnreachable                the database server does not answer; retry later
    │   ├── BankLocked                       another process holds a bank for too long; retry later
    │   ├── LedgerLost                       acknowledged commits are missing from the ledger
    │   ├── MemoryDamaged                    checksums of memories do not match
    │   ├── RevisionConflict                 the bank changed while a write was being prepared
    │   ├── SchemaMismatch                   written by a development version or a newer one
    │   ├── EmbedderMismatch                 the bank was embedded with another model
    │   ├── TaskClosed                       another worker finished or took over the task
    │   └── IndexOutOfStep                   an index is broken and could not be rebuilt
    │       └── IndexBehind                  the disk is full or read-only; the index is not broken
    ├── ModelError
    │   ├── ModelUnavailable                 down, slow or rate-limited; retry later
    │   ├── ModelRefused      (ValueError)   the key or the access rights are wrong; do not retry
    │   ├── PromptTooLong                    the prompt exceeds the model's context
    │   ├── FeatureUnsupported               the model's service does not support the request
    │   └── MalformedOutput                  the answer does not match the prompt's schema
    ├── AccessDenied          (ValueError)   the server does not accept the token, or not for this bank
    ├── MissingDependency     (ImportError)  an optional package or weights are not installed
    └── EngineClosed                         used after close, or in a forked child

Each class builds its message from typed fields, which it keeps as attributes; the message ends with what to do.
No class derives from RuntimeError or OSError, so that LangGraph's default retry policy retries `ModelUnavailable`
and the like instead of giving up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

_LONGEST_SHOWN = 100  # maximum length of a value in a message, in characters
_PYTHON = re.compile(r"\w\(|\w=|`|\b(?:True|None|str|object)\b")


def shown(value: object) -> str:
    """Format a value for an error message, shortened to 100 characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python converts to text
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


class HindsightError(Exception):
    """Base class of all errors of this package.

    Errors can be copied and pickled, for process pools and task queues.
    """

    def __reduce__(self) -> tuple[Callable[..., HindsightError], tuple[object, ...]]:
        """Pickle message and fields separately, because `args` is the message, not the constructor's arguments."""
        return _rebuilt, (type(self), self.args, dict(vars(self)))


def _rebuilt(
    kind: type[HindsightError], arguments: tuple[object, ...], fields: dict[str, object]
) -> HindsightError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error


class InvalidRequest(HindsightError, ValueError):
    """A request is invalid; nothing was changed.

    Attributes:
        field: the argument at fault.
        reason: what is wrong with it.
        remedy: what to do instead.
    """

    def __init__(self, field: str, reason: str, remedy: str) -> None:
        self.field, self.reason, self.remedy = field, reason, remedy
        super().__init__(f"{field}: {reason}. {remedy}")

    @property
    def remedy_in_words(self) -> str:
        """The remedy; empty if it is Python code, which a shell or an agent's model cannot use."""
        return "" if _PYTHON.search(self.remedy) else self.remedy


class WrongDimension(InvalidRequest):
    """A query vector's dimension differs from the embedder's: it comes from another model."""

    def __init__(self, given: int, expected: int) -> None:
        reason = f"the vector has dimension {given}, but the bank's embedder has {expected}"
        super().__init__("embedding", reason, "Pass a vector from that embedder, or omit it.")


class ArchiveInvalid(InvalidRequest):
    """A line of an archive is invalid; nothing was imported.

    Attributes:
        line: line number, from 1.
        field: kind of the line and its invalid field ("units.mentioned_at"), or a short label if the whole line is invalid.
        reason: what is wrong with it.
        remedy: what to do instead.
    """

    def __init__(
        self,
        line: int,
        field: str,
        reason: str,
        remedy: str = "Export the archive again. The bank is unchanged.",
    ) -> None:
        super().__init__(f"archive line {line}, {field}", reason, remedy)
        self.line, self.field = line, field


class BackgroundRefused(InvalidRequest):
    """A snippet cannot be merged into a bank's background. The background is unchanged.

    Attributes:
        field: "background".
        reason: why not.
        remedy: what to do instead.
        undecided: whether the snippet conflicts with the background and only a model could merge them.
    """

    def __init__(self, reason: str, remedy: str, *, undecided: bool = False) -> None:
        super().__init__("background", reason, remedy)
        self.undecided = undecided


class BankNotFound(HindsightError, LookupError):
    """The bank does not exist, and the call does not create banks."""

    def __init__(self, bank: str, known: tuple[str, ...] = ()) -> None:
        self.bank, self.known = bank, known
        listed = ", ".join(repr(name) for name in known[:5]) or "none yet"
        super().__init__(f"there is no bank {bank!r} (banks here: {listed}). Open it with create=True.")


class BankNotOpen(HindsightError, LookupError):
    """A bank reference names a directory that no engine of this process has open."""

    def __init__(self, bank: str, place: str) -> None:
        self.bank, self.place = bank, place
        remedy = (
            "It was an in-memory bank of a process or engine that has ended, and no longer exists."
            if place.startswith(":memory:")
            else "Open the directory first, with Hindsight.open or AsyncHindsight.open, and keep it open."
        )
        super().__init__(f"bank {bank!r} is in {place!r}, which no engine of this process has open. {remedy}")


class BankForgotten(BankNotFound):
    """The bank that this object refers to was forgotten. Nothing was done, even if a new bank has the same name."""

    def __init__(self, bank: str) -> None:
        self.bank, self.known = bank, ()
        HindsightError.__init__(
            self,
            f"bank {bank!r} was forgotten after this object was created; nothing was done. "
            f"Get the current bank with that name from the engine: bank({bank!r}).",
        )


class StorageError(HindsightError):
    """The ledger or one of its projections failed."""


class LedgerBusy(StorageError):
    """Another process, or another engine of this process, has this data directory open for writing.

    Attributes:
        path: the directory.
        pid: id of the process that has it open; None if unknown.
        here: whether it is this process.
    """

    def __init__(self, path: Path | str, pid: int | None, *, here: bool = False) -> None:
        self.path, self.pid, self.here = path, pid, here
        if here:
            super().__init__(
                f"{path} is already open for writing in this process ({pid}), for example because a notebook cell ran twice. "
                "Use the engine that has it open, or close it first with close(). If no variable refers to it, "
                f"MemoryBank.over(bank_at(BankReference({str(Path(path).resolve())!r}, name))) returns its banks."
            )
            return
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{path} is open for writing in {owner}; only one process can write to a directory. Run a server as one process "
            "with many threads (uvicorn --workers 1), let one process serve it (hindsight-memory serve, Hindsight.connect), keep "
            "the memory on PostgreSQL, or give each process its own directory. Otherwise close it there, or open it here with read_only=True."
        )


class LedgerReadOnly(StorageError):
    """The ledger cannot be written."""

    def __init__(self, path: Path | str, reason: str) -> None:
        self.path, self.reason = path, reason
        remedy = (
            "Check the user's rights and whether the server is a standby."
            if is_database(path)
            else "Check its permissions or choose another directory."
        )
        super().__init__(f"{path} cannot be written: {reason}. {remedy}")


class LedgerFailed(StorageError):
    """The ledger file is damaged or not a ledger, or the disk failed; nothing was written."""

    def __init__(self, path: Path | str, reason: str) -> None:
        self.path, self.reason = path, reason
        remedy = (
            "Nothing was written; the server's log has the details."
            if is_database(path)
            else "Check the disk, or restore the directory from a backup."
        )
        super().__init__(f"{path} could not be used: {reason}. {remedy}")


class LedgerUnreachable(StorageError):
    """The database server could not be reached or ended the connection; repeating the call is safe.

    Attributes:
        path: the server's address, without user and password.
        reason: what the driver reported.
    """

    def __init__(self, path: Path | str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be reached: {reason}. Check the address and whether the server runs, then repeat the call: "
            "the same input is stored once."
        )


class BankLocked(StorageError):
    """Another writer has held the bank for longer than the time limit. Nothing was written.

    Attributes:
        bank: the bank's name.
        holder: the client that holds the bank, as the server reports it; empty if unknown.
        seconds: how long this call waited.
    """

    def __init__(self, bank: str, holder: str, seconds: float) -> None:
        self.bank, self.holder, self.seconds = bank, holder, seconds
        super().__init__(
            f"bank {bank!r} has been held by {holder or 'another writer'} for more than {seconds:g} s; nothing was written. "
            "Repeat the call. If it persists, end that client's transaction on the server."
        )


def is_database(path: object) -> bool:
    """Return whether a ledger's location is a database address rather than a directory."""
    return isinstance(path, str) and "://" in path


class LedgerLost(StorageError):
    """Committed memory is missing from the ledger, according to its integrity mark or an index. Nothing was changed.

    Attributes:
        path: the data directory.
        reason: what is missing, and how it was detected.
        transactions: number of transactions known to be missing; None if unknown.
        banks: number of commits known to be missing, by bank name, or by bank key if the name is unknown.
    """

    def __init__(
        self, path: Path | str, reason: str, transactions: int | None, banks: Mapping[str, int]
    ) -> None:
        self.path, self.reason = path, reason
        self.transactions, self.banks = transactions, banks
        super().__init__(
            f"{path} has lost memory: {reason}. Nothing was changed. Restore ledger.sqlite with ledger.sqlite-wal, or the "
            "whole directory, from a backup; or open it with accept_loss=True to continue with the remaining memory, from "
            "which the indexes are then rebuilt."
        )


class MemoryDamaged(StorageError):
    """Checksums of memories or items do not match: a disk fault or another program changed the stored data.

    Attributes:
        bank: the bank's name.
        units: ids of the memories; for an item, its key and namespace.
    """

    def __init__(self, bank: str, units: tuple[str, ...]) -> None:
        self.bank, self.units = bank, units
        listed = ", ".join(repr(unit) for unit in units[:5]) + (", ..." if len(units) > 5 else "")
        super().__init__(
            f"{len(units)} memories of bank {bank!r} are damaged and are not served: {listed}. Restore the data directory "
            "from a backup, or forget them (forget(unit=id), items.forget(namespace, key)); if only vectors are damaged, "
            "maintenance.reindex() rebuilds them. doctor(deep=True) lists all."
        )


class RevisionConflict(StorageError):
    """The bank's revision changed while a write was being prepared. The pipeline prepares the write again."""

    def __init__(self, bank: str, expected: int, actual: int, of: str = "revision") -> None:
        self.bank, self.expected, self.actual = bank, expected, actual
        super().__init__(
            f"bank {bank!r} is at {of} {actual}, not {expected}: another write was committed first. Repeat the call."
        )


class SchemaMismatch(StorageError):
    """The ledger's schema is newer than this version, comes from a development version, or needs a migration."""

    def __init__(self, path: Path | str, found: int, supported: int, *, development: bool = False) -> None:
        self.path, self.found, self.supported, self.development = path, found, supported, development
        if development:
            remedy = (
                "It cannot be converted or exported: use the checkout that wrote it, or retain the sources again in a "
                "new directory."
            )
            super().__init__(
                f"{path} has schema {found} of a development version; this version supports only schema {supported}. {remedy}"
            )
            return
        remedy = "Upgrade hindsight-integrations."
        if found < supported and is_database(path):
            remedy = "Stop all processes that use it, then run `hindsight-memory migrate` with its address."
        super().__init__(
            f"{path} has schema {found}; this version supports only schema {supported}. {remedy}"
        )


class EmbedderMismatch(StorageError):
    """The bank's vectors were made by another embedder."""

    def __init__(self, bank: str, stored: str, given: str) -> None:
        self.bank, self.stored, self.given = bank, stored, given
        super().__init__(
            f"bank {bank!r} was embedded with {stored}, not {given}; their vectors cannot be compared. "
            "Open it with the former, or call maintenance.reindex() to embed it again with the latter."
        )


class IndexOutOfStep(StorageError):
    """An index is behind the ledger or broken, and rebuilding it failed. The ledger is intact."""

    def __init__(self, index: str, bank: str, reason: str) -> None:
        self.index, self.bank, self.reason = index, bank, reason
        super().__init__(
            f"the {index} index of bank {bank!r} is out of step with the ledger: {reason}. Nothing is lost; "
            "reopen the engine to rebuild it, or delete the index directory if that fails."
        )


class IndexBehind(IndexOutOfStep):
    """The disk rejected an index's writes. The index is unchanged and catches up at the next call."""

    def __init__(self, index: str, bank: str, reason: str) -> None:
        super().__init__(index, bank, reason)
        told = (
            f"the {index} index of bank {bank!r} could not be brought up to date: {reason}. Nothing is lost; "
        )
        self.args = (told + "free disk space, and the next call will update it.",)


class TaskClosed(StorageError):
    """The task's lease has ended: the task is done or cancelled, or another worker took it. Nothing was written."""

    def __init__(self, task: int) -> None:
        self.task = task
        super().__init__(
            f"the lease of task {task} has ended: the task is done or cancelled, or another worker took it; nothing was written. "
            "See tasks.list()."
        )


class ModelError(HindsightError):
    """A language model gave no usable answer; memory is unchanged."""


class ModelUnavailable(ModelError):
    """The model could not be reached, timed out or was rate-limited. Retryable.

    Attributes:
        model: the model's name.
        reason: what happened.
        retry_after: seconds to wait before a retry, as requested by the service; None if it gave none.
    """

    def __init__(self, model: str, reason: str, retry_after: float | None = None) -> None:
        self.model, self.reason, self.retry_after = model, reason, retry_after
        when = "later" if retry_after is None else f"in {retry_after:g} s"
        super().__init__(f"model {model} is unavailable: {reason}. Try again {when}; memory is unchanged.")


class ModelRefused(ModelError, ValueError):
    """The model's service rejects the caller: missing or wrong key, or no access. Not retryable (hence ValueError)."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(f"model {model} refused the call: {reason}. Check its API key and access rights.")


class PromptTooLong(ModelError):
    """The prompt exceeds the model's context. Not retryable."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(
            f"the prompt exceeds the context of model {model}: {reason}. Use extraction='concise' or a smaller "
            "chunk_characters (RetainConfig), or give the model a longer context (8192 tokens are enough)."
        )


class FeatureUnsupported(ModelError):
    """The model's service rejects a field of the request, and the request cannot be made in another way."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(
            f"the service of model {model} does not support the request: {reason}. Use a server with "
            "response_format json_schema or tool calls."
        )


class MalformedOutput(ModelError):
    """The answer does not match the prompt's schema. Contains the output for a repair prompt.

    Attributes:
        tokens_in: prompt tokens, if the model reports them.
        tokens_out: completion tokens, if the model reports them.
        cut_off: whether the answer was cut off at a token limit.
    """

    def __init__(
        self,
        model: str,
        output: str,
        problem: str,
        *,
        tokens_in: int = 0,
        tokens_out: int = 0,
        cut_off: bool = False,
    ) -> None:
        self.model, self.output, self.problem = model, output, problem
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        self.cut_off = cut_off
        super().__init__(
            f"model {model} gave an answer that does not match its schema: {problem}. Use a model with structured output, or retry."
        )


class AccessDenied(HindsightError, ValueError):
    """A server refused a call because of its token; nothing was done. Not retryable (hence ValueError).

    Attributes:
        reason: what was refused.
        remedy: what to do.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"the server refused the call: {reason}. {remedy}")


class MissingDependency(HindsightError, ImportError):
    """An optional package or model weights are not installed."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy
        super().__init__(f"{what} is not installed. {remedy}")


class EngineClosed(HindsightError):
    """The engine (or its bank) was used after close, or in a child process after a fork."""

    def __init__(self, reason: str = "it was closed") -> None:
        self.reason = reason
        super().__init__(f"this engine can no longer be used: {reason}. Open a new one.")
