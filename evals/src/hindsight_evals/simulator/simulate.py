"""A simulated life: a trace generated from seeds, its sessions as conversations with gold facts, and questions at the end."""

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
"""A Monday, and the first day of a year whose first three months have 90 days, so that all periods begin on it."""

WAKING = (time(7), 15 * 60)  # start, and number of minutes, of the part of a day in which sessions happen
TURN_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated life and its trace.

    Attributes:
        episode: the input and questions for systems.
        trace: the state before and after each session.
    """

    episode: Episode
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A session before it is put into words."""

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
    """Simulate a life. The same arguments give the same life, in every process.

    Args:
        persona: id of a persona in the seeds.
        period: "week", "month", "quarter" or "year": length and rates (Memora, Table 2).
        seed: seed of the random choices.
        held_out: use only the phrasings reserved for reports; else only the others.
        extracted: with gold facts; otherwise systems get only the turns.
        mutation: factor for updates and deletions.
        consolidation: factor for purchases, which are summed in questions.
        days: another length with the period's rates; 365 days have about 8,000 sessions.
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
    """Yield the changes of every session, day by day."""
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
    """Order the sessions of a day randomly, but keep the order of changes to the same memory."""
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
