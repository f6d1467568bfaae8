"""The commands of `hindsight-memory`, and their error messages for a shell."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import webbrowser
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hindsight_integrations.cli.importing import Format, ImportedThread, ImportSource, read_source
from hindsight_integrations.cli.show import (
    clean,
    entities_table,
    memories,
    messages,
    opinions_table,
    output,
    plain,
    print_json,
    print_line,
    reasons,
    recall_document,
    records_table,
    reflection_document,
    show_opinion_history,
    show_recalled,
    show_reflection,
    show_unit_history,
    table,
    tasks_table,
    units_table,
)
from hindsight_integrations.config import EmbedderBackend, HindsightConfig
from hindsight_integrations.errors import (
    ArchiveInvalid,
    BankNotFound,
    EmbedderMismatch,
    HindsightError,
    IndexBehind,
    IndexOutOfStep,
    InvalidRequest,
    LedgerBusy,
    LedgerLost,
    MemoryDamaged,
    MissingDependency,
    PromptTooLong,
    is_database,
)
from hindsight_integrations.model.aggregates import record_row
from hindsight_integrations.model.display import count, day
from hindsight_integrations.model.rows import unit_row
from hindsight_integrations.model.units import FactType

if TYPE_CHECKING:
    from hindsight_integrations.model.erasure import ForgetReceipt
    from hindsight_integrations.model.requests import RetainItem
    from hindsight_integrations.model.results import BulkResult, Settled
    from hindsight_integrations.sync import Hindsight, MemoryBank


PROGRAM = "hindsight-memory"
LEDGER = "ledger.sqlite"
INTERRUPTED = 130  # exit code after Ctrl-C, as in shells: 128 plus the number of SIGINT
MESSAGES_AN_ITEM = 32
"""Maximum number of messages per item; small, so that long conversations show progress."""
ITEMS_A_COMMIT = 4
SHOWN_ERASURES = 20  # number of memories that a dry run lists
ALL = 10_000_000  # a limit that no bank reaches

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""UsageError of click, or of the copy of click that later versions of typer contain."""

app = typer.Typer(
    help="Long-term memory for AI agents, from the command line.",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class What(StrEnum):
    """What `show` lists."""

    UNITS = "units"
    RECORDS = "records"
    ENTITIES = "entities"
    OPINIONS = "opinions"
    HISTORY = "history"


def _checked_time(text: str) -> str:
    """Validate a time option."""
    from hindsight_integrations.validation.limits import checked_moment

    try:
        checked_moment(text, "time")
    except InvalidRequest as error:
        raise typer.BadParameter(f"{error.reason}; write it as 2024-05-31 or 2024-05-31T18:30") from error
    return text


PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="The memory's directory, or postgresql://USER@HOST/NAME.", show_default=False
    ),
]
QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)]
BankOption = Annotated[str, typer.Option("--bank", "-b", metavar="NAME", help="The bank.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ModelOption = Annotated[
    str | None,
    typer.Option(metavar="openai:NAME", help="The language model; default: HINDSIGHT_MODEL."),
]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Long-term memory for AI agents, from the command line."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"{PROGRAM} {installed('hindsight-integrations')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def retain(
    path: PathArgument,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="The text to retain; - reads standard input.", show_default=False
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            "-f",
            exists=True,
            dir_okay=False,
            readable=True,
            metavar="FILE",
            help="A file to retain; repeatable.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        Format | None, typer.Option(help="The input's format; detected by default.")
    ] = None,
    bank: BankOption = "default",
    thread: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The name of the conversation; default: as in the input, or the file's name."
        ),
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(parser=_checked_time, metavar="TIME", help="Time of messages without one in the input."),
    ] = None,
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first", help="The order of dates in a WhatsApp export.", show_default=False
        ),
    ] = None,
    model: ModelOption = None,
) -> None:
    """Retain a text, a document or conversations.

    Reads plain text, JSON Lines of messages, a JSON list of OpenAI messages, ChatGPT's conversations.json, a WhatsApp
    chat exported as text, and LoCoMo files. Retaining the same input again adds nothing.
    """
    sources = _sources(text, file or [], forced=format, day_first=day_first)
    items, sizes = _items(sources, thread, timestamp)
    console = output()
    for name, source in sources:
        _print_source(name, source)
    new = not has_memory(path)
    with _open(path, model=model) as hindsight:
        result = _retain(hindsight.bank(bank), items, sizes)
    if new:
        print_line(console, f"created a new memory in {path}")
    _print_retained(result, path)
    if result.failed:
        _, error = result.failed[0]
        raise error


def _sources(
    text: str | None, files: Sequence[Path], *, forced: Format | None, day_first: bool | None
) -> list[tuple[str, ImportSource]]:
    """Read the inputs as (name, source); the argument TEXT has an empty name."""
    if (text is None) == (not files):
        wrong = "Nothing to retain: pass TEXT, --file, or - for standard input" if text is None else None
        raise USAGE_ERROR(wrong or "Pass TEXT or --file, not both")
    if text is None:
        return [
            (str(file), read_source(file.read_bytes(), str(file), forced=forced, day_first=day_first))
            for file in files
        ]
    if text == "-":
        name = "standard input"
        data = sys.stdin.buffer.read()
        return [(name, read_source(data, name, forced=forced, day_first=day_first))]
    data = text.encode("utf-8", "surrogateescape")
    return [("", read_source(data, "text", forced=forced or Format.TEXT, day_first=day_first))]


def _items(
    sources: Sequence[tuple[str, ImportSource]], thread: str | None, timestamp: str | None
) -> tuple[list[RetainItem], list[int]]:
    """Return the items to retain, and the number of messages in each."""
    from hindsight_integrations.model.requests import Document, Message, RetainItem

    items, sizes = [], []
    for name, source in sources:
        file = Path(name) if name not in ("", "standard input") else None
        if source.format is Format.TEXT:
            content: Any = Document(source.text, id=str(file.resolve()) if file else None)
            if thread is not None and file is None:
                content = [Message(source.text)]
            items.append(RetainItem(content, thread or "", timestamp))
            sizes.append(1)
        for conversation in source.threads:
            if thread is not None and len(source.threads) > 1:
                raise USAGE_ERROR("--thread names one conversation, but the input has several")
            named = thread if thread is not None else conversation.name or (file.stem if file else "")
            for part in _parts(conversation):
                items.append(RetainItem(part, named, timestamp))
                sizes.append(len(part))
    return items, sizes


def _parts(conversation: ImportedThread) -> Iterator[Sequence[object]]:
    for begin in range(0, len(conversation.messages), MESSAGES_AN_ITEM):
        yield conversation.messages[begin : begin + MESSAGES_AN_ITEM]


def _retain(bank: MemoryBank, items: Sequence[RetainItem], sizes: Sequence[int]) -> BulkResult:
    """Retain the items in batches, with a progress bar on a terminal if there are several batches."""
    console = messages()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("retaining", total=sum(sizes), visible=len(items) > ITEMS_A_COMMIT)

        def advance(done: int, _: int) -> None:
            progress.update(bar, completed=sum(sizes[:done]))

        return bank.retain_many(items, progress=advance, batch_size=ITEMS_A_COMMIT)


def _print_source(name: str, source: ImportSource) -> None:
    """Print how a file or standard input was read."""
    if not name:
        return
    parts = [source.format.label]
    if source.threads:
        threads = len(source.threads)
        parts += [count(threads, "conversation")] if threads > 1 else []
        parts.append(count(source.messages, "message"))
    left_out = reasons(source.dropped)
    print_line(output(), f"{name}: {', '.join(parts)}" + (f" (left out: {left_out})" if left_out else ""))


def _print_retained(result: BulkResult, path: str) -> None:
    """Print what was created, unchanged, closed, dropped and queued."""
    results = [item.result for item in result.items if item.result]
    unchanged = sum(each.skipped_messages for each in results)
    closed = sum(len(each.closed) + len(each.superseded) for each in results)
    dropped = Counter(one.reason for each in results for one in each.dropped)
    waiting = sum(len(each.parked) + len(each.queued) for each in results)
    parts = [f"created {memories(result.created)}"]
    parts += [f"{unchanged:,} unchanged"] if unchanged else []
    parts += [f"closed {closed:,}"] if closed else []
    if dropped:
        parts.append(f"dropped {dropped.total():,}: {reasons(dropped)}")
    parts += [f"{len(result.failed):,} of {len(result.items):,} parts failed"] if result.failed else []
    console = output()
    print_line(console, "; ".join(parts))
    if waiting:
        print_line(
            console, f"{count(waiting, 'passage')} queued for the model; extract with: {PROGRAM} work {path}"
        )
    for index in result.behind:
        print_line(console, f"the {index} index could not be written; see: {PROGRAM} doctor {path}")


@app.command()
def recall(
    path: PathArgument,
    query: QueryArgument,
    bank: BankOption = "default",
    max_tokens: Annotated[
        int,
        typer.Option(min=1, max=10_000_000, metavar="N", help="Maximum total tokens of the memories."),
    ] = 1024,
    types: Annotated[
        list[FactType] | None, typer.Option(help="Only memories of this type; repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only memories with this tag; repeatable.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(parser=_checked_time, metavar="TIME", help="Only memories valid at this time."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain how the memories were found.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question."""
    with _open(path, read_only=True) as hindsight:
        found = hindsight.bank(bank, create=False).recall(
            query,
            max_tokens=max_tokens,
            types=types or None,
            tags=tag or (),
            tags_match="any_strict",
            as_of=as_of,
            trace=explain,
        )
    if as_json:
        print_json({**recall_document(found), **({"explanation": found.explain()} if explain else {})})
        return
    console = output()
    if explain:
        print_line(console, found.explain())
        return
    if not found.units:
        console.print("nothing found")
        return
    show_recalled(found, console, most=None)
    console.print(
        f"{memories(len(found.units))}, {found.tokens} tokens, confidence {found.confidence:.2f}", style="dim"
    )
    if found.damaged:
        print_line(
            messages(),
            f"{memories(len(found.damaged))} left out as damaged; see: {PROGRAM} doctor {path} --deep",
        )


@app.command()
def reflect(
    path: PathArgument,
    query: QueryArgument,
    bank: BankOption = "default",
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from memory.

    Also lists the memories that support the answer. Forms no opinions.
    """
    with _open(path, model=model, read_only=True) as hindsight:
        reflection = hindsight.bank(bank, create=False).reflect(query, form_opinions=False)
    if as_json:
        print_json(reflection_document(reflection))
    else:
        show_reflection(reflection, output())


@app.command()
def banks(path: PathArgument) -> None:
    """List the banks of a memory and their contents."""
    with _open(path, read_only=True) as hindsight:
        numbers = ["memories", "entities", "opinions", "revision"]
        shown = table("bank", *numbers, "latest memory", right=numbers)
        health = hindsight.doctor()
        for name, (units, revision) in health.banks.items():
            bank = hindsight.bank(name, create=False)
            entities, opinions = len(bank.entities.list(limit=ALL)), len(bank.opinions.list())
            shown.add_row(
                plain(name),
                f"{units:,}",
                f"{entities:,}",
                f"{opinions:,}",
                f"{revision:,}",
                day(health.latest[name]) or "none",
            )
    output().print(shown)


@app.command()
def show(
    path: PathArgument,
    what: Annotated[
        What,
        typer.Argument(
            metavar="WHAT", help="units, records, entities, opinions or history.", show_default=False
        ),
    ],
    identity: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="For history: the memory or opinion.", show_default=False),
    ] = None,
    bank: BankOption = "default",
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Maximum number of rows.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the contents of a bank, or the history of a memory.

    Memories and records are listed oldest first, entities by number of mentions.
    """
    if (what is What.HISTORY) != (identity is not None):
        raise USAGE_ERROR(
            "history needs the ID of a memory or opinion" if identity is None else f"{what.value} takes no ID"
        )
    with _open(path, read_only=True) as hindsight:
        opened = hindsight.bank(bank, create=False)
        if identity is not None:
            _show_history(opened, identity, as_json=as_json)
        elif what is What.UNITS:
            _show_units(opened, limit, as_json=as_json)
        else:
            _show_rows(opened, what, limit, as_json=as_json)


def _show_units(bank: MemoryBank, limit: int, *, as_json: bool) -> None:
    page = bank.units(limit=limit)
    if as_json:
        print_json(
            {"total": page.total, "units": [unit_row(unit, page.items.get(unit.id, ())) for unit in page]}
        )
    else:
        _print_listing(units_table(page.units, page.items), len(page.units), page.total, "memories")


# For each kind but units: the function that reads all rows of a bank, the JSON form of a row, and the table.
_LISTINGS: Mapping[
    What, tuple[Callable[[MemoryBank], list[Any]], Callable[[Any], object], Callable[[Any], Table]]
] = {
    What.RECORDS: (lambda bank: bank.records.list(), record_row, records_table),
    What.ENTITIES: (lambda bank: bank.entities.list(limit=ALL), lambda entity: entity, entities_table),
    What.OPINIONS: (lambda bank: bank.opinions.list(), lambda opinion: opinion, opinions_table),
}


def _show_rows(bank: MemoryBank, what: What, limit: int, *, as_json: bool) -> None:
    read, row, rows_table = _LISTINGS[what]
    rows = read(bank)
    if as_json:
        print_json({"total": len(rows), what.value: [row(each) for each in rows[:limit]]})
    else:
        _print_listing(rows_table(rows[:limit]), limit, len(rows), what.value)


def _print_listing(shown: Table, listed: int, total: int, noun: str) -> None:
    console = output()
    if not total:
        console.print(f"no {noun}")
        return
    console.print(shown)
    if total > listed:
        console.print(f"{total - listed:,} more of {total:,} {noun}; see them with --limit", style="dim")


def _show_history(bank: MemoryBank, identity: str, *, as_json: bool) -> None:
    unit = bank.get(identity)
    if unit.fact_type is FactType.OPINION:
        history = bank.opinions.history(identity)
        if as_json:
            print_json(history)
        else:
            show_opinion_history(history, output())
        return
    events = bank.history(identity)
    if as_json:
        print_json({"unit": unit_row(unit), "history": events})
        return
    texts = {event.by_unit: bank.get(event.by_unit).text for event in events if event.by_unit}
    show_unit_history(unit, events, texts, output())


@app.command()
def forget(
    path: PathArgument,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help='Memories described in words: "Frank\'s phone number".')
    ] = None,
    entity: Annotated[str | None, typer.Option(metavar="NAME", help="An entity, by name or id.")] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --entity: only this name of the entity; repeatable."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="NAME", help="A whole conversation, by its name.")
    ] = None,
    message: Annotated[
        str | None, typer.Option(metavar="ID", help="One message, by its id; with --thread if it has one.")
    ] = None,
    document: Annotated[str | None, typer.Option(metavar="ID", help="A document, by its id.")] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="One memory, by its id; repeatable.")
    ] = None,
    bank: BankOption = "default",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Erase without asking.")] = False,
) -> None:
    """Erase memories.

    Shows the memories first. Erases with --yes, or after confirmation on a terminal.
    """
    target = {
        "text": text,
        "entity": entity,
        "names": name or None,
        "thread": thread,
        "message": message,
        "document": document,
        "units": unit or None,
    }
    chosen = {field: value for field, value in target.items() if value is not None}
    if len(chosen.keys() - {"names"} - ({"thread"} if message is not None else set())) != 1:
        raise USAGE_ERROR("Pass one of --text, --entity, --thread, --message, --document and --unit")
    if name and entity is None:
        raise USAGE_ERROR("--name goes with --entity")
    console = output()
    with _open(check_memory(path)) as hindsight:
        opened = hindsight.bank(bank, create=False)
        foreseen = opened.forget(dry_run=True, **chosen)  # type: ignore[arg-type] # by field
        if not foreseen.unit_ids and not any(foreseen.counts.values()):
            console.print("nothing to erase")
            return
        units = [opened.get(identity) for identity in foreseen.unit_ids[:SHOWN_ERASURES]]
        if units:
            console.print(units_table(units))
        if len(foreseen.unit_ids) > len(units):
            console.print(f"and {memories(len(foreseen.unit_ids) - len(units))} more")
        console.print(f"would erase: {_erased(foreseen.counts)}")
        if foreseen.names:
            print_line(console, f"names to be erased: {', '.join(foreseen.names)}")
        if foreseen.restored:
            console.print(f"would become valid again: {memories(len(foreseen.restored))}")
        if not yes and sys.stdin.isatty() and sys.stdout.isatty():
            yes = typer.confirm("Erase this for good?")
        if not yes:
            console.print("nothing was erased; pass --yes to erase")
            return
        receipt = opened.forget(**chosen)  # type: ignore[arg-type] # by field
    _print_receipt(receipt, path)


def _print_receipt(receipt: ForgetReceipt, path: str) -> None:
    """Print what was erased, and where erased memories may still be."""
    console = output()
    console.print(f"erased {memories(len(receipt.unit_ids))}")
    if not receipt.files_clean:
        console.print(
            "the database's own files and backups must be cleaned by its operator"
            if is_database(path)
            else "another process is reading the memory; the files are scrubbed when it is next opened"
        )
    for copy in receipt.copies:
        state = "confirmed by" if copy.confirmed else "not confirmed yet by"
        print_line(console, f"{state} {copy.place} (holder {copy.holder})")
    if not all(copy.confirmed for copy in receipt.copies):
        print_line(console, f"check again with: {PROGRAM} doctor {path}")


@app.command("forget-holder")
def forget_holder(
    path: PathArgument,
    holder: Annotated[
        str, typer.Argument(metavar="HOLDER", help="The holder, as `doctor` shows it.", show_default=False)
    ],
) -> None:
    """Record that all copies of a holder are gone.

    Use it with a PostgreSQL database, after you have deleted a cache folder, or when a process without a cache folder was
    killed. Deletes nothing.
    """
    with _open(check_memory(path)) as hindsight:
        copies = hindsight.forget_holder(holder)
    output().print(f"{count(copies, 'copy', 'copies')} recorded as gone")


def _erased(counts: Mapping[str, int]) -> str:
    """Format the counts of an erasure, without those of the indexes."""
    nouns = {
        "units": ("memory", "memories"),
        "turns": ("message", "messages"),
        "documents": ("document", "documents"),
        "entities": ("entity", "entities"),
    }
    parts = [count(counts[kind], *noun) for kind, noun in nouns.items() if counts.get(kind)]
    return ", ".join(parts) or reasons(counts)


@app.command("export")
def export_bank(
    path: PathArgument,
    file: Annotated[
        Path, typer.Argument(dir_okay=False, metavar="FILE", help="The archive to write.", show_default=False)
    ],
    bank: BankOption = "default",
) -> None:
    """Write a bank to an archive file."""
    with _open(path, read_only=True) as hindsight:
        count = hindsight.bank(bank, create=False).archive.export(file)
    print_line(output(), f"exported {memories(count)} to {file}")


@app.command("import")
def import_bank(
    path: PathArgument,
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            metavar="FILE",
            help="An archive that `export` wrote.",
            show_default=False,
        ),
    ],
    bank: BankOption = "default",
) -> None:
    """Load an archive into an empty bank."""
    from hindsight_integrations.bank.archive import read_archive

    with file.open(encoding="utf-8", errors="surrogateescape", newline="\n") as archive:
        deque(read_archive(archive), maxlen=0)  # before creating a memory
    with _open(path) as hindsight:
        count = hindsight.bank(bank).archive.load(file)
    print_line(output(), f"imported {memories(count)} into bank {bank} of {path}")


@app.command()
def move(
    source: PathArgument,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="A directory, or postgresql://USER@HOST/NAME.", show_default=False
        ),
    ],
) -> None:
    """Copy all banks to another memory.

    Each bank is copied completely or not at all. Banks that TARGET already has are skipped, so that the command can be
    repeated after an interruption. The source does not change. No other process may write to it during the copy.
    """
    from hindsight_integrations.ledger.ledger import Ledger

    check_memory(source)
    console = output()
    with closing(Ledger.open(source)) as old, closing(Ledger.open(target)) as new:
        for header in old.banks():
            if new.create_bank(header.name).revision:
                print_line(console, f"{header.name}: already there")
                continue
            with closing(old.archive.rows(header.name)) as rows:
                moved = new.archive.restore(header.name, rows)
            print_line(console, f"{header.name}: {memories(moved)}")


@app.command("migrate")
def migrate_schema(path: PathArgument) -> None:
    """Migrate the tables of a PostgreSQL database to this version of the program.

    First stop all processes that use the database. The migration is applied completely or not at all. A directory needs none.
    """
    from hindsight_integrations.ledger.ledger import Ledger
    from hindsight_integrations.ledger.migrations import migrate
    from hindsight_integrations.ledger.postgresql import checked_address

    check_memory(path)
    if not is_database(path):
        Ledger.open(path, read_only=True).close()  # raises an error for another version
        done = f"{path} is up to date: directories need no migration"
    elif (migration := migrate(checked_address(str(path)))).before is None:
        done = f"{migration.path}: created the tables, schema {migration.after}"
    elif migration.before == migration.after:
        done = f"{migration.path} is up to date: schema {migration.after}"
    else:
        done = f"{migration.path}: migrated from schema {migration.before} to {migration.after}"
    print_line(output(), done)


@app.command()
def tasks(
    path: PathArgument,
    retry: Annotated[
        bool, typer.Option("--retry", help="Make all tasks due now, including abandoned ones.")
    ] = False,
) -> None:
    """List waiting and abandoned tasks."""
    check_memory(path)
    with _open(path, read_only=not retry) as hindsight:
        opened = [hindsight.bank(name, create=False) for name in hindsight.banks()]
        due = sum(bank.tasks.retry() for bank in opened) if retry else 0
        waiting = [task for bank in opened for task in bank.tasks.list() if task.state.value != "done"]
    console = output()
    if not waiting:
        console.print("no tasks are waiting")
        return
    console.print(tasks_table(waiting))
    if retry:
        print_line(console, f"{count(due, 'task')} due now; run with: {PROGRAM} work {path}")


@app.command("work")
def do_work(
    path: PathArgument,
    model: ModelOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Also wait for tasks that are due later.")] = False,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of tasks that run at the same time.")
    ] = None,
) -> None:
    """Run the waiting tasks.

    With a directory, no other process may have it open. With a PostgreSQL database, any number of processes may work, and
    this one runs until it is stopped. Exits with 1 if a task failed.
    """
    console = output()
    try:
        all_done = asyncio.run(work(path, console, follow=follow, model=model, concurrency=concurrency))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped; unfinished tasks stay queued")
        _leave(INTERRUPTED)
    if not all_done:
        raise typer.Exit(1)


async def work(
    path: str | Path,
    console: Console,
    *,
    follow: bool = False,
    concurrency: int | None = None,
    **opening: Any,  # noqa: ANN401 - of `open`
) -> bool:
    """Run the waiting tasks of all banks and print the results; return whether all tasks succeeded.

    With a database address, tasks are run until the process is stopped. On SIGTERM or Ctrl-C, unfinished tasks go back to
    the queue.

    Raises:
        InvalidRequest: the directory contains no memory.
        LedgerBusy: another process has the directory open.
    """
    from hindsight_integrations.engine.assembly import AsyncHindsight

    check_memory(path)
    if (working := asyncio.current_task()) is not None:
        with suppress(NotImplementedError):  # missing on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    if concurrency is not None:
        settings = opening.get("config") or HindsightConfig.from_env()
        opening["config"] = replace(settings, concurrent_tasks=concurrency)
    if is_database(path):
        async with AsyncHindsight.open(path, worker=True, **opening) as hindsight:
            print_line(console, f"working for {hindsight.place}; stop with Ctrl-C or SIGTERM")
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        console.print("stopped; unfinished tasks stay queued")
        return True
    async with AsyncHindsight.open(path, **opening) as hindsight:
        settled = await hindsight.settle(wait=follow, progress=lambda brought: _show_one(brought, console))
        tasks = (await hindsight.doctor()).tasks
    console.print(_summary(settled))
    if tasks.waiting:
        console.print(f"{count(tasks.waiting, 'task')} waiting, {due_words(tasks.next_due)}")
    if tasks.dead:
        print_line(
            console,
            f"{count(tasks.dead, 'task')} abandoned; list them, or --retry, with: {PROGRAM} tasks {path}",
        )
    return not settled.failed


def due_words(next_due: timedelta | None) -> str:
    """Describe when the next waiting task is due."""
    if next_due is None:
        return "for a language model (none is set)"
    seconds = round(next_due.total_seconds())
    return f"the next due in {timedelta(seconds=seconds)}" if seconds else "the next due now"


def _show_one(settled: Settled, console: Console) -> None:
    for task in settled.done:
        console.print(f"  task {task}: {_brought(settled) or 'nothing new'}", style="dim")
    for task, reason in settled.failed.items():
        console.print(plain(f"  task {task} failed: ", "red").append_text(plain(reason)))


def _summary(settled: Settled) -> str:
    parts = [f"{count(len(settled.done), 'task')} done", _brought(settled)]
    parts += [f"{len(settled.failed)} failed"] if settled.failed else []
    parts += [f"{settled.tokens_in + settled.tokens_out} tokens"] if settled.tokens_in else []
    return "; ".join(filter(None, parts))


def _brought(settled: Settled) -> str:
    counts = [
        (settled.created, "new memory", "new memories"),
        (settled.observed, "entity observed", "entities observed"),
        (settled.merged, "background merged", "backgrounds merged"),
        (settled.refreshed, "mental model refreshed", "mental models refreshed"),
        (len(settled.dropped), "statement dropped", "statements dropped"),
    ]
    return ", ".join(count(number, *noun) for number, *noun in counts if number)


@app.command()
def serve(
    path: PathArgument,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port.")] = 8888,
    tokens: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            readable=True,
            metavar="FILE",
            help="A TOML file with the tokens of clients and their banks; required if other machines can connect.",
        ),
    ] = None,
    model: ModelOption = None,
) -> None:
    """Serve a memory over HTTP, so that several processes can use it.

    Python clients call Hindsight.connect("http://HOST:PORT"). The client packages of the Hindsight server work too. The server
    also runs waiting tasks. On SIGTERM or Ctrl-C, it finishes running requests and stops.
    """
    from hindsight_integrations.engine.assembly import AsyncHindsight
    from hindsight_integrations.server.access import Tokens

    with _server_installed():
        from hindsight_integrations.server.app import check_host, run_server

    allowed = None if tokens is None else Tokens.read(tokens)
    check_host(host, allowed)
    engine = AsyncHindsight.open(path, model=model, worker=True)
    try:
        run_server(engine, host=host, port=port, tokens=allowed, started=partial(_print_address, path))
    finally:
        engine.close_now()


@contextmanager
def _server_installed() -> Iterator[None]:
    """If an import in the block fails, tell how to install the packages of the server."""
    try:
        yield
    except ModuleNotFoundError as error:
        remedy = 'Run: pip install "hindsight-integrations[server]"'
        raise MissingDependency(error.name or "fastapi", remedy) from error


def _print_address(path: str, address: str) -> None:
    print_line(output(), f"serving {path} at {address}; stop with Ctrl-C or SIGTERM")


@app.command()
def doctor(
    path: PathArgument,
    deep: Annotated[bool, typer.Option("--deep", help="Verify all checksums.")] = False,
) -> None:
    """Show backends, banks, waiting tasks and problems."""
    with _open(path, read_only=True) as hindsight:
        health = hindsight.doctor(deep=deep)
    shown = table("", "")
    shown.show_header = False
    for role, name in health.backends.items():
        shown.add_row(role, plain(name))
    for bank, (units, revision) in health.banks.items():
        shown.add_row(plain(f"bank {bank}"), f"{memories(units)}, revision {revision}")
    for bank, problem in health.failures.items():
        shown.add_row(plain(f"bank {bank}", "red"), plain(problem))
    for bank, damaged in health.damaged.items():
        shown.add_row(plain(f"bank {bank}", "red"), plain(f"damaged memories: {', '.join(damaged)}"))
    if health.tasks.waiting or health.tasks.dead:
        due = f", {due_words(health.tasks.next_due)}" if health.tasks.waiting else ""
        shown.add_row("tasks", f"{health.tasks.waiting} waiting{due}; {health.tasks.dead} abandoned")
    for copy in health.unconfirmed:
        bank = f"bank {copy.bank}" if copy.bank else "a forgotten bank"
        shown.add_row(
            plain(bank, "red"), plain(f"erasure not confirmed by {copy.place} (holder {copy.holder})")
        )
    for problem in health.ledger:
        shown.add_row(plain("ledger", "red"), plain(problem))
    if deep and not health.damaged and not health.ledger:
        shown.add_row("checksums", "all correct")
    output().print(shown)


@app.command()
def inspect(
    path: PathArgument,
    write: Annotated[
        bool, typer.Option("--write", help="Allow to withdraw, restore, edit and forget memories.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 selects a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Show a memory in the browser.

    The page can be opened only on this machine, until Ctrl-C. Without --write it is read-only.
    """
    if path.startswith(("http://", "https://")):
        raise InvalidRequest(
            "path",
            f"{path} is the address of a server",
            "Run the command on the server's machine, and pass the directory or database.",
        )
    with _server_installed():
        from hindsight_integrations.server.inspector import serve_inspector
    console = output()

    def opened(address: str) -> None:
        print_line(console, f"inspecting {path}{'' if write else ', read-only'}; stop with Ctrl-C")
        print_line(console, address)
        if browser:
            webbrowser.open(address)

    check_memory(path)
    with _open(path, read_only=not write) as hindsight:
        serve_inspector(hindsight.asynchronous, opened, write=write, port=port)


@app.command()
def demo(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A LoCoMo conversation to use instead.", show_default=False),
    ] = None,
) -> None:
    """Show what memory does for an assistant, in seven scenes.

    Needs no key and no network, because the language model's answers are recorded. With FILE, retains that conversation in
    a new memory and recalls memories for five of its questions.
    """
    if data is None:
        from hindsight_integrations.cli.demo import demo_console, run_demo

        run_demo(demo_console())
    else:
        from hindsight_integrations.cli.demo import run_conversation

        run_conversation(data, output())


@app.command(
    "eval",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def evaluate(context: typer.Context) -> None:
    """Run hindsight-evals, a separate package."""
    try:
        from hindsight_evals.cli import run_command
    except ModuleNotFoundError as error:
        if error.name not in {"hindsight_evals", "hindsight_evals.cli"}:
            raise
        typer.echo("Evaluations are not installed. From this repository: pip install ./evals", err=True)
        raise typer.Exit(2) from error
    run_command(context.args, program=f"{PROGRAM} eval")


def has_memory(path: str | Path) -> bool:
    """Return whether a directory contains a memory. A database is checked only when it is opened."""
    return is_database(path) or (Path(path) / LEDGER).exists()


def check_memory(path: str | Path) -> str | Path:
    """Check that a directory contains a memory, and return it.

    Raises:
        InvalidRequest: the directory does not contain one.
    """
    if has_memory(path):
        return path
    raise InvalidRequest(
        "path",
        f"there is no memory in {path}",
        f"Check the path, or create one with: hindsight-memory retain {path} TEXT",
    )


@contextmanager
def _open(path: str | Path, *, model: str | None = None, read_only: bool = False) -> Iterator[Hindsight]:
    """Open a memory. With `read_only`, it must exist."""
    from hindsight_integrations.sync import (
        Hindsight,  # imported here, because it takes seconds that help and usage errors should not need
    )

    if read_only:
        check_memory(path)
    elif not is_database(path) and Path(path).exists() and not Path(path).is_dir():
        raise InvalidRequest("path", f"{path} is not a directory", "Pass the directory of a memory.")
    hindsight = Hindsight.open(path, model=model, read_only=read_only)
    try:
        yield hindsight
    except KeyboardInterrupt:
        hindsight.close()
        _leave(INTERRUPTED)
    finally:
        hindsight.close()


_ADVICE: Mapping[type[HindsightError], str] = {
    LedgerBusy: "{path} is open for writing in process {pid}. Wait until that process ends, or stop it.",
    BankNotFound: "there is no bank {bank!r} (banks here: {known}). Pass another --bank.",
    MemoryDamaged: "memories of bank {bank!r} are damaged: {units}. Restore the directory from a backup, or erase them "
    f"with: {PROGRAM} forget PATH --unit ID",
    LedgerLost: "{path} has lost memory: {reason}. Nothing was changed. Restore the whole directory from a backup.",
    EmbedderMismatch: "bank {bank!r} was embedded with {stored}, not {given}. Set HINDSIGHT_EMBEDDER "
    f"to the backend of that model: {', '.join(f'{kind} ({kind.model})' for kind in EmbedderBackend)}.",
    IndexBehind: "the {index} index of bank {bank!r} is behind: {reason}. Nothing is lost; free disk space.",
    IndexOutOfStep: "the {index} index of bank {bank!r} is broken: {reason}. Nothing is lost; run the command again, or "
    "delete the index's directory.",
    PromptTooLong: "the prompt exceeds the context of model {model}: {reason}. Set "
    "HINDSIGHT_EXTRACTION=concise, or give the model a longer context.",
    ArchiveInvalid: "line {line} of the archive, {field}: {reason}. Export it again with: "
    f"{PROGRAM} export",
}
"""Shell messages for errors whose own advice is for Python. A placeholder stands for a field of the error."""

_REMEDIES = {
    "bank": "Pass another --bank.",
    "bank id": "Pass another --bank.",
    "opinion_id": f"List opinions with: {PROGRAM} show PATH opinions",
    "entity": f"List the names with: {PROGRAM} show PATH entities; --name selects some of them.",
    "names": f"List the names with: {PROGRAM} show PATH entities",
    "text": "Use the memories' own words, or pass --unit or --entity.",
    "holder": f"List the holders of unconfirmed copies with: {PROGRAM} doctor PATH",
    "model": "Pass for example openai:gpt-5-mini.",
}
"""Shell remedies for InvalidRequest, by field. Other remedies are omitted if they mention Python."""

_SENTENCES = frozenset({"path", "unit_id", "units", "opinion_id", "entity", "message"})
"""Fields whose name is omitted from the message, because the reason describes the problem."""


def advice(error: HindsightError) -> str:
    """Return an error's message with shell advice, on one line."""
    words = str(error)
    if template := next((text for kind, text in _ADVICE.items() if isinstance(error, kind)), None):
        words = template.format(**{name: _listed(value) for name, value in vars(error).items()})
    elif isinstance(error, InvalidRequest):
        remedy = error.remedy_in_words or _REMEDIES.get(error.field, "")
        reason = error.reason if error.field in _SENTENCES else f"{error.field}: {error.reason}"
        words = f"{reason}. {remedy}"
    return " ".join(words.split())


def _listed(value: object) -> object:
    """Format an attribute of an error; show the first five values of a list."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value[:5])) + (", ..." if len(value) > 5 else "") or "none"
    return "unknown" if value is None else value


def run() -> None:
    """Run the command line, and print an error as one line on standard error.

    Exit codes: 0, 1 for an error, 2 for wrong usage, 130 for Ctrl-C.
    """
    try:
        code = app(prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except USAGE_ERROR as error:
        _fail(error.format_message().rstrip(".").replace("Value error, ", ""), 2)  # type: ignore[attr-defined] # of click
    except typer.Abort:
        code = INTERRUPTED
    except HindsightError as error:
        _fail(advice(error), 1)
    except BrokenPipeError:
        # The reader closed the pipe. Redirect, because Python flushes its buffer at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    if code == INTERRUPTED:
        _leave(code)
    if code:
        raise SystemExit(code)


def _fail(problem: str, code: int) -> NoReturn:
    """Print an error on one line, for wrong usage with a hint about --help, and exit."""
    console = messages()
    line = plain("Error: ", "bold red").append(clean(" ".join(problem.split())), style="not bold default")
    console.print(line, soft_wrap=True)
    if code == 2:
        names = {
            command.name or command.callback.__name__
            for command in app.registered_commands
            if command.callback
        }
        command = next((f" {word}" for word in sys.argv[1:2] if word in names), "")
        console.print(f"Try: {PROGRAM}{command} --help", soft_wrap=True)
    raise SystemExit(code)


def _leave(code: int) -> NoReturn:
    """End the process immediately, because a pending model call would keep it alive. Everything is already closed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
