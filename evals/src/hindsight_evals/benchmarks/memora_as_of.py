"""Check recall and enumeration with `as_of` at 20 moments of a Memora week, against the validity log and a new bank.

    hindsight-evals bench memora_as_of --data DIR --facts DIR

Each moment is just after a session that changed something. Every item of the ground truth so far is queried
with `as_of`. No result may be mentioned later or invalidated by then, and all must be valid in a replay of
the log that is implemented separately from the engine. The enumerated units must have the same texts as the
valid ones of a bank with only the sessions up to then. Memora gives sessions of one day no hour, so they are
put a minute apart. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.memora.bank import LIGHT, Facts, fill
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.memora import MemoraSession, read_memora
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, MemoryUnit
from hindsight_integrations.model.units import ValidityEvent, ValidityKind

JUST_AFTER = timedelta(seconds=30)
APART = timedelta(minutes=1)  # interval between two sessions of a day, because Memora gives them no hour


@dataclass(slots=True)
class Row:
    """The results at one moment."""

    moment: datetime
    session: int
    told: list[str]
    valid: int = 0
    recalls: int = 0
    served: int = 0
    wrong: int = 0
    same: bool = False


def spaced(sessions: Sequence[MemoraSession]) -> list[datetime]:
    """Return a time for each session, in order, starting at midnight UTC."""
    seen: Counter[date] = Counter()
    moments = []
    for session in sessions:
        moments.append(datetime.combine(session.date, time(), UTC) + seen[session.date] * APART)
        seen[session.date] += 1
    return moments


def points(sessions: Sequence[MemoraSession], count: int) -> list[int]:
    """Return positions of `count` sessions with an operation, evenly spread, including the last."""
    changing = [place for place, session in enumerate(sessions) if session.operation]
    step = len(changing) / count
    return [changing[round((number + 1) * step) - 1] for number in range(min(count, len(changing)))]


def question(session: MemoraSession) -> str:
    """Return the ground truth of a session's operation as a question: kind, item and details, in words."""
    details = session.operation_details or {}
    parts = (details.get(key) for key in ("category", "subcategory", "item", "old_item", "content_data"))
    return " ".join(_words(parts)).replace("_", " ")[:1000]


def _words(value: Any) -> Iterable[str]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, str | int | float) or value is None:
        return [] if value is None else [str(value)]
    return [word for part in value for word in _words(part)]


def valid_by_log(log: Sequence[ValidityEvent], moment: datetime) -> bool:
    """Return whether a unit is valid at a moment according to the last closing or restoring event of its log by then.

    Deliberately implemented separately from the engine's masks. Moments count in whole seconds
    (`search.columns.no_later`).
    """
    second = moment.replace(microsecond=0)
    by_then = [event for event in log if event.effective_at.replace(microsecond=0) <= second]
    kinds = [event.kind for event in by_then]
    return not kinds or kinds[-1] is ValidityKind.RESTORED


def violations(bank: MemoryBank, unit: MemoryUnit, moment: datetime) -> list[str]:
    """Return what is wrong with a unit that was returned as valid at a moment."""
    second = moment.replace(microsecond=0)
    wrong = []
    if unit.mentioned_at.replace(microsecond=0) > second:
        wrong.append("mentioned later")
    if unit.closed_at is not None and unit.closed_at.replace(microsecond=0) <= second:
        wrong.append("closed by then")
    if not valid_by_log(bank.history(unit.id), moment):
        wrong.append("not valid by its log")
    return wrong


def told_up_to(
    bank: MemoryBank,
    sessions: Sequence[MemoraSession],
    moments: Sequence[datetime],
    places: Sequence[int],
    facts: Facts,
) -> list[Row]:
    """Retain session by session, and record the valid memories after each of these positions."""
    rows, done = [], 0
    for place in places:
        fill(bank, sessions[done : place + 1], facts, moments[done : place + 1])
        done = place + 1
        moment = moments[place] + JUST_AFTER
        rows.append(
            Row(moment, sessions[place].session_id, sorted(unit.text for unit in bank.iterate_units()))
        )
    return rows


def look_back(bank: MemoryBank, row: Row, questions: Sequence[str]) -> None:
    """Query the bank of the whole week about a past moment, and check the results."""
    units = list(bank.iterate_units(as_of=row.moment))
    row.valid, row.same = len(units), sorted(unit.text for unit in units) == row.told
    if not row.same:
        now = {unit.text for unit in units}
        for mark, texts in (("-", set(row.told) - now), ("+", now - set(row.told))):
            sys.stdout.writelines(f"  {mark} {text[:160]}\n" for text in sorted(texts))
    for asked in questions:
        found = bank.recall(asked, as_of=row.moment).units
        served = [item.unit for item in found]
        problems = [(unit.text, wrong) for unit in served for wrong in violations(bank, unit, row.moment)]
        problems += [(item.unit.text, "not marked valid") for item in found if not item.valid]
        row.recalls, row.served, row.wrong = (
            row.recalls + 1,
            row.served + len(served),
            row.wrong + len(problems),
        )
        sys.stdout.writelines(f"  S{row.session} {wrong}: {text[:120]}\n" for text, wrong in problems)


def report(rows: Sequence[Row]) -> None:
    """Print the table with a row of sums."""
    sys.stdout.write(
        f"{'as_of':<17}{'session':>8}{'valid':>7}{'recalls':>9}{'served':>8}{'violations':>12}  same set\n"
    )
    for row in rows:
        sys.stdout.write(
            f"{row.moment:%Y-%m-%d %H:%M} {row.session:>8}{row.valid:>7}{row.recalls:>9}{row.served:>8}{row.wrong:>12}"
            f"  {'yes' if row.same else 'NO'}\n"
        )
    sys.stdout.write(
        f"{len(rows)} moments, {sum(row.recalls for row in rows)} recalls, {sum(row.served for row in rows)} memories "
        f"served, {sum(row.wrong for row in rows)} violations, {sum(row.same for row in rows)} same sets\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one week; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of Memora weeks")
    parser.add_argument("--facts", type=Path, required=True, help="folder of extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    parser.add_argument("--points", type=int, default=20, help="moments to look back to")
    parser.add_argument("--light", action="store_true", help="numpy and FTS5 instead of Chroma and Lucene")
    given = parser.parse_args(argv)
    sessions = read_memora(given.data / f"{given.name}.json").sessions
    moments, facts = spaced(sessions), load_facts(given.facts / f"{given.name}.jsonl")
    places = points(sessions, given.points)
    config = HindsightConfig(storage=LIGHT) if given.light else HindsightConfig()
    with Hindsight.open(":memory:", reranker=None, config=config) as engine:
        rows = told_up_to(engine.bank("told so far"), sessions, moments, places, facts)
        whole = engine.bank("the whole week")
        fill(whole, sessions, facts, moments)
        for place, row in zip(places, rows, strict=True):
            asked = [question(session) for session in sessions[: place + 1] if session.operation]
            look_back(whole, row, asked)
    report(rows)
    return 1 if any(row.wrong or not row.same for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
