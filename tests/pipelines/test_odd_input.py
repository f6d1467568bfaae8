"""Unusual input that breaks nothing: timestamps, inline reasoning, requests to forget, huge amounts."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from table import every_row

from hindsight_integrations import Hindsight, Message
from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node
from hindsight_integrations.model.text import without_reasoning
from hindsight_integrations.model.turns import Role

ARRIVAL = datetime(2024, 6, 12, 9, tzinfo=UTC)  # by the tests' clock
TEN = datetime(2025, 1, 1, 10, tzinfo=UTC)

TIMES: list[tuple[Any, datetime]] = [
    (1735725600, TEN),
    (1735725600.0, TEN),
    (1735725600000, TEN),
    (1735725600000000, TEN),
    ("1735725600", TEN),
    ("1735725600000", TEN),
    ("2025-01-01T10:00:00Z", TEN),
    ("Wed Jan 01 2025 11:00:00 GMT+0100 (Central European Standard Time)", TEN),
    ("Wed, 01 Jan 2025 10:00:00 +0000", TEN),
    ("Jan 1, 2025, 10:00 AM", TEN),
    (datetime(1850, 1, 1, tzinfo=UTC), datetime(1850, 1, 1, tzinfo=UTC)),
    ("9999-12-31T23:59:00Z", datetime(9999, 12, 31, 23, 59, tzinfo=UTC)),
    (None, ARRIVAL),
    ("", ARRIVAL),
    ("Monday", ARRIVAL),
    ("soon", ARRIVAL),
    ("2025-13-45", ARRIVAL),
    ("05/06/2023", ARRIVAL),
    (float("nan"), ARRIVAL),
    (1e30, ARRIVAL),
    ({"seconds": 5}, ARRIVAL),
    (True, ARRIVAL),
]
READABLE = 14  # of them; the others are listed in the result


@every_row(("row", "given", "expected"), [(at, *row) for at, row in enumerate(TIMES)])
def test_a_timestamp_is_read_or_costs_the_time_alone(
    light: Hindsight, row: int, given: Any, expected: datetime
) -> None:
    """The message is stored in any case; if its timestamp cannot be read, it has the time of arrival, and the result says so."""
    bank = light.bank(f"b{row}")
    result = bank.retain([{"role": "user", "content": "The kayak is red.", "timestamp": given, "id": "m1"}])
    (unit,) = bank.units().units
    assert unit.mentioned_at == expected
    assert len(result.dropped) == (row >= READABLE)


def test_the_same_message_with_an_unreadable_time_is_one_memory(light: Hindsight) -> None:
    bank = light.bank("ann")
    for _ in range(2):
        bank.retain([{"role": "user", "content": "The kayak is red.", "timestamp": "Monday"}])
    assert bank.count() == 1


@pytest.mark.parametrize("timestamp", ["Monday", 1735725600000, "", {"a": 1}])
def test_a_conversation_goes_on_after_a_timestamp_that_cannot_be_read(
    light: Hindsight, timestamp: Any
) -> None:
    """Later turns of the thread are retained, and recall answers."""
    graph: Any = StateGraph(MemoryState)
    graph.add_sequence(
        [("recall", create_recall_node(light, bank="ann")), ("retain", create_retain_node(light, bank="ann"))]
    )
    graph.add_edge(START, "recall")
    compiled = graph.compile()
    odd = HumanMessage("The kayak is red.", id="m1", additional_kwargs={"timestamp": timestamp})
    compiled.invoke({"messages": [odd]}, {"configurable": {"thread_id": "t"}})
    later = [odd, AIMessage("Noted.", id="a1"), HumanMessage("What colour is the kayak?", id="m2")]
    state = compiled.invoke({"messages": later}, {"configurable": {"thread_id": "t"}})
    assert "The kayak is red." in str(state["memories"])


@every_row(
    ("answer", "said"),
    [
        ("<think>I guess she is pregnant</think>Booked.", "Booked."),
        ("<thinking>one\ntwo</thinking>\n\nBooked.", "Booked."),
        ("<reasoning>a</reasoning>Booked. <think>b</think>Done.", "Booked. Done."),
        ("I guess she is pregnant</think>Booked.", "Booked."),
        ("<think>never closed", ""),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Booked.<|return|>",
            "Booked.",
        ),
        ("<|channel|>analysis<|message|>only reasoning", ""),
        ("Use the `<think>` tag, then `</think>`.", "Use the `<think>` tag, then `</think>`."),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("Booked.", "Booked."),
    ],
)
def test_reasoning_is_no_part_of_what_was_said(answer: str, said: str) -> None:
    assert without_reasoning(answer) == said


def test_inline_reasoning_of_the_assistant_is_not_remembered(light: Hindsight) -> None:
    """The reasoning of an answer is removed; an answer with only reasoning is left out; a user's text is stored unchanged."""
    bank = light.bank("ann")
    result = bank.retain(
        [
            {
                "role": "assistant",
                "content": "<think>she is pregnant</think>I booked the harbour table for Ana.",
                "id": "a1",
            },
            {"role": "assistant", "content": "<think>and now", "id": "a2"},
            {"role": "user", "content": "My tag is <think>.", "id": "m1"},
        ]
    )
    texts = sorted(unit.text for unit in bank.units().units)
    assert texts == ["assistant: I booked the harbour table for Ana.", "user: My tag is <think>."]
    assert [(each.what, each.reason) for each in result.dropped] == [("message 1", "only reasoning")]


@every_row(
    ("message", "asks"),
    [
        ("Please forget my phone number 555-0101.", True),
        ("Don't remember anything about my ex.", True),
        ("Please delete from your memory that I moved.", True),
        ("Ignore my last message.", True),
        ("Vergiss meine Adresse.", True),
        ("Olvida mi dirección.", True),
        ("I forgot my keys.", False),
        ("Don't forget to call Ana.", False),
        ("Remove the milk from my list.", False),
        ("Vergiss nicht, Anna anzurufen.", False),
        ("I can't forget jazz nights in Paris.", False),
        ("Let's not forget that I like jazz.", False),
    ],
)
def test_a_request_to_forget_is_no_memory(light: Hindsight, message: str, asks: bool) -> None:
    """Stored word for word it would bring back what was to be forgotten. The result names the method that forgets."""
    bank = light.bank(message)
    result = bank.retain([{"role": "user", "content": message, "id": "m1"}])
    assert bank.count() == (not asks)
    assert ("bank.forget" in str(result.dropped)) is asks


def test_no_value_is_too_large_to_compute_with(light: Hindsight) -> None:
    """ "1,00,000" is a hundred thousand, as written in India."""
    bank = light.bank("ann")
    values = ["1e999999999", "1,00,000"]
    bank.retain(
        "Two values.",
        facts=[
            {
                "what": f"It cost {value}.",
                "records": [{"kind": "expense", "category": "x", "value": value, "unit": "USD"}],
            }
            for value in values
        ],
    )
    assert bank.records.aggregate("min", kind="expense").value == Decimal(100000)
    for how in ("sum", "mean", "max"):
        assert bank.records.aggregate(how, kind="expense").value is not None, how


@every_row(
    ("asked", "answer", "question", "expected"),
    [
        (
            "Are you allergic to nuts?",
            "Yes.",
            "Am I allergic to nuts?",
            'user: Yes. (asked "Are you allergic to nuts?")',
        ),
        (
            "Nice! What is your dog called?",
            "Rex",
            "What is my dog called?",
            'user: Rex (asked "What is your dog called?")',
        ),
        (
            "How many children do you have?",
            "Three",
            "How many children do I have?",
            'user: Three (asked "How many children do you have?")',
        ),
        (
            "Shall I book the 9 am train?",
            "\U0001f44d",
            "Which train did I agree to?",
            'user: \U0001f44d (asked "Shall I book the 9 am train?")',
        ),
        (
            "Shall I send the parcel to Linz?",
            "ok",
            "Where does my parcel go?",
            'user: ok (asked "Shall I send the parcel to Linz?")',
        ),
        (
            "Are you vegetarian? Sorry for asking!",
            "Yes",
            "Am I vegetarian?",
            'user: Yes (asked "Are you vegetarian?")',
        ),
        (
            "Which dish would you like, 1. pasta or 2. pizza?",
            "2",
            "Which dish do I like?",
            'user: 2 (asked "Which dish would you like, 1. pasta or 2. pizza?")',
        ),
        (
            "Would you like one of these?\n1) pasta\n2) pizza",
            "number 2",
            "Would I like pizza?",
            'user: number 2 (asked "Would you like one of these? 1) pasta 2) pizza")',
        ),
        (
            "We have Hotel Adler and Hotel Krone. Which?",
            "the second one",
            "Which hotel did I pick?",
            'user: the second one (asked "We have Hotel Adler and Hotel Krone. Which?")',
        ),
        (
            "Shall I book Krone or Adler? Also, do you need parking?",
            "Adler, and yes",
            "Do I need parking at Adler?",
            'user: Adler, and yes (asked "Shall I book Krone or Adler? Also, do you need parking?")',
        ),
        (
            "Please tell me your shoe size.",
            "43",
            "What is my shoe size?",
            'user: 43 (in answer to "Please tell me your shoe size.")',
        ),
        (
            "A) Mallorca\nB) Crete\nTell me which you prefer.",
            "B",
            "Do I prefer Crete?",
            'user: B (in answer to "A) Mallorca B) Crete Tell me which you prefer.")',
        ),
    ],
)
def test_a_short_answer_is_kept_with_the_question_it_answers(
    light: Hindsight, asked: str, answer: str, question: str, expected: str
) -> None:
    """The question is in an earlier turn of the thread; the answer is found with it."""
    bank = light.bank(question)
    node = create_retain_node(bank)
    said = [HumanMessage("Let us talk.", id="m1"), AIMessage(asked, id="a1")]
    run: Any = {"configurable": {"thread_id": "t"}}
    node.invoke({"messages": said}, run)
    node.invoke({"messages": [*said, HumanMessage(answer, id="m2"), AIMessage("Noted.", id="a2")]}, run)
    first = next(unit.text for unit in bank.recall(question).units if unit.text.startswith("user"))
    assert first == expected
    bank.forget(message="a1", thread="t")
    assert not [unit.text for unit in bank.iterate_units() if expected in unit.text]


@every_row(
    "said",
    [
        "On Mon, Jan 6, 2025 at 10:00, Anna wrote:\n> I will come.\nI like that.",
        "Date: Mon, 6 Jan 2025 10:00:00 +0100\nSubject: Contract\nThe contract is attached.",
        "My answer:\n> See you on January 6, 2025.\nI like that.",
    ],
)
def test_the_dates_of_a_quoted_mail_are_not_those_of_the_message(light: Hindsight, said: str) -> None:
    bank = light.bank(said[:9])
    bank.retain([{"role": "user", "content": said, "id": "m1"}], timestamp="2025-03-01")
    assert [(unit.text, unit.occurred) for unit in bank.iterate_units()] == [(f"user: {said}", None)]


def test_the_users_own_word_goes_before_the_agents(light: Hindsight) -> None:
    """An agent's mistake is not ranked first; its own statements are, if the question asks for them."""
    bank = light.bank("ann")
    bank.retain(
        [
            {"role": "user", "content": "I live in Graz, and I like it a lot.", "id": "m1"},
            {"role": "assistant", "content": "You live in Vienna.", "id": "a1"},
        ]
    )
    assert "Graz" in bank.recall("Where do I live?").units[0].text
    assert "Vienna" in bank.recall("Where did you say that you live?").units[0].text


@every_row(
    ("said", "kept"),
    [
        ("Please forget my old number 0170 999, my new number is 0151 222.", "my new number is 0151 222."),
        ("Forget pizza, I'm coeliac since March", "I'm coeliac since March"),
        ("Please forget that. My real name is Dora.", "My real name is Dora."),
        ("Ignore my previous message, the party is at 8 not 7", "the party is at 8 not 7"),
        ("Vergiss den Termin am Montag, er ist jetzt am Mittwoch", "er ist jetzt am Mittwoch"),
        (
            "Erase the whiteboard before the meeting, I told Tim",
            "Erase the whiteboard before the meeting, I told Tim",
        ),
        ("Forget what I said about my job, my boss and my salary", None),
        ("pls delete my address", None),
        ("Please stop remembering my location", None),
        ("I don't want you to keep my birthday on file anymore.", None),
        ("oh and forget about my pregnancy, please", None),
        ("L\u00f6sche bitte alles \u00fcber meine Ex", None),
    ],
)
def test_what_is_said_beside_a_request_to_forget_is_kept(
    light: Hindsight, said: str, kept: str | None
) -> None:
    bank = light.bank(said[:20])
    result = bank.retain([{"role": "user", "content": said, "id": "m1"}], timestamp="2025-03-05")
    assert [unit.text for unit in bank.iterate_units()] == ([f"user: {kept}"] if kept else [])
    assert bool(result.dropped) is (kept is None)


def test_a_tool_that_says_forget_is_no_request(light: Hindsight) -> None:
    """Only a person can request to forget."""
    bank = light.bank("ann")
    bank.retain([Message("Forget the old gate code, the new one is 5512.", "tool", role=Role.TOOL)])
    assert bank.count() == 1


@every_row(
    "said",
    [
        "What should I cook for Mia, who is allergic to sesame?",
        "Is ibuprofen ok with my warfarin?",
        "What's the weather in Graz, where my mum lives?",
        "Can you book a table for me and my wife Lena on 14 Feb at 8pm?",
        "Isn't it great that Lena passed her exam?",
    ],
)
def test_a_question_that_tells_something_is_kept(light: Hindsight, said: str) -> None:
    bank = light.bank(said[:20])
    assert bank.retain([{"role": "user", "content": said, "id": "m1"}]).created == 1


@every_row("odd", [{"name": 5}, {"id": ["x"]}, {"name": ["Ann"]}, {"id": {"a": 1}}, {"id": 1.5}])
def test_an_odd_name_or_id_costs_the_name_or_id(light: Hindsight, odd: dict[str, Any]) -> None:
    bank = light.bank(str(odd))
    said: list[Any] = [
        {"role": "user", "content": "I like figs."},
        {"role": "user", "content": "I sing.", **odd},
    ]
    bank.retain(said)
    assert {unit.text for unit in bank.iterate_units()} == {"user: I like figs.", "user: I sing."}
