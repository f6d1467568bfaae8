"""Everything that can go wrong, as types.

    HindsightError
    ├── InvalidRequest        (ValueError)   the call cannot be carried out as written
    │   ├── ArchiveInvalid                   a line of an archive cannot be taken in
    │   └── BackgroundRefused                a snippet cannot be merged into a bank's background
    ├── BankNotFound          (LookupError)  no such bank, and it was not to be created
    │   └── BankForgotten                    the object's bank was forgotten; its name may be another's now
    ├── StorageError
    │   ├── LedgerBusy                       another process owns the data directory
    │   ├── LedgerReadOnly                   the data directory cannot be written
    │   ├── LedgerFailed                     the ledger file is damaged, or the disk refused
    │   ├── LedgerLost                       commits that were acknowledged are not in the ledger any more
    │   ├── MemoryDamaged                    memories are not what was written
    │   ├── RevisionConflict                 the bank moved on since the decision was made
    │   ├── SchemaMismatch                   written by a development version or a newer one
    │   ├── EmbedderMismatch                 the bank was embedded with another model
    │   ├── TaskClosed                       a task was finished by somebody else meanwhile
    │   └── IndexOutOfStep                   an index is broken and could not be rebuilt
    │       └── IndexBehind                  the disk refused it for now; it is not broken
    ├── ModelError
    │   ├── ModelUnavailable                 down, slow or rate-limited: worth retrying
    │   ├── ModelRefused      (ValueError)   the key or the access is wrong: retrying cannot help
    │   ├── PromptTooLong                    it does not fit the model's context
    │   ├── FeatureUnsupported               the model's service lacks what the request asks for
    │   └── MalformedOutput                  answered, but outside the prompt's schema
    ├── MissingDependency     (ImportError)  an optional package or weights are not installed
    └── EngineClosed                         used after close, or in a forked child

Each class builds its own message from typed fields, ends it with what to do, and keeps the fields as attributes.
No class derives from RuntimeError or OSError, so that LangGraph's default retry policy retries `ModelUnavailable`
and the like instead of giving up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

_LONGEST_SHOWN = 100  # characters of a value in a message


def shown(value: object) -> str:
    """A caller's value as a message shows it: short, whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


class HindsightError(Exception):
    """The root of every error this package raises on purpose.

    Errors can be copied and pickled, so that they come back whole from a process pool or a task queue.
    """

    def __reduce__(self) -> tuple[Callable[..., HindsightError], tuple[object, ...]]:
        """The message and the fields, since a class's own arguments are the fields and `args` the message."""
        return _rebuilt, (type(self), self.args, dict(vars(self)))


def _rebuilt(
    kind: type[HindsightError], arguments: tuple[object, ...], fields: dict[str, object]
) -> HindsightError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error


class InvalidRequest(HindsightError, ValueError):
    """A request that cannot be carried out as written; nothing was changed.

    Attributes:
        field: the argument at fault.
        reason: what is wrong with it.
        remedy: what to do instead.
    """

    def __init__(self, field: str, reason: str, remedy: str) -> None:
        self.field, self.reason, self.remedy = field, reason, remedy
        super().__init__(f"{field}: {reason}. {remedy}")


class WrongDimension(InvalidRequest):
    """A vector given with a question is of another length than those of the bank's embedder: another model made it."""

    def __init__(self, given: int, expected: int) -> None:
        reason = f"it has {given} numbers, and vectors of the bank's embedder have {expected}"
        super().__init__("embedding", reason, "Pass a vector of that embedder, or none.")


class ArchiveInvalid(InvalidRequest):
    """A line of an archive cannot be taken in; nothing of the archive was written.

    Attributes:
        line: number of the line, from 1.
        field: kind of the line and field at fault ("units.mentioned_at"), or what is wrong of the line as a whole.
        reason: what is wrong with it.
        remedy: what to do instead.
    """

    def __init__(
        self,
        line: int,
        field: str,
        reason: str,
        remedy: str = "Export the archive again. The bank was left as it was.",
    ) -> None:
        super().__init__(f"archive line {line}, {field}", reason, remedy)
        self.line, self.field = line, field


class BackgroundRefused(InvalidRequest):
    """A snippet cannot be merged into the background; the background is as it was.

    Attributes:
        field: "background".
        reason: why not.
        remedy: what to do instead.
        undecided: the two conflict, and a model could merge them.
    """

    def __init__(self, reason: str, remedy: str, *, undecided: bool = False) -> None:
        super().__init__("background", reason, remedy)
        self.undecided = undecided


class BankNotFound(HindsightError, LookupError):
    """The bank does not exist and the call was not to create it."""

    def __init__(self, bank: str, known: tuple[str, ...] = ()) -> None:
        self.bank, self.known = bank, known
        listed = ", ".join(repr(name) for name in known[:5]) or "none yet"
        super().__init__(f"there is no bank {bank!r} (banks here: {listed}). Open it with create=True.")


class BankNotOpen(HindsightError, LookupError):
    """A reference means a bank of a directory that no engine of this process has open."""

    def __init__(self, bank: str, place: str) -> None:
        self.bank, self.place = bank, place
        remedy = (
            "It was kept in memory alone, by a process or an engine that has ended, and is gone with it."
            if place.startswith(":memory:")
            else "Open it first, with Hindsight.open or AsyncHindsight.open, and keep it open."
        )
        super().__init__(
            f"bank {bank!r} lies in {place!r}, which no engine of this process has open. {remedy}"
        )


class BankForgotten(BankNotFound):
    """The bank this object was made for was forgotten; the call did nothing, whatever bears the name now."""

    def __init__(self, bank: str) -> None:
        self.bank, self.known = bank, ()
        HindsightError.__init__(
            self,
            f"bank {bank!r} was forgotten after this object was made for it; nothing was done. "
            f"Get an object for the present bank of that name from the engine: bank({bank!r}).",
        )


class StorageError(HindsightError):
    """The ledger or one of its projections failed."""


class LedgerBusy(StorageError):
    """Another process, or another engine of this process, has this data directory open for writing.

    Attributes:
        path: the directory.
        pid: the process that has it open; None if unknown.
        here: whether that is this process.
    """

    def __init__(self, path: Path, pid: int | None, *, here: bool = False) -> None:
        self.path, self.pid, self.here = path, pid, here
        if here:
            super().__init__(
                f"{path} is already open for writing in this process ({pid}), as when a notebook cell runs twice. Keep using "
                "the engine that has it open, or close that first with its close(). If no variable holds it any more, "
                f"MemoryBank.over(bank_at(BankReference({str(path.resolve())!r}, name))) returns its banks."
            )
            return
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{path} is open for writing in {owner}, and one process at a time writes a directory. A server runs as one "
            "process with many threads (uvicorn --workers 1), or gives each process a directory of its own and sends each "
            "user always to the same one. Else close it there, or open it here with read_only=True."
        )


class LedgerReadOnly(StorageError):
    """A write to a ledger that cannot be written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be written: {reason}. Check its permissions or choose another directory."
        )


class LedgerFailed(StorageError):
    """The ledger file is damaged or not a ledger, or the disk failed under it; nothing was written."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} could not be used: {reason}. Check the disk, or restore the directory from a copy."
        )


class LedgerLost(StorageError):
    """What was committed is not in the ledger any more: its mark, or an index, knows of it. Nothing was changed.

    Attributes:
        path: the data directory.
        reason: what is missing, and how that shows.
        transactions: how many are known to be missing; None where nothing tells.
        banks: bank (or what is known of it) to how many of its commits are known to be missing.
    """

    def __init__(self, path: Path, reason: str, transactions: int | None, banks: Mapping[str, int]) -> None:
        self.path, self.reason = path, reason
        self.transactions, self.banks = transactions, banks
        super().__init__(
            f"{path} has lost memory: {reason}. Nothing was changed. Put ledger.sqlite and ledger.sqlite-wal back, or the "
            "whole directory as one copy; or open it with accept_loss=True to go on with what is there, from which the "
            "indexes are then rebuilt."
        )


class MemoryDamaged(StorageError):
    """Memories or items whose checksums do not fit: the disk, or somebody else, changed what was written.

    Attributes:
        bank: whose they are.
        units: their ids; of an item its key and namespace.
    """

    def __init__(self, bank: str, units: tuple[str, ...]) -> None:
        self.bank, self.units = bank, units
        listed = ", ".join(repr(unit) for unit in units[:5]) + (", ..." if len(units) > 5 else "")
        super().__init__(
            f"{len(units)} memories of bank {bank!r} are damaged and are not served: {listed}. Put the data directory back "
            "from a copy, or forget them (forget(unit=id), items.forget(namespace, key)); where vectors alone are damaged, maintenance.reindex() makes them anew. "
            "doctor(deep=True) names all."
        )


class RevisionConflict(StorageError):
    """The bank's revision is no longer the one the write was decided on. The pipeline decides again."""

    def __init__(self, bank: str, expected: int, actual: int, of: str = "revision") -> None:
        self.bank, self.expected, self.actual = bank, expected, actual
        super().__init__(
            f"bank {bank!r} is at {of} {actual}, not {expected}: somebody wrote in between. Decide again and retry."
        )


class SchemaMismatch(StorageError):
    """The ledger file was written by a development version of this package, or by a newer version."""

    def __init__(self, path: Path, found: int, supported: int, *, development: bool = False) -> None:
        self.path, self.found, self.supported, self.development = path, found, supported, development
        if development:
            remedy = (
                "It cannot be converted or exported: use the checkout that wrote it, or retain the sources again into a "
                "new directory."
            )
            super().__init__(
                f"{path} has schema {found} of a development version; this version reads schema {supported} only. {remedy}"
            )
            return
        super().__init__(
            f"{path} has schema {found}; this version reads schema {supported} only. Upgrade hindsight-integrations."
        )


class EmbedderMismatch(StorageError):
    """A bank remembers the embedder that made its vectors and refuses another."""

    def __init__(self, bank: str, stored: str, given: str) -> None:
        self.bank, self.stored, self.given = bank, stored, given
        super().__init__(
            f"bank {bank!r} was embedded with {stored}, not {given}; their vectors cannot be compared. "
            "Open it with the first, or call maintenance.reindex() to embed it again with the second."
        )


class IndexOutOfStep(StorageError):
    """An index is behind the ledger or broken, and rebuilding it failed. The ledger itself is whole."""

    def __init__(self, index: str, bank: str, reason: str) -> None:
        self.index, self.bank, self.reason = index, bank, reason
        super().__init__(
            f"the {index} index of bank {bank!r} is out of step with the ledger: {reason}. Nothing is lost; "
            "reopen the engine to rebuild it, or delete the index folder if that fails."
        )


class IndexBehind(IndexOutOfStep):
    """The disk refused what an index had to write. It waits as it is and is brought up to date at the next call."""

    def __init__(self, index: str, bank: str, reason: str) -> None:
        super().__init__(index, bank, reason)
        told = (
            f"the {index} index of bank {bank!r} could not be brought up to date: {reason}. Nothing is lost; "
        )
        self.args = (told + "make room on the disk, and the next call brings it up to date.",)


class TaskClosed(StorageError):
    """A task is somebody else's, done, or taken back meanwhile; nothing was written."""

    def __init__(self, task: int) -> None:
        self.task = task
        super().__init__(
            f"the lease of task {task} is over: it is done, or somebody else's; nothing was written. Look at tasks.list()."
        )


class ModelError(HindsightError):
    """A language model did not give a usable answer; memory was left as it was."""


class ModelUnavailable(ModelError):
    """The model could not be reached, timed out or limited the rate. Retryable.

    Attributes:
        model: which.
        reason: what happened.
        retry_after: seconds after which the service wants to be asked again; None if it did not say.
    """

    def __init__(self, model: str, reason: str, retry_after: float | None = None) -> None:
        self.model, self.reason, self.retry_after = model, reason, retry_after
        when = "later" if retry_after is None else f"in {retry_after:g} s"
        super().__init__(f"model {model} is unavailable: {reason}. Try again {when}; memory is unchanged.")


class ModelRefused(ModelError, ValueError):
    """The model's service refuses the caller: no key, a wrong one, or no access. Not retryable (hence ValueError)."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(f"model {model} refused the call: {reason}. Check its API key and access rights.")


class PromptTooLong(ModelError):
    """The prompt does not fit the model's context. Asking the same again cannot help."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(
            f"the prompt does not fit the context of model {model}: {reason}. Use extraction='concise' or a smaller "
            "chunk_characters (RetainConfig), or serve the model with a longer context (8192 tokens do)."
        )


class FeatureUnsupported(ModelError):
    """The model's service refuses a field of the request that it does not know, and there is no other way to ask."""

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(
            f"the service of model {model} does not support the request: {reason}. Use a server with "
            "response_format json_schema or tool calls."
        )


class MalformedOutput(ModelError):
    """The model answered outside the prompt's schema. Carries the output for a repair prompt.

    Attributes:
        tokens_in: what the answer cost all the same, where the model says.
        tokens_out: likewise.
        cut_off: whether it reached a limit of tokens, so that its end is not there.
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
            f"model {model} answered outside its schema: {problem}. Use a model with structured output, or retry."
        )


class MissingDependency(HindsightError, ImportError):
    """An optional package, or model weights, are not on this machine."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy
        super().__init__(f"{what} is not installed. {remedy}")


class EngineClosed(HindsightError):
    """The engine (or its bank) was used after close, or in a child process after a fork."""

    def __init__(self, reason: str = "it was closed") -> None:
        self.reason = reason
        super().__init__(f"this engine can no longer be used: {reason}. Open a new one.")
