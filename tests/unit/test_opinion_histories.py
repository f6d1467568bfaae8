"""After any sequence of changes of facts and opinions, each opinion is complete and agrees with its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np
from builders import BANK, at, make_units, make_write_set
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_forgotten_opinions import edited
from ledger_opinions import (
    add,
    close,
    evidence,
    form,
    opinion_unit,
    restore,
    reword,
    writing,
)
from ledger_support import changes, commit

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.opinions import (
    Assessment,
    OpinionLog,
    OpinionsWrite,
    confidence_of,
    opinion_of,
)
from hindsight_integrations.model.units import FactType

FACTS = [f"f{number}" for number in range(3)]
OPINIONS = [f"o{number}" for number in range(2)]
UNITS = [*FACTS, *OPINIONS, *(f"{opinion}{suffix}" for opinion in OPINIONS for suffix in "abc")]

facts = st.lists(st.sampled_from(FACTS), min_size=1, max_size=3, unique=True)
steps = st.one_of(
    st.tuples(st.just("form"), st.sampled_from(OPINIONS), facts),
    st.tuples(st.just("reword"), st.sampled_from(OPINIONS), facts),
    st.tuples(st.just("add"), st.sampled_from(OPINIONS), facts),
    st.tuples(st.just("close"), st.sampled_from(FACTS), st.integers(0, 20)),
    st.tuples(st.just("close"), st.sampled_from(UNITS), st.integers(0, 20)),
    st.tuples(st.just("restore"), st.sampled_from(FACTS), st.integers(0, 20)),
    st.tuples(st.just("erase"), st.sampled_from(UNITS), st.none()),
    st.tuples(st.just("edit"), st.sampled_from(UNITS), st.none()),
    st.tuples(st.just("given"), st.sampled_from(OPINIONS), st.none()),
)


@contextmanager
def told() -> Iterator[Ledger]:
    """A ledger with the facts."""
    with closing(Ledger.open(":memory:")) as ledger:
        ledger.create_bank(BANK)
        commit(ledger, make_write_set(0, units=make_units(*FACTS)))
        yield ledger


def valid_of(ledger: Ledger, unit_ids: list[str]) -> list[str]:
    """The valid ones among these units, from which opinions are worded here."""
    rows = ledger.units.row_ids(BANK, unit_ids)
    units = ledger.units.get(BANK, np.array(list(rows.values()), np.int64)).values()
    return [unit.id for unit in units if unit.closed_at is None]


def newest(ledger: Ledger, opinion: str) -> str:
    """The current wording of the opinion."""
    found = ledger.opinions.get(BANK, [opinion])
    return found[0].versions[-1].unit_id if found else opinion


def form_one(ledger: Ledger, opinion: str, grounds: list[str]) -> None:
    """Form an opinion from the valid ones among the facts."""
    form(ledger, opinion, *valid_of(ledger, grounds))


def reword_it(ledger: Ledger, opinion: str, grounds: list[str]) -> None:
    """Reword a held opinion: o0, then o0a, o0b, o0c, and no further, because UNITS ends there."""
    current = newest(ledger, opinion)
    if valid_of(ledger, [current]) and not current.endswith("c"):
        following = f"{opinion}{chr(ord(current[2]) + 1) if current[2:] else 'a'}"
        reword(ledger, opinion, following, *valid_of(ledger, grounds), closing=current, hours=9)


def add_rows(ledger: Ledger, opinion: str, told_by: list[str]) -> None:
    """Every second fact reinforces an opinion."""
    version, kinds = newest(ledger, opinion), (Assessment.REINFORCE, Assessment.CONTRADICT)
    rows = (evidence(opinion, fact, kinds[int(fact[1]) % 2], version=version) for fact in told_by)
    add(ledger, *rows)


TAKEN: dict[str, Callable[[Ledger, str, Any], object]] = {
    "form": form_one,
    "reword": reword_it,
    "add": add_rows,
    "close": lambda ledger, unit, hours: close(ledger, unit, hours=hours),
    "restore": lambda ledger, unit, hours: restore(ledger, unit, hours=hours),
    "erase": lambda ledger, unit, _: ledger.erasure.erase(BANK, Erasure(unit=unit)),
    "edit": lambda ledger, unit, _: edited(ledger, unit, text=f"{unit}, {ledger.revision(BANK)}"),
    "given": lambda ledger, unit, _: commit(ledger, writing(ledger, OpinionsWrite(), opinion_unit(unit))),
}


def take(ledger: Ledger, kind: str, name: str, more: object) -> None:
    """Apply one step; one whose objects do not exist changes nothing."""
    with suppress(InvalidRequest, ValueError):
        TAKEN[kind](ledger, name, more)


def check(ledger: Ledger, by_hand: set[str]) -> None:
    """The invariants after every step.

    Args:
        ledger: the ledger with the bank.
        by_hand: units closed by hand.
    """
    logs = ledger.opinions.get(BANK)
    rows = ledger.units.row_ids(BANK, UNITS)
    units = {unit.id: unit for unit in ledger.units.get(BANK, np.array(list(rows.values()))).values()}
    worded = [version.unit_id for log in logs for version in log.versions]
    assert sorted(worded) == sorted(
        unit.id for unit in units.values() if unit.fact_type is FactType.OPINION
    ), "a unit of the opinion network is one opinion's wording"
    for log in logs:
        assert log.id == log.versions[0].unit_id
        assert all(version.closed_at is not None for version in log.versions[:-1]), "one wording at a time"
        assert {row.version for row in log.evidence} <= {version.unit_id for version in log.versions}
        assert 0.0 <= confidence_of(log) <= 1.0
        last = log.versions[-1]
        standing = [units[fact].closed_at is None for fact in last.based_on]
        if standing and last.unit_id not in by_hand:
            assert (last.closed_at is None) is any(standing), "it holds while one of its grounds does"
        now = opinion_of(log)
        assert now is not None
        assert (now.unit_id, now.closed_at) == (last.unit_id, last.closed_at)
    _check_feed(ledger, logs)


def _check_feed(ledger: Ledger, logs: list[OpinionLog]) -> None:
    """The validity in the feed is that of the ledger."""
    columns = changes(ledger).columns
    closed = dict(zip(columns.ids.tolist(), columns.closed.tolist(), strict=True))
    for log in logs:
        for version in log.versions:
            (row,) = ledger.units.row_ids(BANK, [version.unit_id]).values()
            assert (closed[row] == np.iinfo(np.int64).max) is (version.closed_at is None)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=14))
def test_opinions_are_whole_whatever_happens(history: list[tuple[str, str, object]]) -> None:
    """After every step; at the end the archive gives the same opinions, and an emptied bank contains nothing."""
    with told() as ledger:
        by_hand: set[str] = set()
        for kind, name, more in history:
            take(ledger, kind, name, more)
            by_hand |= {name} if kind == "close" else set()
            check(ledger, by_hand)
        ledger.create_bank("copy")
        ledger.archive.restore("copy", iter(list(ledger.archive.rows(BANK))))
        assert ledger.opinions.get("copy") == ledger.opinions.get(BANK)
        assert ledger.units.damaged(BANK) == ledger.units.damaged("copy") == ()
        ledger.erasure.erase(BANK, Erasure(everything=True))
        assert ledger.opinions.get(BANK) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.lists(steps.filter(lambda step: step[0] in {"form", "reword", "add", "close", "restore"}), max_size=10)
)
def test_an_erased_fact_might_never_have_been(history: list[tuple[str, str, object]]) -> None:
    """If nothing is worded from f0, the opinions after forgetting it are those of a bank without it."""
    with told() as ledger, told() as other:
        for kind, name, more in history:
            without = [fact for fact in more if fact != "f0"] if isinstance(more, list) else more
            worded = (without or ["f1"]) if kind in {"form", "reword"} else more
            take(ledger, kind, name, worded)
            if name != "f0":
                take(other, kind, name, worded if kind in {"form", "reword"} else without)
        ledger.erasure.erase(BANK, Erasure(unit="f0"))
        one, two = ({log.id: log for log in each.opinions.get(BANK)} for each in (ledger, other))
        assert one.keys() == two.keys()
        for name, log in one.items():
            for as_of in (None, at(6), at(10), at(20)):
                assert confidence_of(log, as_of=as_of) == confidence_of(two[name], as_of=as_of)
            assert [v.unit_id for v in log.versions] == [v.unit_id for v in two[name].versions]
