"""A chat whose answers quote memories: no recalled text is retained again, and no question becomes a fact."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.prompts.recalled import memories_block
from hindsight_integrations.testing.scripted_model import ScriptedModel

SAID = (
    "My sister Ana moved to Lisbon last month.",
    "I bought a red kayak for 400 euros.",
    "My dog is called Bruno.",
    "I am allergic to peanuts.",
    "We are planning a trip to Norway in July.",
    "My boss is Karin Holt.",
    "I play the cello on Tuesdays.",
    "My car broke down near Porto.",
    "I read a book about octopuses.",
    "My brother Tom is a pilot.",
)
ASKED = (
    "Where does my sister live?",
    "What colour is my kayak?",
    "Do you remember my dog's name?",
    "What am I allergic to?",
    "When are we going to Norway?",
    "Who is my boss?",
    "Which instrument do I play?",
    "Where did my car break down?",
    "Tell me what I read about.",
    "What does Tom do?",
)
FORMS = (
    "I recall: {memory}",
    'You told me: "{text}"',
    "I remember that. {memory} (mentioned on Wednesday, May 1, 2024)\nAnything else?",
    "Here is what I remember:\n- {memory} (mentioned on Wednesday, May 1, 2024)",
    "Yes! {text} What else can I do for you?",
)


def turn(number: int, role: str, text: str) -> dict[str, Any]:
    return {
        "role": role,
        "content": text,
        "id": f"m{number}",
        "timestamp": f"2024-05-{1 + number // 20:02}T{number % 20:02}:00",
    }


def chat() -> list[dict[str, Any]]:
    """30 turns: statements, questions whose answers quote memories in several forms, and small talk."""
    said: list[dict[str, Any]] = []
    for text in SAID:
        said += [turn(len(said), "user", text), turn(len(said) + 1, "assistant", "Noted! How did that go?")]
    for place, (question, text) in enumerate(zip(ASKED, SAID, strict=True)):
        answer = FORMS[place % len(FORMS)].format(memory=f"user: {text}", text=text)
        said += [turn(len(said), "user", question), turn(len(said) + 1, "assistant", answer)]
    for place in range(10):
        said += [
            turn(len(said), "user", "What do you know about penguins?"),
            turn(
                len(said) + 1,
                "assistant",
                "I recall: nothing" if place % 2 else "I don't know anything about that.",
            ),
        ]
    return said


def remembered(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units(limit=500).units)


def test_a_chat_that_quotes_memory_learns_what_was_said_alone(light: Hindsight) -> None:
    bank, said = light.bank("alice"), chat()
    for end in range(2, len(said) + 1, 2):
        bank.threads.follow(said[:end], thread="t")
    assert remembered(bank) == sorted(f"user: {text}" for text in SAID)


def test_so_does_one_that_is_retained_whole(light: Hindsight) -> None:
    """Retained at once, nothing was recalled yet, and quotations of memories from the same call are recognised; questions are dropped."""
    bank = light.bank("alice")
    bank.retain(chat()[:20], thread="t")
    bank.retain(chat()[20:], thread="t")
    assert remembered(bank) == sorted(f"user: {text}" for text in SAID)


def test_what_makes_no_memory_is_known_and_kept_as_a_turn(light: Hindsight) -> None:
    bank = light.bank("alice")
    first = bank.retain([turn(0, "user", "Where does my sister live?")], thread="t")
    assert (first.created, [each.reason for each in first.dropped]) == (0, ["it contains no statement"])
    assert bank.retain([turn(0, "user", "Where does my sister live?")], thread="t").skipped_messages == 1


def test_pasted_memories_are_not_learnt_and_what_stands_beside_them_is(light: Hindsight) -> None:
    bank = light.bank("alice")
    bank.retain([turn(0, "user", SAID[0]), turn(1, "user", SAID[1])], thread="t")
    pasted = f"- user: {SAID[0]} (mentioned on Wednesday, May 1, 2024)\n- user: {SAID[1]} (mentioned on Wednesday, May 1, 2024)"
    assert bank.retain([turn(2, "user", pasted)], thread="t").created == 0
    assert bank.retain([turn(3, "user", f"{pasted}\nAna has a garden there.")], thread="t").created == 1
    assert remembered(bank)[-1] in {f"user: {SAID[0]}", "user: Ana has a garden there.", f"user: {SAID[1]}"}
    assert "user: Ana has a garden there." in remembered(bank)


@pytest.mark.parametrize(
    "answer",
    [
        "I booked the 9:40 train to Lisbon for you.",
        "You told me your sister moved to Lisbon. I sent Ana the photos on Friday.",
        "Your kayak needs a new coat of wax every year.",
    ],
)
def test_what_an_agent_adds_is_remembered(light: Hindsight, answer: str) -> None:
    bank = light.bank("alice")
    bank.retain([turn(0, "user", SAID[0]), turn(1, "user", SAID[1])], thread="t")
    assert bank.retain([turn(2, "assistant", answer)], thread="t").created == 1


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_stands_around_pasted_memories_is_not_learnt(light: Hindsight, role: str) -> None:
    """A prompt block that is retained adds nothing, nor do its heading, its markers and the heading of a table."""
    bank = light.bank("alice")
    bank.retain([turn(0, "user", SAID[0])])
    line = f"- user: {SAID[0]} (mentioned on Wednesday, May 1, 2024)"
    table = "Records, seen on Tuesday, 2024-05-07: task records (move)\n= rows: cut, the latest 1 of 30"
    block = memories_block([table, line])
    bank.retain([turn(1, role, block)])
    assert remembered(bank) == [f"user: {SAID[0]}"]


def test_a_user_who_says_it_again_is_heard(light: Hindsight) -> None:
    """A statement that a person repeats is new evidence, not an echo."""
    bank = light.bank("alice")
    bank.retain([turn(0, "user", SAID[3])], thread="t")
    assert bank.retain([turn(1, "user", SAID[3])], thread="t").created == 1


def test_the_same_message_read_again_is_no_echo_of_itself(light: Hindsight) -> None:
    bank = light.bank("alice")
    told = turn(0, "assistant", "I booked the 9:40 train to Lisbon for you.")
    bank.retain([told], thread="t")
    bank.retain([{**told, "content": "I booked the 9:50 train to Lisbon for you."}], thread="t")
    bank.retain([told], thread="t")
    assert [unit.text for unit in bank.units().units if unit.closed_at is None] == [
        "assistant: I booked the 9:40 train to Lisbon for you."
    ]


def test_a_model_that_extracts_what_was_quoted_teaches_nothing(opener: Any, light_config: Any) -> None:
    def facts(messages: list[BaseMessage]) -> dict[str, Any]:
        """Everything in the last message becomes a fact, word for word."""
        asked = messages[-1].text
        found = [text for text in SAID if text in asked]
        fields = {"when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A", "fact_type": "world"}
        return {"facts": [{"what": text, **fields} for text in found]}

    bank = opener(model=ScriptedModel(facts), config=light_config).bank("alice")
    said = chat()
    for end in range(2, len(said) + 1, 2):
        bank.threads.follow(said[:end], thread="t")
    assert bank.count() == len(SAID)


def test_sentences_that_differ_in_a_code_are_two(light: Hindsight) -> None:
    bank = light.bank("alice")
    said = [turn(number, "assistant", f"Boatyard m{number} sells paint.") for number in (1, 2)]
    assert [bank.retain([each], thread="t").created for each in said] == [1, 1]


def test_what_an_agent_takes_back_is_said_again(light: Hindsight) -> None:
    """A sentence with a "not" is not a repetition, even if all other words are equal."""
    bank = light.bank("alice")
    said = [
        turn(0, "assistant", "The appointment was cancelled."),
        turn(1, "assistant", "The appointment was not cancelled."),
    ]
    assert [bank.retain([each], thread="t").created for each in said] == [1, 1]


def test_a_users_own_sum_is_no_pasted_digest(light: Hindsight) -> None:
    bank = light.bank("ann")
    said = "My rent is made up so:\n400 + 850\n= 1,250 euros a month"
    bank.retain([{"role": "user", "content": said, "id": "sum"}], timestamp="2024-05-01")
    assert any(unit.text == f"user: {said}" for unit in bank.iterate_units())
