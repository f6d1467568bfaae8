"""After any sequence of retain, withdraw, edit, merge and forget, each observation is based on valid facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
from builders import (
    BANK,
    at,
    make_entity,
    make_event,
    make_item,
    make_unit,
    make_write_set,
    with_vector,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_support import CLOSED, RESTORED, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import EntitySplit, UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ObservedWrite

FACTS, PEOPLE = [f"f{number}" for number in range(6)], ["ann", "ben", "cyd"]
CHANGES = ["tell", "tell", "tell", "close", "restore", "item", "edit", "observe", "observe"]
REPAIRS = ["merge", "split", "undo", "erase fact", "erase item", "erase person", "erase observation"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*CHANGES, *REPAIRS]),
        st.sampled_from(FACTS),
        st.sampled_from(PEOPLE),
        st.sets(st.sampled_from(PEOPLE), min_size=1),
    ),
    min_size=1,
    max_size=14,
)


class Bank:
    """A bank to which valid steps are applied; the others do nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.made, self.told = ledger, 0, 0
        ledger.create_bank(BANK)

    def do(self, step: str, fact: str, person: str, people: set[str]) -> None:
        ledger, known = self.ledger, self.ledger.units.row_ids(BANK, [fact])
        there = ledger.observations.get(BANK, PEOPLE)
        if step == "tell":
            mentions = [(fact, each) for each in sorted(people)]
            entities = [make_entity(each) for each in sorted(people)]
            self._commit(units=[with_vector(make_unit(fact))], entities=entities, mentions=mentions)
        elif step == "item" and known:
            self.told += 1
            item = make_item(f"i{self.told}", fact, self.told)
            self._commit(units=[with_vector(item)])
            assert not self.observations_on(fact)
        elif step == "erase item" and known:
            items = ledger.units.items_of(BANK, np.array(list(known.values()))).get(known[fact], ())
            names = ledger.units.unit_ids(BANK, np.array(items[:1], np.int64))
            ledger.erasure.erase(BANK, Erasure(unit=names.get(items[0], "") if items else "nobody"))
            assert not items or not self.observations_on(fact)
        elif step in ("close", "restore") and known:
            kind = {"close": CLOSED, "restore": RESTORED}[step]
            self.told += 1
            self._commit(events=[make_event(fact, kind, self.told)])
        elif step == "edit" and known:
            unit = ledger.units.get(BANK, np.array(list(known.values())))[known[fact]]
            ledger.units.edit(
                BANK, UnitEdit(replace(unit, text=f"{unit.text}!"), None, None, ("text",)), at(1)
            )
        elif step == "observe" and person in there:
            self.observe(person)
        elif step.startswith("erase"):
            units = there[person].units if person in there else ()
            chosen = {"erase fact": Erasure(unit=fact), "erase person": Erasure(entity=person)}
            ledger.erasure.erase(BANK, chosen.get(step, Erasure(unit=units[0] if units else "nobody")))
        else:
            self._change_entities(step, fact, person, people)

    def _change_entities(self, step: str, fact: str, person: str, people: set[str]) -> None:
        ledger, there = self.ledger, self.ledger.observations.get(BANK, PEOPLE)
        other = next((each for each in sorted(people) if each != person and each in there), None)
        if step == "merge" and other and person in there:
            ledger.entities.merge(BANK, person, other, at(2))
        elif step == "split" and person in there and other is None:
            free = [each for each in PEOPLE if each not in there]
            names = ledger.entities.find(BANK, person)[0].names
            if free and len(names) > 1:
                split = EntitySplit(person, free[0], free[0], names[1:], (fact,))
                ledger.entities.split(BANK, split, at(2))
        elif step == "undo":
            open_changes = [change for change in ledger.entities.changes(BANK) if not change.undone]
            if open_changes:
                ledger.entities.undo(BANK, open_changes[-1].id)

    def observe(self, person: str) -> None:
        """Store an observation for every second fact together with the previous one; the rest is omitted."""
        ledger, revision = self.ledger, self.ledger.revision(BANK)
        names = ledger.units.unit_ids(BANK, ledger.observations.entity_facts(BANK, person))
        facts = list(names.values())
        grounds = {}
        for place in range(0, len(facts) - 1, 2):
            self.made += 1
            grounds[f"o{self.made}"] = tuple(facts[place : place + 2])
        left_out = tuple(facts[len(grounds) * 2 :])
        units = [with_vector(make_unit(key, fact_type=FactType.OBSERVATION)) for key in grounds]
        writes = make_write_set(revision, units=units, mentions=[(key, person) for key in grounds])
        commit(ledger, replace(writes, observed=ObservedWrite(person, grounds, left_out, revision)))

    def observations_on(self, fact: str) -> list[int]:
        """Row ids of the observations based on a fact."""
        units = [
            unit for found in self.ledger.observations.get(BANK, PEOPLE).values() for unit in found.units
        ]
        rows = np.array(sorted(self.ledger.units.row_ids(BANK, units).values()), np.int64)
        return [
            row for row, facts in self.ledger.observations.grounds_of(BANK, rows).items() if fact in facts
        ]

    def check(self) -> None:
        """The invariants after every step."""
        ledger = self.ledger
        waiting = {
            task.key
            for task in ledger.tasks.of_bank(BANK)
            if task.kind is TaskKind.OBSERVE and task.state is TaskState.PENDING
        }
        observed = ledger.observations.get(BANK, PEOPLE)
        assert waiting <= observed.keys()
        shown = set()
        for person, found in observed.items():
            valid = set(ledger.units.unit_ids(BANK, ledger.observations.entity_facts(BANK, person)).values())
            rows = ledger.units.row_ids(BANK, found.units)
            grounds = ledger.observations.grounds_of(BANK, np.array(sorted(rows.values())))
            assert len(rows) == len(found.units) == len(grounds)
            standing = {fact for facts in grounds.values() for fact in facts}
            assert standing <= valid
            assert person in waiting or not found.stale
            if not found.stale:
                assert standing | set(found.left_out) == valid
            shown |= set(found.units)
        made = {
            unit
            for unit in (f"o{number}" for number in range(self.made + 1))
            if ledger.units.row_ids(BANK, [unit])
        }
        assert made == shown

    def _commit(self, **parts: object) -> None:
        commit(self.ledger, make_write_set(self.ledger.revision(BANK), **parts))  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_observations_stand_on_what_holds(steps: list[tuple[str, str, str, set[str]]]) -> None:
    """Each fact of an entity is observed or omitted, or the entity waits and has a task; no observation survives its source facts."""
    ledger = Ledger.open(":memory:", observing=timedelta(0))
    bank = Bank(ledger)
    for number, fact in enumerate(FACTS[:4]):
        bank.do("tell", fact, "", {PEOPLE[0], PEOPLE[number % 2]})
    for person in PEOPLE[:2]:
        bank.do("observe", FACTS[0], person, set())
    for step in steps:
        bank.do(*step)
        bank.check()
    ledger.close()
