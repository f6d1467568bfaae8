"""A memory ends or changes only if it is named, by an explicit call, with its source, or by a statement of its exact words."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import MemoryUnit, ValidityKind
from hindsight_integrations.testing.doubles import HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
CASES = Path(__file__).parent.parent / "unit" / "cases" / "withdrawals.jsonl"
PAIRS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def say(bank: MemoryBank, day: int, *facts: dict[str, Any], **options: Any) -> RetainResult:
    """A message on a day in May with facts from the caller."""
    message = {"role": "user", "content": facts[0]["what"], "id": f"d{day}"}
    given_facts = [{"sources": [f"d{day}"], **fact} for fact in facts]
    return bank.retain([message], timestamp=f"2024-05-{day:02d}T10:00", facts=given_facts, **options)


def everything(bank: MemoryBank) -> dict[str, MemoryUnit]:
    return {unit.id: unit for unit in bank.units(include_invalidated=True, limit=1000).units}


def every_item(bank: MemoryBank) -> dict[str, MemoryUnit]:
    """The items of all documents, including closed ones."""
    entries = bank.records.list(kind="document_item", include_invalidated=True)
    return {entry.memory.id: entry.memory for entry in entries}


@pytest.fixture(scope="module")
def engine() -> Iterable[Hindsight]:
    """One engine for tables whose rows have separate banks."""
    with Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None, config=LIGHT) as opened:
        yield opened


@pytest.mark.promise("A true memory is never invalidated by a guess.")
@every_row(("number", "pair"), enumerate(PAIRS))
def test_without_a_model_no_sentence_ends_a_memory(
    engine: Hindsight, number: int, pair: dict[str, Any]
) -> None:
    """Whatever is said later, about anybody: both messages are stored and valid."""
    bank = engine.bank(f"pair {number}")
    bank.retain([{"role": "user", "content": pair["first"], "id": "1"}], timestamp="2024-05-01", thread="a")
    later = {"role": "user", "content": pair["later"], "id": "2"}
    result = bank.retain([later], timestamp="2024-05-03", thread="b")
    assert (result.closed, result.removed, result.ambiguous) == ((), (), ())
    assert [unit.closed_at for unit in everything(bank).values()] == [None] * bank.count()
    assert not [event for unit in everything(bank) for event in bank.history(unit)]
    assert pair["first"] in " ".join(unit.text for unit in everything(bank).values())


GRAZ = "The user lives in Graz."


@every_row(
    ("number", "statement", "ends"),
    [
        (0, GRAZ, True),
        (1, "the  user lives\nin GRAZ", True),
        (2, "The user lives in \uff27raz!", True),
        (3, "The user lives in Graz?", False),
        (4, "The user lived in Graz.", False),
        (5, "User lives in Graz.", False),
        (6, "The user does not live in Graz.", False),
        (7, "The user lives in Graz and works there.", False),
        (8, "The user lives in Graz | Vienna", False),
    ],
)
def test_a_statement_ends_the_memory_of_its_words(
    engine: Hindsight, number: int, statement: str, ends: bool
) -> None:
    """Case, white space, width and the final full stop are ignored; any other difference is reported."""
    bank = engine.bank(f"words {number}")
    (home,) = say(bank, 1, {"what": GRAZ, "when": "since May", "why": "for a job"}).unit_ids
    result = say(bank, 3, {"what": "The user moved to Linz.", "invalidates": [statement]})
    assert [done.unit_id for done in result.closed] == ([home] if ends else [])
    assert [doubt.statement for doubt in result.ambiguous] == ([] if ends else [statement])
    assert (bank.get(home).closed_at is not None) is ends


def test_a_statement_without_an_equal_memory_lists_the_nearest(light: Hindsight) -> None:
    """A person can choose among the candidates; a statement without similar memories lists none."""
    bank = light.bank("alice")
    (home,) = say(bank, 1, {"what": GRAZ}).unit_ids
    near = say(bank, 3, {"what": "The user moved.", "invalidates": ["The user lives in Graz now."]})
    assert [doubt.candidates[0] for doubt in near.ambiguous] == [home]
    assert 0 < near.ambiguous[0].score < 1
    empty = light.bank("empty")
    (doubt,) = say(empty, 1, {"what": "Hello.", "invalidates": ["x y z"]}).ambiguous
    assert (doubt.candidates, doubt.score) == ((), 0.0)


def test_two_memories_of_the_same_words_both_stay(light: Hindsight) -> None:
    bank = light.bank("alice")
    both = {say(bank, day, {"what": "Coffee was 3 euros."}).unit_ids[0] for day in (1, 2)}
    result = say(bank, 3, {"what": "No coffee.", "invalidates": ["Coffee was 3 euros."]})
    assert (result.closed, [set(doubt.candidates) for doubt in result.ambiguous]) == ((), [both])


def test_what_ended_before_ends_no_second_time(light: Hindsight) -> None:
    """Two facts that state the same ending are not reported as ambiguous."""
    bank = light.bank("alice")
    say(bank, 1, {"what": GRAZ})
    first = say(bank, 3, {"what": "The user moved.", "invalidates": [GRAZ]})
    again = say(bank, 4, {"what": "The user has moved.", "invalidates": [GRAZ]})
    assert (len(first.closed), again.closed, again.ambiguous) == (1, (), ())


def test_what_is_named_and_stated_ends_once(light: Hindsight) -> None:
    bank = light.bank("alice")
    (home,) = say(bank, 1, {"what": GRAZ}).unit_ids
    named = {
        "what": "The user moved.",
        "changes": [{"unit_id": home, "change": "ends"}],
        "invalidates": [GRAZ],
    }
    result = say(bank, 3, named)
    assert ([done.unit_id for done in result.closed], result.ambiguous) == ([home], ())
    assert len(bank.history(home)) == 1


def test_messages_are_equal_without_their_speaker(light: Hindsight) -> None:
    """The statement "I live in Graz" equals the message "I live in Graz.", but not that of another speaker."""
    bank = light.bank("alice")
    bank.retain([Message("I live in Graz.", "Anna", "2024-05-01", "a")], thread="t")
    other = [Message("I live in Graz no more", "Ben", "2024-05-02", "b")]
    said = [{"what": "Ben: I live in Graz no more", "sources": ["b"], "invalidates": ["I live in Graz"]}]
    assert bank.retain(other, thread="u", facts=said).closed == ()
    moved = say(bank, 3, {"what": "Anna moved.", "invalidates": ["I live in Graz"]})
    assert len(moved.closed) == 1


@every_row(
    ("number", "tags", "ends"),
    [(0, ["a"], True), (1, [], False), (2, ["b"], False), (3, ["a", "b"], False)],
)
def test_only_memories_of_the_same_tags_can_be_meant(
    engine: Hindsight, number: int, tags: list[str], ends: bool
) -> None:
    """By a statement or by name: a caller with other tags changes none of these."""
    for way in ({"invalidates": [GRAZ]}, {"changes": [{"sources": ["d1"], "change": "ends"}]}):
        bank = engine.bank(f"tags {number} {[*way]}")
        say(bank, 1, {"what": GRAZ}, tags=["a"])
        result = say(bank, 3, {"what": "The user moved.", **way}, tags=tags)
        assert bool(result.closed) is ends
        assert bool(result.ambiguous or result.dropped) is not ends


# Naming


def test_a_caller_names_a_memory_by_its_messages_or_its_id(engine: Hindsight) -> None:
    """From another thread, in other words: it is ended, replaced, or loses an item."""
    items = [{"kind": "document_item", "value": value} for value in ("a cat", "a dog")]
    changes: dict[str, dict[str, Any]] = {
        "ends": {},
        "replaces": {"removed": [GRAZ, "two cats"]},
        "removes": {"items": [2]},
    }
    for change, more in changes.items():
        for by_id in (True, False):
            bank = engine.bank(f"named {change} {by_id}")
            records = items if change == "removes" else []
            first = {"what": f"{GRAZ} He has two cats.", "records": records}
            (home,) = say(bank, 1, first, thread="one").unit_ids
            name = {"unit_id": home} if by_id else {"sources": ["d1"]}
            held = [item.id for item in bank.document_items(home)]
            fact = {"what": "Qwertz.", "changes": [{**name, "change": change, **more}]}
            result = say(bank, 3, fact, thread="two")
            assert [done.unit_id for done in result.removed] == held[1:]
            assert [done.unit_id for done in result.closed] == ([] if change == "removes" else [home])
            assert (result.dropped, result.ambiguous) == ((), ())


def test_a_memory_of_the_same_call_can_be_named(light: Hindsight) -> None:
    """Of two messages in one retain, the second ends the memory of the first."""
    messages = [
        Message("Rent is 900.", "user", "2024-05-01", "1"),
        Message("950.", "user", "2024-05-02", "2"),
    ]
    facts: list[dict[str, Any]] = [
        {"what": "Rent is 900.", "sources": ["1"]},
        {
            "what": "Rent is 950.",
            "sources": ["2"],
            "changes": [{"sources": ["1"], "change": "replaces", "removed": ["900"]}],
        },
    ]
    result = light.bank("alice").retain(messages, facts=facts)
    assert [done.unit_id for done in result.closed] == [result.unit_ids[0]]


def test_the_memory_made_from_exactly_these_messages_is_meant(light: Hindsight) -> None:
    """Not a memory of these and another message, unless it is the only one."""
    bank = light.bank("alice")
    talk = [Message("A", "user", "2024-05-01", "a"), Message("B", "user", "2024-05-01T01:00", "b")]
    facts = [{"what": "Both.", "sources": ["a", "b"]}, {"what": "One.", "sources": ["a"]}]
    both, one = bank.retain(talk, facts=facts, thread="t").unit_ids
    first = say(bank, 3, {"what": "Q.", "changes": [{"sources": ["a"], "change": "ends"}]})
    assert [done.unit_id for done in first.closed] == [one]
    second = say(bank, 4, {"what": "R.", "changes": [{"sources": ["b"], "change": "ends"}]})
    assert [done.unit_id for done in second.closed] == [both]


def test_the_own_thread_goes_before_others(light: Hindsight) -> None:
    """Message ids may be used again in every thread."""
    bank = light.bank("alice")
    ids = [
        bank.retain(
            [Message(text, "user", "2024-05-01", "1")], thread=text, facts=[{"what": text, "sources": ["1"]}]
        ).unit_ids[0]
        for text in ("left", "right")
    ]
    change = [{"sources": ["1"], "change": "ends"}]
    own = say(bank, 3, {"what": "Q.", "changes": change}, thread="right")
    assert [done.unit_id for done in own.closed] == ids[1:]
    third = light.bank("third")
    for text in ("left", "right"):
        facts = [{"what": text, "sources": ["1"]}]
        third.retain([Message(text, "user", "2024-05-01", "1")], thread=text, facts=facts)
    unclear = say(third, 3, {"what": "Q.", "changes": change}, thread="middle")
    assert (unclear.closed, len(unclear.ambiguous[0].candidates)) == ((), 2)


@every_row(
    ("number", "change", "reason"),
    [
        (0, {"unit_id": "nobody"}, "not in this bank"),
        (1, {"unit_id": "OTHER"}, "not in this bank"),
        (2, {"sources": ["d7"]}, "no memory was made from d7"),
        (3, {"sources": ["d1", "d7"]}, "no memory was made from d1, d7"),
        (4, {"sources": ["d3"]}, "own messages"),
        (5, {"sources": ["d9"]}, "mentioned later"),
        (6, {"memory": 1}, "no memories were shown"),
        (7, {"unit_id": "OPINION"}, "opinion"),
        (8, {"sources": ["d1"], "change": "removes", "items": [1]}, "not a document"),
        (9, {"unit_id": "ITEM"}, "an item of a document; name the document"),
        (10, {"unit_id": "LIST", "change": "removes"}, "`items` is empty"),
        (11, {"unit_id": "LIST", "change": "removes", "items": [2]}, "no item 2; the last one is 1"),
    ],
)
def test_a_name_that_names_nothing_is_reported_and_the_fact_is_kept(
    engine: Hindsight, number: int, change: dict[str, Any], reason: str
) -> None:
    bank, other = engine.bank(f"missing {number}"), engine.bank(f"other {number}")
    say(bank, 1, {"what": GRAZ})
    say(bank, 9, {"what": "Later."})
    opinion = say(bank, 2, {"what": "Graz is fine.", "fact_type": "opinion", "confidence": 0.6}).unit_ids[0]
    bread = [{"kind": "document_item", "value": "bread"}]
    shopping = say(bank, 2, {"what": "Shopping list", "records": bread}, thread="list").unit_ids[0]
    (item,) = bank.document_items(shopping)
    ids = {
        "OTHER": say(other, 1, {"what": GRAZ}).unit_ids[0],
        "OPINION": opinion,
        "LIST": shopping,
        "ITEM": item.id,
    }
    named = {"change": "ends", **change}
    if "unit_id" in named:
        named["unit_id"] = ids.get(named["unit_id"], named["unit_id"])
    result = say(bank, 3, {"what": "The user moved.", "changes": [named]})
    assert (result.created, result.closed, result.removed, result.ambiguous) == (1, (), (), ())
    assert [reason in item.reason for item in result.dropped] == [True]
    assert all(unit.closed_at is None for unit in [*everything(bank).values(), *everything(other).values()])
    assert [item.id for item in bank.document_items(shopping)] == [ids["ITEM"]]


def test_a_source_of_several_memories_ends_none(light: Hindsight) -> None:
    """They are listed, so that the caller can name one by its id."""
    bank = light.bank("alice")
    several = set(say(bank, 1, {"what": GRAZ}, {"what": "The user has a cat."}).unit_ids)
    result = say(bank, 3, {"what": "Q.", "changes": [{"sources": ["d1"], "change": "ends"}]})
    assert (result.closed, [set(doubt.candidates) for doubt in result.ambiguous]) == ((), [several])
    assert result.created == 1


def test_twenty_memories_are_named_at_once(light: Hindsight) -> None:
    bank = light.bank("alice")
    ids = [unit for n in range(20) for unit in say(bank, n + 1, {"what": f"Box {n} is full."}).unit_ids]
    changes = [{"unit_id": unit, "change": "ends"} for unit in [*ids, ids[0]]]
    result = say(bank, 25, {"what": "All boxes were emptied.", "changes": changes})
    assert [done.unit_id for done in result.closed] == ids
    assert all(len(bank.history(unit)) == 1 for unit in ids)


@every_row("change", [{}, {"unit_id": "x", "sources": ["d1"]}, {"memory": 1, "unit_id": "x"}, {"memory": 0}])
def test_a_change_names_its_memory_in_one_way(engine: Hindsight, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="changes"):
        say(engine.bank("bad"), 1, {"what": GRAZ, "changes": [{"change": "ends", **change}]})
    assert not engine.bank("bad").count()


# Nothing ends without a ground

WORDS = [pair[part] for pair in PAIRS[::6] for part in ("first", "later")]
TEXTS = st.sampled_from([*WORDS, "i live in PARIS", "The user lives in Graz", "Am I vegetarian?"])
THREADS = st.sampled_from(["s", "t"])
NUMBERS = st.integers(0, 5)
VALUES = st.lists(TEXTS, min_size=1, max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("say"), THREADS, NUMBERS, TEXTS),  # a message of a known id is edited
    st.tuples(st.just("state"), THREADS, NUMBERS, TEXTS, st.lists(TEXTS, max_size=2)),
    st.tuples(st.just("name"), THREADS, NUMBERS, TEXTS, NUMBERS, st.sampled_from(["ends", "replaces"])),
    st.tuples(st.just("dictate"), THREADS, NUMBERS, TEXTS, VALUES),
    st.tuples(st.just("remove"), THREADS, NUMBERS, TEXTS, NUMBERS, st.lists(NUMBERS, min_size=1, max_size=3)),
    st.tuples(st.just("add"), THREADS, NUMBERS, TEXTS, NUMBERS, VALUES),
    st.tuples(st.just("write"), st.sampled_from(["letter", "plan"]), st.lists(TEXTS, min_size=1, max_size=3)),
    st.tuples(st.just("follow"), st.lists(st.tuples(NUMBERS, TEXTS), min_size=1, max_size=4)),
    st.tuples(st.just("withdraw"), NUMBERS),
)


@dataclass
class Life:
    """A bank, and the memories that a step may end or change.

    Attributes:
        bank: the bank.
        day: day of the month, one per step.
        sources: messages that the step edits or drops.
        documents: documents that it retains again.
        named: ids that it names.
        removed: items that it names, by document and number.
        said: its statements, folded.
    """

    bank: MemoryBank
    day: int = 0
    sources: set[tuple[str, str]] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    removed: set[tuple[str, int]] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    def step(self, kind: str, *given_values: Any) -> None:
        self.day += 1
        self.sources, self.documents, self.named, self.removed, self.said = set(), set(), set(), set(), set()
        getattr(self, kind)(*given_values)

    def say(self, thread: str, number: int, text: str, **fact: Any) -> None:
        self.sources = {(thread, f"{thread}{number}")}
        facts = [{"what": text, "sources": [f"{thread}{number}"], **fact}] if fact else None
        message = Message(text, "user", self.now, f"{thread}{number}")
        self.bank.retain([message], thread=thread, facts=facts)

    def state(self, thread: str, number: int, text: str, statements: list[str]) -> None:
        self.said = {folded(each) for each in statements}
        self.say(thread, number, text, invalidates=statements)

    def name(self, thread: str, number: int, text: str, meant: int, change: str) -> None:
        units = sorted(everything(self.bank))
        if units:
            meant_id = units[meant % len(units)]
            self.named = {meant_id}
            tells = [
                everything(self.bank)[meant_id].text,
                *(item.text for item in every_item(self.bank).values()),
            ]
            named = {"unit_id": meant_id, "change": change, "removed": tells}
            self.say(thread, number, text, changes=[named])

    def dictate(self, thread: str, number: int, text: str, values: list[str]) -> None:
        self.say(thread, number, text, records=listed(values))

    def remove(self, thread: str, number: int, text: str, meant: int, items: list[int]) -> None:
        if document := self.document(meant):
            self.removed = {(document, item) for item in items}
            change = {"unit_id": document, "change": "removes", "items": items}
            self.say(thread, number, text, changes=[change])

    def add(self, thread: str, number: int, text: str, meant: int, values: list[str]) -> None:
        if document := self.document(meant):
            self.say(thread, number, text, adds_to={"unit_id": document}, records=listed(values))

    def document(self, meant: int) -> str:
        """The id of a document; empty if there is none."""
        documents = sorted({item.part_of or "" for item in every_item(self.bank).values()})
        return documents[meant % len(documents)] if documents else ""

    def write(self, name: str, texts: list[str]) -> None:
        self.documents = {name}
        self.bank.retain("\n\n".join(texts), document_id=name, timestamp=self.now)

    def follow(self, texts: list[tuple[int, str]]) -> None:
        messages = [Message(text, "user", self.now, f"f{number}-{text}") for number, text in texts]
        self.sources = {("f", source) for unit in everything(self.bank).values() for source in unit.sources}
        self.bank.threads.follow(list({m.id: m for m in messages}.values()), thread="f")

    def withdraw(self, meant: int) -> None:
        items = [item.id for item in every_item(self.bank).values() if item.closed_at is None]
        units = [*(unit.id for unit in self.bank.units(limit=1000).units), *items]
        if units:
            self.named = {sorted(units)[meant % len(units)]}
            self.bank.withdraw(*self.named)

    @property
    def now(self) -> str:
        return f"2024-05-{self.day:02d}T10:00"

    def explains(self, unit: MemoryUnit, valid: dict[str, MemoryUnit]) -> bool:
        """Whether the step had a reason to end a memory or an item."""
        kept = [u for u in valid.values() if not self.sources & {(u.thread, each) for each in u.sources}]
        return (
            unit.id in self.named
            or (unit.part_of, unit.number) in self.removed
            or unit.document_id in self.documents
            or bool(self.sources & {(unit.thread, source) for source in unit.sources})
            or any(words(unit) == each and sum(words(u) == each for u in kept) == 1 for each in self.said)
        )


def listed(values: list[str]) -> list[dict[str, Any]]:
    return [{"kind": "document_item", "category": "points", "value": value} for value in values]


def folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(" .!")


def words(unit: MemoryUnit) -> str:
    return folded(unit.text.removeprefix("user: "))


@contextmanager
def light_life() -> Iterator[Life]:
    """A new bank for every example."""
    with Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None, config=LIGHT) as opened:
        yield Life(opened.bank("alice"))


@pytest.mark.promise("A true memory is never invalidated by a guess.")
@settings(max_examples=40)
@example(
    steps=[
        ("dictate", "s", 0, "A list", ["tea", "bread"]),
        ("add", "s", 1, "More for the list", 0, ["salt"]),
        ("remove", "t", 0, "No bread", 0, [2, 3]),
        ("say", "s", 1, "Nothing more"),
        ("name", "t", 1, "No list", 0, "ends"),
    ]
)
@given(steps=st.lists(STEPS, min_size=2, max_size=12))
def test_nothing_ends_without_a_ground(steps: list[tuple[Any, ...]]) -> None:
    """After any sequence of messages, documents, edits and forks, only memories that were named, stated word for word, or lost their source have ended, and the items of ended documents."""
    with light_life() as life:
        for kind, *given_values in steps:
            before = {**everything(life.bank), **every_item(life.bank)}
            logs = {unit: len(life.bank.history(unit)) for unit in before}
            life.step(kind, *given_values)
            valid = {key: unit for key, unit in before.items() if unit.closed_at is None}
            new = {key: life.bank.history(key)[logs[key] :] for key in valid}
            ended = {key for key, events in new.items() if any(e.kind is ValidityKind.CLOSED for e in events)}
            heads = {key: unit for key, unit in valid.items() if unit.part_of is None}
            for key in ended:
                unit = valid[key]
                with_its_document = unit.part_of in ended
                assert with_its_document or life.explains(unit, heads), (
                    kind,
                    given_values,
                    unit.text,
                    new[key],
                )
