"""Looking back: moments of a Memora week, what was asked about by then, and what the validity log says of a unit then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_integrations import MemoryBank, MemoryUnit
from hindsight_integrations.model.units import ValidityEvent, ValidityKind

APART = timedelta(
    minutes=1
)  # Memora gives sessions a day, not an hour; so much lies between two of a day here


def spaced(sessions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sessions with a time of day each, in their order, from midnight UTC on."""
    seen: dict[str, int] = {}
    timed = []
    for session in sessions:
        day = session["date"]
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC) + seen.get(day, 0) * APART
        seen[day] = seen.get(day, 0) + 1
        timed.append(session | {"date": moment})
    return timed


def points(sessions: Sequence[dict[str, Any]], count: int) -> list[int]:
    """Positions of `count` sessions with an operation, evenly spread, the last one included."""
    changing = [place for place, session in enumerate(sessions) if session["operation"]]
    step = len(changing) / count
    return [changing[round((number + 1) * step) - 1] for number in range(min(count, len(changing)))]


def question(session: dict[str, Any]) -> str:
    """The ground truth of a session's operation as a question: kind, item and details, in words."""
    details = session["operation_details"]
    parts = (details.get(key) for key in ("category", "subcategory", "item", "old_item", "content_data"))
    return " ".join(_words(parts)).replace("_", " ")[:1000]


def _words(value: Any) -> Iterable[str]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, str | int | float) or value is None:
        return [] if value is None else [str(value)]
    return [word for part in value for word in _words(part)]


def valid_by_log(log: Sequence[ValidityEvent], moment: datetime) -> bool:
    """Whether a unit holds at a moment, by replaying its log: the last closing or restoring that came by then decides.

    Written apart from the engine's masks on purpose. Moments count by the second (`search.columns.no_later`).
    """
    second = moment.replace(microsecond=0)
    by_then = [event for event in log if event.effective_at.replace(microsecond=0) <= second]
    kinds = [event.kind for event in by_then if event.kind is not ValidityKind.AMENDED]
    return not kinds or kinds[-1] is ValidityKind.RESTORED


def violations(bank: MemoryBank, unit: MemoryUnit, moment: datetime) -> list[str]:
    """What is wrong with a unit that was served as valid at a moment."""
    second = moment.replace(microsecond=0)
    wrong = []
    if unit.mentioned_at.replace(microsecond=0) > second:
        wrong.append("mentioned later")
    if unit.closed_at is not None and unit.closed_at.replace(microsecond=0) <= second:
        wrong.append("closed by then")
    if not valid_by_log(bank.history(unit.id), moment):
        wrong.append("not valid by its log")
    return wrong
