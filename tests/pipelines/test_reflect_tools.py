"""The tools of a reflection on a real bank: complete, exact, and within the reflection's tags, `as_of` and window."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from langchain_core.tools import tool as langchain_tool
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.bank.reflecting import LimitedReads
from hindsight_integrations.model.requests import RecallQuery, TagsMatch
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.prompts.reflect_step import LookupStep
from hindsight_integrations.reflect.citations import CitationIndex
from hindsight_integrations.reflect.toolbox import (
    MEMORY_TOOLS,
    Numbering,
    Toolbox,
    ToolContext,
    ToolProblem,
    ToolResult,
)
from hindsight_integrations.testing.scripted_model import ScriptedModel

LATER = datetime(2024, 6, 12, tzinfo=UTC)
ANN = {"text": "Ann Lee", "type": "PERSON"}

SAID: list[tuple[str, str, str, dict[str, Any]]] = [
    ("m1", "2024-05-01", "Ann Lee opened a café in Brünn.", {"entities": [ANN]}),
    (
        "m2",
        "2024-05-03",
        "Ann Lee bought tea for 3.50 EUR.",
        {"entities": [ANN], "record": {"kind": "expense", "category": "tea", "value": "3.50", "unit": "EUR"}},
    ),
    ("m3", "2024-05-05", "The harbour was closed by a storm.", {}),
    (
        "m4",
        "2024-05-20",
        "Ann Lee bought tea for 4.25 EUR.",
        {"entities": [ANN], "record": {"kind": "expense", "category": "tea", "value": "4.25", "unit": "EUR"}},
    ),
]
HIDDEN = "Ann Lee keeps the key of the café under a stone."


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Ann's activities in May, a secret with a tag of its own, and a withdrawn plan."""
    bank = light.bank("tools")
    for key, day, text, fact in SAID:
        tell(bank, key, day, text, fact)
    tell(bank, "m5", "2024-05-06", HIDDEN, {"entities": [ANN]}, tags=["bob"])
    tell(bank, "m6", "2024-05-07", "Ann Lee plans a second café in Olmütz.", {"entities": [ANN]})
    (plan,) = (unit for unit in bank.units(limit=50).units if "Olmütz" in unit.text)
    close(bank, plan.id)
    return bank


def tell(
    bank: MemoryBank, key: str, day: str, text: str, fact: Mapping[str, Any], *, tags: list[str] | None = None
) -> None:
    bank.retain(
        [{"role": "user", "content": text, "id": key, "name": "Ann"}],
        facts=[{"what": text, "occurred_start": day, "sources": [key], **fact}],
        timestamp=day,
        thread="t",
        tags=tags or [],
    )


def close(bank: MemoryBank, unit_id: str) -> None:
    context = bank._target._context
    event = ValidityEvent(unit_id, ValidityKind.CLOSED, datetime(2024, 5, 9, tzinfo=UTC), None, "given up")
    with context.services.ledger.transaction(bank.name) as transaction:
        transaction.commit(WriteSet(bank.name, transaction.feed.revision, events=(event,)))

    async def caught_up() -> None:
        await context.services.workers.write(context.catch_up)

    bank._loop.run(caught_up)


def nothing_shown() -> Numbering:
    return Numbering(CitationIndex({}, {}, {}))


class Session:
    """Calls of tools in one reflection."""

    def __init__(self, bank: MemoryBank, **limits: Any) -> None:
        context = bank._target._context
        query = RecallQuery("What did Ann do?", LATER, **{"max_tokens": 4096, **limits})
        reads = LimitedReads(context, query)
        self.bank = bank
        self.bench = ToolContext(reads, nothing_shown(), 2_000)
        self.toolbox = Toolbox()

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        step = LookupStep.model_validate({"tool": tool, "arguments": arguments})
        return self.bank._loop.run(partial(self.toolbox.called, step, self.bench))

    def lines(self, tool: str, **arguments: Any) -> str:
        return "\n".join(self.call(tool, **arguments).lines)


def test_a_chronology_is_complete_and_in_order(bank: MemoryBank) -> None:
    """All valid memories of these days, including the last day, oldest first."""
    found = Session(bank).call(
        "chronology",
        start="2024-05-01",
        end="2024-05-20",
    )
    texts = [line.split(") ", 1)[1] for line in found.lines]
    assert texts == [SAID[0][2], SAID[1][2], SAID[2][2], HIDDEN, SAID[3][2]]
    assert Session(bank).call("chronology", start="2024-05-02", end="2024-05").note == ""
    assert len(Session(bank).call("chronology", start="2024-05-02", end="2024-05-19").lines) == 3


def test_numbers_run_on_over_all_results(bank: MemoryBank) -> None:
    """A memory that two tools show has one number, so that a citation is unambiguous."""
    session = Session(bank)
    first = session.lines("chronology", start="2024-05-01", end="2024-05-03")
    second = session.lines("records", kind="expense")
    assert "[1]" in first
    assert "[2]" in first
    assert second.splitlines()[0].startswith("[2] (2024-05-03; expense/tea: 3.50 EUR)")
    assert second.splitlines()[1].startswith("[3] ")


def test_sums_are_exact_and_name_what_entered(bank: MemoryBank) -> None:
    """The value is computed by the ledger, not by a model, and its memories can be cited."""
    session = Session(bank)
    assert session.lines("aggregate", how="sum", kind="expense", category="tea") == (
        "sum = 7.75 EUR, from 2 memories\nentered: [1] [2]"
    )
    assert "4.25 EUR" in session.lines("aggregate", how="sum", kind="expense", start="2024-05-10")
    assert session.call("aggregate", how="mean", kind="income").note == "Nothing was found."
    assert session.lines("calculator", expression="(3.50 + 4.25) / 2") == "(3.50 + 4.25) / 2 = 3.875"


def test_a_sum_says_to_cite_what_entered(bank: MemoryBank) -> None:
    """A number is based on all the memories used, so that forgetting one of them affects it."""
    told = Session(bank).call("aggregate", how="sum", kind="expense").note
    assert "entered in `based_on`" in told


def test_records_can_be_of_one_entity(bank: MemoryBank) -> None:
    """Other people's expenses are not in the sum of Ann's, whichever of her names is used."""
    spent = {"kind": "expense", "category": "tea", "value": "100", "unit": "EUR"}
    tom = {"text": "Tom Berg", "type": "PERSON"}
    tell(bank, "t1", "2024-05-21", "Tom Berg bought tea for 100 EUR.", {"entities": [tom], "record": spent})
    bank.entities.alias("Ann Lee", "Annie")
    session = Session(bank)
    assert session.lines("aggregate", how="sum", kind="expense").startswith("sum = 107.75 EUR")
    for name in ("Ann Lee", "ann lee", "Annie"):
        found = session.lines("aggregate", how="sum", kind="expense", entity=name)
        assert found.startswith("sum = 7.75 EUR, from 2 memories"), name
    assert session.lines("aggregate", how="count", entity="Tom Berg").startswith("count = 1,")
    assert len(session.call("records", kind="expense", entity="Ann Lee").lines) == 2
    assert session.call("aggregate", how="last", category="tea", entity="Ann Lee").lines[0] == (
        "last = 4.25 EUR, from 1 memories"
    )


@pytest.mark.parametrize("tool", ["records", "aggregate"])
def test_where_nothing_matches_what_there_is_is_named(bank: MemoryBank, tool: str) -> None:
    """The result for an unknown category or kind lists the existing ones, the most used first, which saves a call."""
    coffee = {"kind": "expense", "category": "coffee", "value": "2", "unit": "EUR"}
    tell(bank, "c", "2024-05-22", "A coffee was 2 EUR.", {"record": coffee})
    rent = {"kind": "income", "category": "rent", "value": "9", "unit": "EUR"}
    tell(bank, "r", "2024-05-23", "The key came with the rent.", {"record": rent}, tags=["bob"])
    how = {"how": "sum"} if tool == "aggregate" else {}
    session = Session(bank)
    assert session.call(tool, kind="expense", category="gadgets", **how).lines[-1] == (
        "records there are, at any time: expense/tea (2), expense/coffee (1)"
    )
    assert session.lines(tool, kind="goal", **how).endswith(
        "expense/tea (2), expense/coffee (1), income/rent (1)"
    )
    assert session.lines(tool, kind="expense", entity="Ann Lee", end="2024-04", **how).endswith(
        "records there are about Ann Lee, at any time: expense/tea (2)"
    )
    limited = Session(bank, tags=("ann",))
    assert limited.lines(tool, category="gadgets", **how).endswith("expense/tea (2), expense/coffee (1)")
    assert "rent" not in limited.lines(tool, kind="income", **how)


def test_a_bank_without_records_names_none(light: Hindsight) -> None:
    """If there are no records, nothing is listed."""
    bank = light.bank("bare")
    tell(bank, "m", "2024-05-01", "The harbour was closed by a storm.", {})
    assert Session(bank).call("records", kind="expense") == ToolResult((), (), "Nothing was found.")


def test_exact_words_are_found_whatever_their_accents(bank: MemoryBank) -> None:
    """Turns are searched ignoring accents; those withdrawn since are marked."""
    session = Session(bank)
    lines = session.call("search_turns", words="CAFE IN").lines
    assert ["Brünn" in lines[0], "Olmütz" in lines[1]] == [True, True]
    assert ["withdrawn since" in line for line in lines] == [False, True]
    assert lines[0].startswith("[1] (said on Wednesday, May 1, 2024 at 00:00) Ann: ")
    assert session.call("search_turns", words="tea", end="2024-05-10").lines[0].count("3.50") == 1
    assert len(session.call("search_turns", words="tea", end="2024-05-10").lines) == 1
    assert session.call("search_turns", words="Lisbon").note == "Nothing was found."


def test_a_memory_is_expanded_to_what_was_said(bank: MemoryBank) -> None:
    """A fact leads to the turn it was made from."""
    session = Session(bank)
    session.call("records", kind="expense", end="2024-05-10")
    assert "Ann: Ann Lee bought tea for 3.50 EUR." in session.lines("expand", memory="[1]")


def test_a_passage_of_a_document_is_shown(light: Hindsight) -> None:
    """A memory of a document leads to its passage."""
    bank = light.bank("papers")
    bank.retain(
        "The pier of Brenna was built of oak. It has nine lamps.", document_id="pier", timestamp="2024-05-01"
    )
    session = Session(bank)
    session.call("recall", query="What is the pier built of?")
    assert "nine lamps" in session.lines("expand", memory=1)


def test_what_an_entity_did_is_listed(bank: MemoryBank) -> None:
    """All memories of Ann are listed; an unknown name is an error."""
    session = Session(bank)
    assert len(session.call("units", entity="Ann Lee").lines) == 4
    with pytest.raises(ToolProblem, match="Zoe"):
        session.call("units", entity="Zoe")


@pytest.mark.parametrize("tool", ["units", "observations", "records"])
def test_an_unknown_name_is_told_names_like_it(bank: MemoryBank, tool: str) -> None:
    """The model gets similar names from visible memories, and none from hidden ones."""
    tell(bank, "x", "2024-05-08", "Ann Zorro is a spy.", {"entities": ["Ann Zorro"]}, tags=["bob"])
    with pytest.raises(ToolProblem, match=r"Similar names: .*Ann Lee"):
        Session(bank).call(tool, entity="Ann Leigh")
    with pytest.raises(ToolProblem, match="Ann Zorro"):
        Session(bank).call(tool, entity="Ann Leigh")
    limited = Session(bank, tags=("ann",))
    with pytest.raises(ToolProblem, match=r"Similar names: Ann Lee\.$"):
        limited.call(tool, entity="Ann Leigh")
    with pytest.raises(ToolProblem, match="no memory mentions 'Ann Zorro'"):
        limited.call(tool, entity="Ann Zorro")
    with pytest.raises(ToolProblem, match="Use recall"):
        limited.call(tool, entity="Quentin")


def test_a_name_of_several_is_told_apart(bank: MemoryBank) -> None:
    """For a name of two entities, the error lists their ids, which can be used as names, without hidden ones."""
    boat = {"text": "Ann Lee", "type": "PRODUCT"}
    tell(bank, "b", "2024-05-09", "The Ann Lee sails to Brenna.", {"entities": [boat]}, tags=["bob"])
    with pytest.raises(ToolProblem, match="is ambiguous") as told:
        Session(bank).call("units", entity="Ann Lee")
    boat_id = str(told.value).split("(PRODUCT): ")[1].split(".")[0].split(",")[0]
    assert "sails" in Session(bank).lines("units", entity=boat_id)
    assert "sails" not in Session(bank, tags=("ann",)).lines("units", entity="Ann Lee")


LIMITS: list[dict[str, Any]] = [
    {"tags": ("ann",)},
    {"tags": ("ann",), "tags_match": TagsMatch.ALL},
    {"tags_match": TagsMatch.EXACT},
]


@pytest.mark.promise(
    "A reflection reads only memories within its tags, its `as_of` time and its time window, whatever the model asks for."
)
@pytest.mark.parametrize("limits", LIMITS)
def test_tags_are_never_widened(bank: MemoryBank, limits: dict[str, Any]) -> None:
    """No tool shows memories that the reflection's tags exclude, whatever the model requests."""
    session = Session(bank, **limits)
    everything = "\n".join(
        [
            session.lines("recall", query="Where is the key of the café?"),
            session.lines("chronology", start="2024-01-01", end="2024-12-31"),
            session.lines("units", entity="Ann Lee"),
            session.lines("search_turns", words="key of the café"),
            session.lines("search_turns", words="ann"),
            session.lines("opinions", query="key"),
        ]
    )
    assert "stone" not in everything
    assert "Brünn" in everything


@pytest.mark.promise(
    "A reflection reads only memories within its tags, its `as_of` time and its time window, whatever the model asks for."
)
def test_a_moment_is_never_widened(bank: MemoryBank) -> None:
    """A reflection with `as_of` 4 May sees nothing that was mentioned later, and memories that were withdrawn later are valid."""
    early = Session(bank, as_of=datetime(2024, 5, 4, tzinfo=UTC))
    assert "4.25" not in early.lines("records", kind="expense")
    assert early.lines("aggregate", how="count", kind="expense").startswith("count = 1")
    assert "storm" not in early.lines("chronology", start="2024-01-01", end="2024-12-31")
    assert early.call("search_turns", words="storm").lines == ()
    then = Session(bank, as_of=datetime(2024, 5, 8, tzinfo=UTC))
    assert "Olmütz" in then.lines("units", entity="Ann Lee")
    assert "withdrawn" not in then.lines("search_turns", words="Olmütz")


@pytest.mark.promise(
    "A reflection reads only memories within its tags, its `as_of` time and its time window, whatever the model asks for."
)
def test_a_window_is_never_widened(bank: MemoryBank) -> None:
    """Requested days are cut to the reflection's window; outside it the model is told the allowed days."""
    window = Interval(datetime(2024, 5, 2, tzinfo=UTC), datetime(2024, 5, 6, tzinfo=UTC))
    session = Session(bank, window=window)
    found = session.lines("chronology", start="2024-01-01", end="2024-12-31")
    assert ("3.50" in found, "storm" in found) == (True, True)
    assert ("Brünn" in found, "4.25" in found) == (False, False)
    assert session.lines("aggregate", how="sum", kind="expense").startswith("sum = 3.50")
    assert session.call("search_turns", words="tea").lines[0].count("3.50") == 1
    with pytest.raises(ToolProblem, match="2024-05-02 to 2024-05-06"):
        session.call("records", kind="expense", start="2024-06-01")


@every_row(
    ("tool", "arguments", "told"),
    [
        ("recall", {}, "query"),
        ("recall", {"query": "x", "types": ["opinion"]}, "types"),
        ("recall", {"query": "x", "tags": ["bob"]}, "tags"),
        ("recall", {"query": "x", "as_of": "2030-01-01"}, "as_of"),
        ("recall", {"query": "x", "start": "soon"}, "start"),
        ("recall", {"query": "x", "start": "2024-05-09", "end": "2024-05-01"}, "Swap"),
        ("chronology", {"start": "2024-05-01"}, "end"),
        ("units", {}, "entity"),
        ("search_turns", {"words": "?"}, "too short"),
        ("expand", {"memory": "99"}, "number that was shown"),
        ("expand", {"memory": "the first"}, "memory"),
        ("aggregate", {"how": "median"}, "how"),
        ("calculator", {"expression": "import os"}, "expression of numbers"),
        ("forget", {"everything": True}, "no such tool"),
        ("", {}, "no such tool"),
    ],
)
def test_a_wrong_call_is_told_what_to_do(
    bank: MemoryBank, tool: str, arguments: dict[str, Any], told: str
) -> None:
    """For any wrong call, the model gets a text that says what to do, and nothing else happens."""
    with pytest.raises(ToolProblem, match=told):
        Session(bank).call(tool, **arguments)


def test_every_tool_says_how_it_is_called() -> None:
    """The list in the prompt contains each tool with exactly its arguments; others are rejected."""
    named = {
        tool.name: {*tool.usage.split("(")[1].split(")")[0].replace("?", "").split(", ")}
        for tool in MEMORY_TOOLS
    }
    everything = set().union(*named.values())
    for tool, names in named.items():
        for name in everything:
            with pytest.raises(ToolProblem, match=rf"\b{name}: ") as raised:
                use(own(), tool, **{name: []})
            assert (f"{name}: Extra inputs are not permitted" in str(raised.value)) == (name not in names)


class Forecast:
    """A tool with LangChain's interface."""

    name = "forecast"
    description = "The weather\nof a place."

    def __init__(self) -> None:
        self.args = {"place": {"type": "string"}, "options": {"type": "object", "default": None}}
        self.given: Mapping[str, Any] = {}

    async def ainvoke(self, arguments: Mapping[str, Any]) -> object:
        self.given = arguments
        return {"place": arguments["place"], "sky": "clear"}


def own(*tools: Any) -> tuple[Toolbox, ToolContext]:
    return Toolbox(tools), ToolContext(None, nothing_shown(), 50)  # type: ignore[arg-type] # memory is not asked


def use(box: tuple[Toolbox, ToolContext], tool: str, **arguments: Any) -> ToolResult:
    step = LookupStep.model_validate({"tool": tool, "arguments": arguments})
    return asyncio.run(box[0].called(step, box[1]))


def test_the_callers_own_tools_are_used() -> None:
    """Functions, coroutines and LangChain's tools; numbers have the type that the function expects."""

    def double(number: int) -> int:
        """Twice a number."""
        return number * 2

    async def greet(name: str, loud: bool = False) -> str:
        return name.upper() if loud else name

    forecast = Forecast()
    box = own(double, greet, forecast)
    assert use(box, "double", number="21").lines == ("42",)
    assert use(box, "greet", name="Ann", loud="true").lines == ("ANN",)
    assert use(box, "forecast", place="Brenna", options='{"days": 2}').lines == (
        '{"place": "Brenna", "sky": "clear"}',
    )
    assert forecast.given["options"] == {"days": 2}
    assert box[0].usages[-3:] == [
        "double(number): Twice a number.",
        "greet(name, loud?): a tool of the application",
        "forecast(place, options?): The weather of a place.",
    ]


def test_an_error_of_the_callers_tool_is_told_not_raised() -> None:
    """A failing tool costs a step, not the answer."""

    def broken(number: int) -> int:
        raise RuntimeError(f"no {number}\nsecond line")

    with pytest.raises(ToolProblem, match=r"^it failed with RuntimeError: no 1$"):
        use(own(broken), "broken", number=1)
    with pytest.raises(ToolProblem, match=r"wrong arguments .*broken\(number\)"):
        use(own(broken), "broken", number="many")


def test_langchains_tools_are_used() -> None:
    """Tools made by its decorator, sync and async."""

    @langchain_tool
    def tide(place: str, days: int = 1) -> str:
        """When the tide comes in."""
        return f"{place}: {days}"

    @langchain_tool
    async def ferry(place: str) -> dict[str, Any]:
        """When the ferry leaves."""
        return {"place": place, "at": 7}

    box = own(tide, ferry)
    assert use(box, "tide", place="Brenna", days="2").lines == ("Brenna: 2",)
    assert use(box, "ferry", place="Brenna").lines == ('{"place": "Brenna", "at": 7}',)
    assert box[0].usages[-2] == "tide(place, days?): When the tide comes in."
    with pytest.raises(ToolProblem, match=r"it failed with|wrong arguments"):
        use(box, "tide", days="many")


@every_row(
    "tool",
    [5, object(), lambda: 1, type, ScriptedModel([])],
    ids=["number", "object", "lambda", "type", "model"],
)
def test_what_is_no_tool_is_refused(tool: Any) -> None:
    """An object that cannot be called, or has no name, is rejected first."""
    with pytest.raises(InvalidRequest, match="tools"):
        Toolbox([tool])


def test_a_long_result_of_the_callers_tool_is_cut() -> None:
    """One tool cannot fill the whole conversation."""

    def flood() -> str:
        return "x" * 100_000

    result = use(own(flood), "flood")
    assert len(result.lines[0]) == 200
    assert "200" in result.note
