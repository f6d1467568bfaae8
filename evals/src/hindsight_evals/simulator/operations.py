"""The operations of sessions: random changes that the state allows, from the seeds (Memora 3.2, A.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import TypeVar

from hindsight_evals.simulator.memories import ALLOWED, Change, Entry, MemoryKind, Operation
from hindsight_evals.simulator.seeds import Persona, Pools
from hindsight_evals.simulator.trace import State

T = TypeVar("T")

LIKED = 0.7  # share of preferences that are likes; the others are dislikes
OF_TASTE = 0.75  # share of preferences from the persona's own pools
DONE = 0.75  # share of ended to-dos that are done; the others are dropped
LONGEST_NOTICE = 14  # maximum number of days until an event
STEPS = (3_000, 16_000)  # range for one day
TARGETS = (6_000, 8_000, 9_000, 10_000, 12_000)  # steps per day
BUDGETS = (20, 25, 30, 40, 50, 60, 80, 100, 120, 150)  # dollars per week
FIELDS_TOLD = (3, 6)  # range for a new document

WEIGHTS: Mapping[MemoryKind, float] = {
    MemoryKind.PREFERENCE: 0.38,
    MemoryKind.TODO: 0.28,
    MemoryKind.DOCUMENT: 0.2,
    MemoryKind.CALENDAR_EVENT: 0.1,
    MemoryKind.FOOD_BUDGET: 0.02,
    MemoryKind.STEP_TARGET: 0.02,
}
"""The frequency of changes of each kind, without purchases and steps."""


def day_name(day: date) -> str:
    """Format a day as "Thursday, June 12"."""
    return f"{day:%A, %B} {day.day}"


@dataclass(frozen=True, slots=True)
class Moves:
    """The possible changes of one persona.

    Attributes:
        persona: the persona.
        pools: the possible memories.
        random: the only source of random choices.
    """

    persona: Persona
    pools: Pools
    random: Random

    def session(self, operation: Operation, state: State, today: date) -> tuple[Change, ...]:
        """Return the changes of one session: the given operation if the state allows it, else an addition, else none.

        A new document is stated in several changes, everything else in one.
        """
        for wanted in dict.fromkeys((operation, Operation.ADD)):
            kinds = list(WEIGHTS)
            while kinds:
                kind = self.random.choices(kinds, [WEIGHTS[one] for one in kinds])[0]
                kinds.remove(kind)
                if changes := self._changes(kind, wanted, state, today):
                    return changes
        return ()

    def expense(self, number: int, today: date) -> Change:
        """Return the purchase with this number."""
        category = self.random.choice(sorted(self.pools.expenses))
        prices = self.pools.expenses[category]
        amount = f"{self.random.uniform(prices.low, prices.high):.2f}"
        values = {"amount": amount, "category": category}
        key = ("food_expense", str(number))
        return _added(Entry(MemoryKind.FOOD_EXPENSE, key, f"{amount} {category}", today, values))

    def steps(self, today: date) -> Change:
        """Return the steps of a day."""
        steps = f"{self.random.randint(*STEPS):,}"
        key = ("steps", today.isoformat())
        return _added(Entry(MemoryKind.STEPS, key, f"{steps} steps", today, {"steps": steps}))

    def goals(self, today: date) -> list[Change]:
        """Return the initial goals: a target for steps, and budgets for two categories of food."""
        categories = self.random.sample(sorted(self.pools.expenses), 2)
        budgets = [self._budget(category, today) for category in categories]
        return [_added(self._target(today)), *(_added(budget) for budget in budgets)]

    def _changes(
        self, kind: MemoryKind, operation: Operation, state: State, today: date
    ) -> tuple[Change, ...]:
        held = [entry for entry in state.values() if entry.kind is kind and _open(entry, today)]
        if operation is Operation.ADD:
            return tuple(_added(entry) for entry in self._new(kind, state, today))
        if not held or operation not in ALLOWED[kind]:
            return ()
        before = self.random.choice(held)
        if operation is Operation.UPDATE:
            after = self._updated(before, state, today)
            return (Change(operation, before, after),) if after else ()
        return (Change(operation, before),)

    def _new(self, kind: MemoryKind, state: State, today: date) -> list[Entry]:
        """Return a new entry of a kind, several for a document; none if all possible ones exist."""
        made: Mapping[MemoryKind, Callable[[], Iterable[Entry | None]]] = {
            MemoryKind.PREFERENCE: lambda: [self._preference(state, today)],
            MemoryKind.TODO: lambda: [self._todo(state, today)],
            MemoryKind.CALENDAR_EVENT: lambda: [self._event(state, today)],
            MemoryKind.DOCUMENT: lambda: self._document(state, today),
            MemoryKind.FOOD_BUDGET: lambda: [self._further_budget(state, today)],
            MemoryKind.STEP_TARGET: list,
        }
        return [entry for entry in made[kind]() if entry is not None]

    def _updated(self, before: Entry, state: State, today: date) -> Entry | None:
        """Return another value for an existing entry; None if there is no other."""
        values = before.values
        if before.kind is MemoryKind.PREFERENCE:
            domain, group = values["domain_id"], values["group_id"]
            items = [item for pool in self.pools.pools[domain][group].values() for item in pool]
            item = self._free(items, lambda item: ("preference", domain, group, item), state)
            return None if item is None else _liking(domain, group, item, values["liking"], today)
        if before.kind is MemoryKind.CALENDAR_EVENT:
            return self._on_a_day(values["event"], today)
        if before.kind is MemoryKind.DOCUMENT:
            return self._other_element(before, state, today)
        if before.kind is MemoryKind.FOOD_BUDGET:
            return self._unlike(before, lambda: self._budget(values["category"], today))
        return self._unlike(before, lambda: self._target(today))

    def _preference(self, state: State, today: date) -> Entry | None:
        domain = self.random.choice(sorted(self.pools.pools))
        groups = self.pools.pools[domain]
        own = {pool for pool in self.persona.tastes.get(domain, ()) if self.random.random() < OF_TASTE}
        choices = [
            (group, item)
            for group in sorted(groups)
            for name, pool in sorted(groups[group].items())
            if not own or name in own
            for item in pool
        ]
        found = self._free(choices, lambda choice: ("preference", domain, *choice), state)
        liking = "like" if self.random.random() < LIKED else "dislike"
        return None if found is None else _liking(domain, *found, liking, today)

    def _todo(self, state: State, today: date) -> Entry | None:
        tasks = [task for where in sorted(self.pools.todos) for task in self.pools.todos[where]]
        task = self._free(tasks, lambda task: ("todo", task), state)
        reason = "done" if self.random.random() < DONE else "dropped"
        if task is None:
            return None
        return Entry(MemoryKind.TODO, ("todo", task), task, today, {"task": task, "reason": reason})

    def _event(self, state: State, today: date) -> Entry | None:
        ahead = {
            entry.values["event"]
            for entry in state.values()
            if entry.kind is MemoryKind.CALENDAR_EVENT and _open(entry, today)
        }
        events = [event for where in sorted(self.pools.events) for event in self.pools.events[where]]
        free = [event for event in events if event not in ahead]
        return self._on_a_day(self.random.choice(free), today) if free else None

    def _on_a_day(self, event: str, today: date) -> Entry:
        day = today + timedelta(days=self.random.randint(1, LONGEST_NOTICE))
        values = {"event": event, "day": day_name(day)}
        key = ("calendar_event", event, day.isoformat())
        return Entry(MemoryKind.CALENDAR_EVENT, key, f"{event} {day_name(day)}", day, values)

    def _document(self, state: State, today: date) -> list[Entry]:
        begun = {key[1:3] for key in state if key[0] == "document"}
        free = [
            (kind, artifact)
            for kind in sorted(self.pools.documents)
            for artifact in self.pools.documents[kind]
            if (kind, artifact.title) not in begun
        ]
        if not free:
            return []
        kind, artifact = self.random.choice(free)
        elements = [(field, value) for field, values in artifact.fields.items() for value in values]
        told = self.random.sample(elements, min(len(elements), self.random.randint(*FIELDS_TOLD)))
        return [_element(kind, artifact.title, field, value, today) for field, value in told]

    def _other_element(self, before: Entry, state: State, today: date) -> Entry | None:
        _, kind, title, field, _ = before.key
        artifact = next(one for one in self.pools.documents[kind] if one.title == title)
        value = self._free(artifact.fields[field], lambda value: (*before.key[:4], value), state)
        return None if value is None else _element(kind, title, field, value, today)

    def _further_budget(self, state: State, today: date) -> Entry | None:
        category = self._free(sorted(self.pools.expenses), lambda name: ("food_budget", name), state)
        return None if category is None else self._budget(category, today)

    def _budget(self, category: str, today: date) -> Entry:
        amount = str(self.random.choice(BUDGETS))
        values = {"amount": amount, "category": category}
        return Entry(MemoryKind.FOOD_BUDGET, ("food_budget", category), f"{amount} {category}", today, values)

    def _target(self, today: date) -> Entry:
        steps = f"{self.random.choice(TARGETS):,}"
        return Entry(MemoryKind.STEP_TARGET, ("step_target",), f"{steps} steps", today, {"steps": steps})

    def _unlike(self, before: Entry, make: Callable[[], Entry]) -> Entry:
        while (entry := make()).text == before.text:
            pass
        return entry

    def _free(self, choices: Sequence[T], key: Callable[[T], tuple[str, ...]], state: State) -> T | None:
        """Return a choice that is not in the state yet; None if all are."""
        free = [choice for choice in choices if key(choice) not in state]
        return self.random.choice(free) if free else None


SINGULAR = {"movies": "movie", "books": "book", "music": "music", "travel": "travel"}


def _open(entry: Entry, today: date) -> bool:
    """Return whether an entry can still change; a past event cannot."""
    return entry.kind is not MemoryKind.CALENDAR_EVENT or entry.day > today


def _added(entry: Entry) -> Change:
    return Change(Operation.ADD, after=entry)


def _liking(domain: str, group: str, item: str, liking: str, today: date) -> Entry:
    values = {
        "item": item,
        "liking": liking,
        "domain": SINGULAR.get(domain, domain),
        "group": group.replace("_", " ").removesuffix("s"),
        "domain_id": domain,
        "group_id": group,
    }
    return Entry(MemoryKind.PREFERENCE, ("preference", domain, group, item), item, today, values)


def _element(kind: str, title: str, field: str, value: str, today: date) -> Entry:
    values = {
        "kind": kind.replace("_", " "),
        "kind_id": kind,
        "title": title,
        "field": field.replace("_", " "),
        "value": value,
    }
    return Entry(MemoryKind.DOCUMENT, ("document", kind, title, field, value), value, today, values)
