"""Output of the commands: tables and JSON documents."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hindsight_integrations.model.display import count, day, one_line
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.recalled import recalled_row
from hindsight_integrations.model.trace import Channel

if TYPE_CHECKING:
    from hindsight_integrations.model.aggregates import RecordEntry
    from hindsight_integrations.model.entities import Entity
    from hindsight_integrations.model.opinions import Opinion, OpinionHistory
    from hindsight_integrations.model.recalled import RecalledUnit
    from hindsight_integrations.model.reflections import Reflection
    from hindsight_integrations.model.results import RecallResult
    from hindsight_integrations.model.tasks import Task
    from hindsight_integrations.model.units import MemoryUnit, ValidityEvent

CHANNEL_NAMES = {
    Channel.SEMANTIC: "meaning",
    Channel.KEYWORD: "words",
    Channel.GRAPH: "graph",
    Channel.TEMPORAL: "time",
}
SHORT = 200  # maximum number of characters of a memory in a short list
PIPED_WIDTH = 100  # width in columns if the output is not a terminal
_DIRECTION = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # direction marks, which would reorder the following text


def output() -> Console:
    """Return a console for standard output: as wide as the terminal, or 100 columns without colour if piped."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def messages() -> Console:
    """Return a console for standard error, for errors, prompts and progress."""
    return Console(highlight=False, stderr=True)


def clean(text: str) -> str:
    """Remove control characters, which could move the cursor or colour the terminal."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or (unicodedata.category(character) != "Cc" and character not in _DIRECTION)
    )


def plain(text: object, style: str = "") -> Text:
    """Return cleaned text that is not interpreted as markup."""
    return Text(clean(str(text)), style=style, overflow="fold")


def print_line(console: Console, text: str) -> None:
    """Print cleaned text without breaking lines, so that paths and commands can be copied."""
    console.print(plain(text), soft_wrap=True)


def print_json(document: object) -> None:
    """Print a JSON document to standard output, with times in ISO 8601."""
    from pydantic_core import to_jsonable_python

    plain_ascii = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    value = to_jsonable_python(document)
    print(json.dumps(value, indent=2, ensure_ascii=plain_ascii))


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """Create an empty table without borders, whose cells wrap."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold", justify="right" if column in right else "left")
    return made


def reasons(counts: Mapping[str, int]) -> str:
    """Format counts: "empty (2), system lines (1)"."""
    return ", ".join(f"{reason} ({count:,})" for reason, count in counts.items())


def memories(number: int) -> str:
    """Format a number of memories: "1 memory", "1,204 memories"."""
    return count(number, "memory", "memories")


def when(unit: MemoryUnit) -> str:
    """Format a unit's event time with its length in days, or else the time when it was mentioned."""
    if unit.occurred is None:
        return f"said {day(unit.mentioned_at)}"
    days = (unit.occurred.end - unit.occurred.start).days
    return day(unit.occurred.start) + (f" +{days}d" if days > 1 else "")


def found_by(item: RecalledUnit) -> str:
    """Format the channels that found a unit, with its rank in each."""
    return ", ".join(f"{CHANNEL_NAMES[channel]} {hit.rank}" for channel, hit in item.channels.items())


def with_id(text: str, identity: str, note: str = "") -> Text:
    """Format a text with its full id on a separate line, so that the id can be copied."""
    shown = plain(text)
    if note:
        shown.append(f" [{note}]", style="dim")
    return shown.append(f"\n{clean(identity)}", style="dim")


def show_recalled(found: RecallResult, console: Console, *, most: int | None = 4) -> None:
    """Print the best units of a result, shortened, or all units in full if `most` is None."""
    if found.window:
        console.print(
            f"  time asked about: {found.window.start:%Y-%m-%d} to {found.window.end:%Y-%m-%d}", style="dim"
        )
    shown = table("score", "when", "found by (rank)", "memory", right=["score"])
    for item in found.units[:most]:
        text = item.text if most is None else one_line(item.text, SHORT)
        shown.add_row(f"{item.score:.4f}", when(item.unit), found_by(item), plain(text))
    console.print(shown)


def show_reflection(reflection: Reflection, console: Console) -> None:
    """Print an answer, its supporting memories, opinions and notes."""
    console.print(plain(reflection.text), soft_wrap=True)
    if reflection.units and not reflection.extractive:
        console.print("\nBased on:", style="bold")
        shown = table("", "when", "memory", right=[""])
        for number, item in enumerate(reflection.units, 1):
            shown.add_row(f"{number}.", when(item.unit), plain(item.text))
        console.print(shown)
    changes = [change for change in reflection.opinions if change.opinion_id]
    for change in changes:
        console.print(plain(f"opinion {change.outcome}: {change.text}", "dim"))
    for note in notes(reflection):
        console.print(plain(f"note: {note}", "dim"))
    if reflection.extractive:
        console.print(
            "note: these are the memories themselves; pass --model openai:NAME for an answer", style="dim"
        )


def notes(reflection: Reflection) -> list[str]:
    """Return the notes of a reflection, without advice for Python programs."""
    return [note for note in reflection.notes if not note.startswith("no language model is set")]


def units_table(
    units: Iterable[MemoryUnit], items: Mapping[str, Sequence[MemoryUnit]] = MappingProxyType({})
) -> Table:
    """Build a table of memories with type and id. Documents are shown with their valid items."""
    shown = table("when", "type", "memory")
    for unit in units:
        closed = f"until {day(unit.closed_at)}" if unit.closed_at else ""
        text = document_text(unit.text, items.get(unit.id, ()))
        shown.add_row(when(unit), unit.fact_type.value, with_id(text, unit.id, closed))
    return shown


def records_table(entries: Iterable[RecordEntry]) -> Table:
    """Build a table of records with their memories."""
    shown = table("when", "kind", "category", "value", "memory", right=["value"])
    for entry in entries:
        record = entry.record
        shown.add_row(
            day(entry.at),
            record.kind.value,
            plain(record.category),
            plain(record.words),
            plain(entry.memory.text),
        )
    return shown


def entities_table(entities: Iterable[Entity]) -> Table:
    """Build a table of entities with their other names."""
    shown = table("entity", "type", "memories", "last mentioned", "also called", right=["memories"])
    for entity in entities:
        others = ", ".join(name for name in entity.names if name != entity.name.casefold())
        shown.add_row(
            plain(entity.name),
            entity.type.value.lower(),
            f"{entity.mentions:,}",
            day(entity.last_seen),
            plain(others),
        )
    return shown


def opinions_table(opinions: Iterable[Opinion]) -> Table:
    """Build a table of opinions with confidence and id."""
    shown = table("confidence", "strength", "formed", "opinion", right=["confidence"])
    for opinion in opinions:
        shown.add_row(
            f"{opinion.confidence:.2f}",
            opinion.strength.value,
            day(opinion.formed_at),
            with_id(opinion.text, opinion.id),
        )
    return shown


def show_unit_history(
    unit: MemoryUnit, events: Sequence[ValidityEvent], texts: dict[str, str], console: Console
) -> None:
    """Print when a memory was closed or restored, and which memory caused it (its text by id is in `texts`)."""
    console.print(units_table([unit]))
    if not events:
        console.print("\nIt has been valid since it was mentioned.")
        return
    console.print()
    shown = table("on", "event", "by", "reason")
    for event in events:
        by = plain(texts.get(event.by_unit, event.by_unit)) if event.by_unit else plain("-")
        shown.add_row(day(event.effective_at), event.kind.value, by, plain(event.reason))
    console.print(shown)


def show_opinion_history(history: OpinionHistory, console: Console) -> None:
    """Print an opinion's wordings and evidence."""
    log = history.log
    console.print(plain(log.versions[-1].text, "bold"), soft_wrap=True)
    console.print(
        f"formed {day(log.formed_at)} with confidence {log.confidence:.2f}; now {history.confidence:.2f}"
    )
    if len(log.versions) > 1:
        wordings = table("since", "wording", "reworded because")
        for version in log.versions:
            wordings.add_row(day(version.since), plain(version.text), plain(version.reason))
        console.print()
        console.print(wordings)
    if not history.entries:
        return
    shown = table("on", "evidence", "confidence", "said by", "reason")
    for entry in history.entries:
        evidence = entry.evidence
        change = f"{entry.before:.2f} → {entry.after:.2f}" if entry.counts else "does not count"
        kind = f"{evidence.strength} {evidence.assessment}"
        shown.add_row(
            day(evidence.effective_at),
            kind,
            change,
            plain(", ".join(evidence.sources)),
            plain(evidence.reason),
        )
    console.print()
    console.print(shown)


def tasks_table(tasks: Iterable[Task]) -> Table:
    """Build a table of tasks."""
    shown = table("task", "bank", "kind", "state", "attempts", "due", "reason", right=["task", "attempts"])
    for task in tasks:
        shown.add_row(
            str(task.id),
            plain(task.bank),
            task.kind.value,
            task.state.value,
            str(task.attempts),
            f"{task.not_before:%Y-%m-%d %H:%M}",
            plain(task.reason),
        )
    return shown


def recall_document(found: RecallResult) -> dict[str, Any]:
    """Convert a recall result to JSON: memories best first, with scores."""
    return {
        "query": found.query.text if found.query else None,
        "confidence": found.confidence,
        "tokens": found.tokens,
        "window": found.window,
        "memories": [recalled_row(rank, item) for rank, item in enumerate(found, 1)],
        "damaged": found.damaged,
    }


def reflection_document(reflection: Reflection) -> dict[str, Any]:
    """Convert an answer to JSON, with its supporting memories."""
    return {
        "text": reflection.text,
        "extractive": reflection.extractive,
        "sufficient": reflection.sufficient,
        "memories": [recalled_row(rank, item) for rank, item in enumerate(reflection.units, 1)],
        "opinions": reflection.opinions,
        "notes": notes(reflection),
        "calls": reflection.calls,
        "tokens_in": reflection.tokens_in,
        "tokens_out": reflection.tokens_out,
    }
