"""The explanation of a recall as plain text, with one function per section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_integrations.model.metadata import condition_text
from hindsight_integrations.model.recalled import (
    EntityObservations,
    RecalledChunk,
    RecalledUnit,
    SourceFact,
)
from hindsight_integrations.model.requests import RecallQuery, TagAnd, TagGroup, TagLeaf, TagNot
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.trace import SOURCE_TURNS, Channel, Fate, Reranked, Stage, UnitTrace
from hindsight_integrations.model.units import UnitKind

DROPPED_SHOWN = 30  # maximum number of dropped candidates shown; the trace contains all of them
TEXT_SHOWN = 72  # maximum characters of a text
NOTHING = "-"
NOT_RECORDED = "Dropped candidates were not recorded; call recall(..., trace=True) to record them."

_HEADS = ("#", "score", *Channel, SOURCE_TURNS, "fused", "logit", "boosts r*t", "tokens", "memory")


def question(query: RecallQuery | None, window: Interval | None) -> str:
    """Format the question, its options and its time window."""
    lines = []
    if query is not None:
        lines += [f"recall  {query.text!r}", f"options {', '.join(_options(query))}"]
    lines.append(
        f"window  {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC (end excluded)"
        if window
        else "window  none: the question contains no time expression"
    )
    return "\n".join(lines)


def _options(query: RecallQuery) -> list[str]:
    """Format the main options, and others that differ from their defaults."""
    options = [f"budget={query.budget}", f"max_tokens={query.max_tokens}", f"types={'+'.join(query.types)}"]
    options += [f"k={query.k}"] if query.k is not None else []
    options += [f"tags={'+'.join(query.tags)} ({query.tags_match})"] if query.tags else []
    options += [f"tag_groups={' and '.join(map(_group, query.tag_groups))}"] if query.tag_groups else []
    options += [f"metadata={condition_text(query.metadata)}"] if query.metadata is not None else []
    options += [f"as_of={query.as_of:%Y-%m-%d %H:%M:%S}"] if query.as_of else []
    options += ["include_invalidated"] if query.include_invalidated else []
    for stage in ("semantic", "keyword", "reranker", "final"):
        least = getattr(query.min_scores, stage)
        options += [f"{stage}>={least:g}"] if least is not None else []
    return [*options, f"asked at {query.query_timestamp:%Y-%m-%d %H:%M} UTC"]


def _group(group: TagGroup) -> str:
    if isinstance(group, TagLeaf):
        return f"{group.match}({', '.join(group.tags)})"
    if isinstance(group, TagNot):
        return f"not {_group(group.group)}"
    word = " and " if isinstance(group, TagAnd) else " or "
    return f"({word.join(map(_group, group.groups))})"


def summary(query: RecallQuery | None, units: int, tokens: int, confidence: float) -> str:
    """Format the number of memories, their tokens, and the confidence."""
    budget = f" of {query.max_tokens}" if query else ""
    return f"found   {units} memories, {tokens}{budget} tokens, confidence {confidence:.2f}"


def timings(stages: Sequence[Stage]) -> str:
    """Format every stage with its milliseconds and detail."""
    rows = []
    for stage in stages:
        detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items())
        rows.append((stage.name, f"{stage.milliseconds:.1f} ms", detail))
    total = sum(stage.milliseconds for stage in stages)
    return "\n".join([f"stages  {total:.1f} ms in total; the channels run concurrently", *_table(rows)])


def notices(notes: Iterable[str]) -> str:
    """Format the notes of the stages; empty if there are none."""
    lines = [f"  {note}" for note in notes]
    return "\n".join(["notes", *lines]) if lines else ""


def memories(units: Sequence[RecalledUnit], traces: Iterable[UnitTrace]) -> str:
    """Format one line per memory, with rank and score in each channel, and with the traced parts of its score."""
    if not units:
        return "memories  none"
    traced = {trace.unit_id: trace for trace in traces}
    rows = [_row(place, item, traced.get(item.unit.id)) for place, item in enumerate(units, 1)]
    return "\n".join(["memories (per channel: rank, score)", *_table([_HEADS, *rows])])


def _row(place: int, item: RecalledUnit, trace: UnitTrace | None) -> tuple[str, ...]:
    channels = trace.channels if trace else item.channels
    read = trace.reranked if trace else None
    return (
        str(place),
        f"{item.score:.4f}",
        *(
            f"{channels[channel].rank}, {channels[channel].score:.3f}" if channel in channels else NOTHING
            for channel in Channel
        ),
        f"{trace.told.rank}, {trace.told.score:.3f}" if trace and trace.told else NOTHING,
        f"{trace.fused:.4f}" if trace else NOTHING,
        f"{read.logit:.3f}" if read else NOTHING,
        _boosts(read) if read else NOTHING,
        str(item.tokens),
        _short(item.text) + _marks(item),
    )


def _boosts(read: Reranked) -> str:
    """Format the factors of a score; the proof factor is shown only for observations."""
    shown = [read.recency, read.temporal] if read.proof == 1 else [read.recency, read.temporal, read.proof]
    return "*".join(f"{boost:.2f}" for boost in shown)


def _marks(item: RecalledUnit) -> str:
    """Format the notes after a memory's text: waiting turn, reason and validity."""
    waits = " [turn waiting for extraction]" if item.kind is UnitKind.TURN else ""
    waits += f" [{item.reason.words}]" if item.reason.words else ""
    return waits if item.valid else f"{waits} [no longer valid]"


def included(
    entities: Iterable[EntityObservations],
    chunks: Iterable[RecalledChunk],
    source_facts: Iterable[SourceFact],
) -> str:
    """Format the results of `include_entities`, `include_chunks` and `include_source_facts`; empty if there are none."""
    lines = [
        f"  {entity.name}{' (outdated)' if entity.stale else ''}: {_short(item.text)}"
        for entity in entities
        for item in entity.observations
    ]
    lines += [
        f"  {_place(chunk)}: {chunk.tokens} tokens" + (" (cut at the budget)" if chunk.truncated else "")
        for chunk in chunks
    ]
    lines += [f"  source fact: {_short(source.fact.text)}" for source in source_facts]
    return "\n".join(["included", *lines]) if lines else ""


def _place(chunk: RecalledChunk) -> str:
    """Format the source of a passage or turn, with a note if it is no longer valid."""
    if chunk.turn is None:
        return f"{chunk.document_id}, passage {chunk.ordinal}"
    return f"message {chunk.turn.message_id}" + (" [no longer valid]" if chunk.turn.history else "")


def dropped(traces: Iterable[UnitTrace]) -> str:
    """Format the candidates that were not returned, with reasons."""
    missing = [trace for trace in traces if trace.fate is not Fate.RETURNED]
    if not missing:
        return "dropped  none"
    rows = [
        (
            NOTHING if trace.score is None else f"{trace.score:.4f}",
            ", ".join(f"{channel} {hit.rank}" for channel, hit in trace.channels.items()) or NOTHING,
            trace.reason,
            _short(trace.text),
        )
        for trace in missing[:DROPPED_SHOWN]
    ]
    more = len(missing) - len(rows)
    lines = [f"dropped  {len(missing)}", *_table([("score", "channels", "why", "memory"), *rows])]
    return "\n".join([*lines, *([f"  and {more} more in trace.units"] if more else [])])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT_SHOWN else line[: TEXT_SHOWN - 3] + "..."


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the columns of rows, indented by two spaces; the last column is not padded."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
