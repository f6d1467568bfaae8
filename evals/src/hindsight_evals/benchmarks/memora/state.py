"""Print a bank's valid memories compared with a Memora week's ground truth, and the memories that were invalidated."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from hindsight_evals.benchmarks.memora.bank import Held
from hindsight_evals.benchmarks.memora.truth import Value, contains, final_state
from hindsight_evals.datasets.memora import MemoraSession
from hindsight_integrations import RetainResult

SHOWN = 150  # maximum number of characters printed of a memory


def present(value: Value, units: Sequence[Held]) -> bool:
    """Return whether the bank has a value in its valid memories."""
    return any(unit.sessions & value.sessions and contains(unit.text, value) for unit in units)


def report(values: Sequence[Value], units: Sequence[Held]) -> None:
    """Print presence, absence and every miss."""
    for name, wanted in (("presence", True), ("absence", False)):
        asked = [value for value in values if value.held is wanted]
        misses = [value for value in asked if present(value, units) is not wanted]
        right = len(asked) - len(misses)
        sys.stdout.write(f"{name}: {right}/{len(asked)} = {100 * right / max(len(asked), 1):.1f} %\n")
        for value in misses:
            sys.stdout.write(f"  miss: {' / '.join(value.key)}  (sessions {sorted(value.sessions)})\n")


def report_state(sessions: Sequence[MemoraSession], units: Sequence[Held]) -> None:
    """Print the figures for the whole ground truth, then for the part that occurs in a conversation."""
    for name, said_only in (("all tokens of the details", False), ("tokens the conversations say", True)):
        values = final_state(sessions, said_only=said_only)
        sys.stdout.write(f"\n{name}\n")
        report(values, units)


def report_withdrawals(results: Iterable[tuple[int, RetainResult]], texts: Mapping[str, str]) -> None:
    """Print every memory and item that ended, and ambiguous statements, by session."""
    for number, result in results:
        for kind in ("closed", "removed"):
            for done in getattr(result, kind):
                sys.stdout.write(f"S{number} {kind} «{done.statement}»\n     {texts[done.unit_id][:SHOWN]}\n")
        for doubt in result.ambiguous:
            sys.stdout.write(f"S{number} ambiguous {doubt.score:.2f} «{doubt.statement}»\n")
            for unit in doubt.candidates:
                sys.stdout.write(f"     {texts[unit][:SHOWN]}\n")
