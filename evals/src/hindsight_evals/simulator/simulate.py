"""A simulated life: seeds to a trace, its sessions to conversations and gold facts, and questions at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from random import Random

from hindsight_evals.episode import Episode, GoldWithdrawal, Session
from hindsight_evals.simulator.dialogue import Conversations, Line, telling
from hindsight_evals.simulator.gold import gold_fact
from hindsight_evals.simulator.memories import Change
from hindsight_evals.simulator.operations import Moves
from hindsight_evals.simulator.questions import Asking
from hindsight_evals.simulator.schedule import PERIODS, Pressure, day_plans
from hindsight_evals.simulator.seeds import Seeds, load_seeds
from hindsight_evals.simulator.told import Memories
from hindsight_evals.simulator.trace import State, Step, applied, replay
from hindsight_integrations import ExtractedFact, Message

FIRST_DAY = date(2018, 1, 1)
"""A Monday, and the first of a year whose first three months have 90 days: weeks, months and quarters begin with it."""

WAKING = (time(7), 15 * 60)  # from when a day's sessions are spread, over how many minutes
TURN_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Simulation:
    """A life, and how it came about.

    Attributes:
        episode: what systems are given, and asked.
        trace: what held before and after each session.
    """

    episode: Episode
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A session before it has words."""

    moment: datetime
    changes: tuple[Change, ...]


def simulate(
    persona: str,
    *,
    period: str = "week",
    seed: int = 0,
    held_out: bool = False,
    extracted: bool = True,
    mutation: float = 1.0,
    consolidation: float = 1.0,
    days: int | None = None,
    seeds: Seeds | None = None,
) -> Simulation:
    """Simulate somebody. The same arguments give the same life, in every process.

    Args:
        persona: an id of the seeds'.
        period: "week", "month", "quarter" or "year": how long, and at which rates (Memora, Table 2).
        seed: another life for each.
        held_out: in the manners of telling and asking that are kept for reports, else in the others.
        extracted: with gold facts; else systems get the turns alone.
        mutation: factor on updates and deletions.
        consolidation: factor on purchases to add up.
        days: another length at the period's rates; 365 days have some 8,000 sessions.
        seeds: other seed data than the package's.

    Raises:
        KeyError: no such persona or period.
    """
    chosen = PERIODS[period]
    length = days or chosen.days
    used = (seeds or load_seeds()).of(held_out=held_out)
    random = Random(f"{persona}/{period}/{length}/{seed}/{held_out}/{mutation}/{consolidation}")
    moves = Moves(used.persona(persona), used.pools, random)
    pressure = chosen.pressure.scaled(mutation=mutation, consolidation=consolidation)
    planned = list(_planned(moves, length, pressure))
    memories = Memories()
    sessions = tuple(_told(planned, used, random, memories, extracted=extracted))
    asked = sessions[-1].moment + timedelta(hours=1)
    questions = tuple(Asking(memories, FIRST_DAY, asked, random).questions(used.questions))
    name = f"{persona}-{period if days is None else f'{days}-days'}-{seed}"
    episode = Episode(name, "simulated", period, sessions, questions)
    return Simulation(episode, tuple(replay(one.changes for one in planned)))


def _planned(moves: Moves, days: int, pressure: Pressure) -> Iterator[_Planned]:
    """What every session does, day by day."""
    state: State = {}
    bought = 0
    for number, plan in enumerate(day_plans(days, pressure, moves.random)):
        today = FIRST_DAY + timedelta(days=number)
        slots: list[tuple[Change, ...]] = [()] * plan.neutral
        logged = [moves.steps(today), *(moves.expense(bought + at, today) for at in range(plan.expenses))]
        bought += plan.expenses
        goals = moves.goals(today) if number == 0 else []
        for change in (*logged, *goals):
            state = applied(state, change)
        slots += [(goal,) for goal in goals]
        for operation in plan.operations:
            changes = moves.session(operation, state, today)
            for change in changes:
                state = applied(state, change)
            slots.append(changes)
        yield from _through_the_day(_in_order(slots, logged, moves.random), today)


def _in_order(
    slots: list[tuple[Change, ...]], logged: Sequence[Change], random: Random
) -> list[tuple[Change, ...]]:
    """Sessions of a day as they come: what changes the same memory stays in order, all else is mixed."""
    operations = iter([slot for slot in slots if slot])
    mixed: list[tuple[Change, ...] | None] = [
        *([None] * sum(1 for slot in slots if slot)),
        *([()] * sum(1 for slot in slots if not slot)),
    ]
    mixed += [(change,) for change in logged]
    random.shuffle(mixed)
    return [next(operations) if slot is None else slot for slot in mixed]


def _through_the_day(sessions: Sequence[tuple[Change, ...]], today: date) -> Iterator[_Planned]:
    start, minutes = WAKING
    for place, changes in enumerate(sessions):
        moment = datetime.combine(today, start, UTC) + timedelta(minutes=minutes * place / len(sessions))
        yield _Planned(moment, changes)


def _told(
    planned: Sequence[_Planned], seeds: Seeds, random: Random, memories: Memories, *, extracted: bool
) -> Iterator[Session]:
    conversations = Conversations(seeds.neutral, random)
    for number, plan in enumerate(planned, 1):
        tellings = [telling(change, seeds.families, random) for change in plan.changes]
        lines = conversations.conversation(tellings)
        messages = tuple(_message(number, place, line, plan.moment) for place, line in enumerate(lines))
        facts: list[ExtractedFact] = []
        withdrawals: list[GoldWithdrawal] = []
        for place, one in enumerate(tellings):
            turns = [
                message.id or "" for message, line in zip(messages, lines, strict=True) if line.tells == place
            ]
            gone = memories.note(number, one.change, frozenset(turns))
            facts.append(gold_fact(one, turns, random, gone))
            withdrawals += [gone] if gone else []
        given = tuple(facts) if extracted else None
        yield Session(f"S{number}", plan.moment, messages, given, tuple(withdrawals))


def _message(session: int, place: int, line: Line, moment: datetime) -> Message:
    said = moment + timedelta(seconds=TURN_SECONDS * place)
    return Message(line.text, line.speaker, said, f"S{session}:{place + 1}")
