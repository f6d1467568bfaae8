"""A simulated life: facts, to-dos, purchases and appointments, and questions with and without an answer.

It was written from a user's view, before the code that finds the answers. The questions are asked on
Wednesday, 12 June 2024, in the week that began on Monday the 10th.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hindsight_integrations import MemoryBank, Message

ASKED_AT = datetime(2024, 6, 12, 20, tzinfo=UTC)

TOLD = [  # day, what
    ("2024-01-08", "Ines works as a physiotherapist at a clinic in Tampere."),
    ("2024-01-08", "Ines plays the cello in an amateur quartet that meets on Thursdays."),
    ("2024-01-19", "Ines's sister Vilma lives in Rovaniemi and teaches mathematics."),
    ("2024-01-25", "Ines adopted a greyhound called Pikku from a shelter."),
    ("2024-02-03", "Ines and her husband Otso bought an old sauna hut at Lake Näsi."),
    ("2024-02-11", "Otso is allergic to hazelnuts and carries an adrenaline pen."),
    ("2024-02-20", "Ines gave up coffee in the evening because it kept her awake."),
    ("2024-03-02", "Ines's daughter Saimi started at the music school and learns the trumpet."),
    ("2024-03-09", "Ines read a novel about a lighthouse keeper and found its ending too sad."),
    ("2024-03-17", "Ines hurt her left wrist when she slipped on the icy pier."),
    ("2024-04-01", "Ines's colleague Bruno moved to Ghent to open a bakery."),
    ("2024-04-14", "Ines drives a grey van in which the cello fits upright."),
    ("2024-04-27", "The quartet played Borodin at the town hall and forgot the encore."),
    ("2024-05-06", "Ines keeps the key of the sauna hut under a blue flowerpot."),
    ("2024-05-18", "Otso built a bookshelf of birch for Saimi's room."),
    ("2024-05-25", "Ines's mother Kerttu turned seventy and was given a hot-air balloon ride."),
]

TODOS = {  # value: what
    "call the plumber": "Ines wants to call the plumber about the hut's pump.",
    "renew the library card": "Ines has to renew the library card before the summer.",
    "order cello strings": "Ines needs to order cello strings from Vienna.",
    "paint the pier": "Ines plans to paint the pier once it is dry.",
    "return Bruno's mixer": "Ines still has to return Bruno's mixer.",
    "book Pikku's vaccination": "Ines must book Pikku's vaccination.",
    "send the tax form": "Ines has to send the tax form.",
    "fix Saimi's bicycle": "Ines promised to fix Saimi's bicycle.",
    "sew the curtain": "Ines wants to sew the curtain for the van.",
    "write to Kerttu": "Ines intends to write to Kerttu about the balloon photographs.",
    "clean the gutters": "Ines needs to clean the gutters of the hut.",
    "sort the sheet music": "Ines wants to sort the sheet music of the quartet.",
}
DROPPED = ("sell the canoe", "Ines wants to sell the canoe.")

SPENT = [  # day, category, value, what
    ("2024-06-10", "groceries", "31.40", "Ines spent 31.40 EUR on groceries at the market hall."),
    ("2024-06-10", "lunch", "12.90", "Ines paid 12.90 EUR for a salmon soup at lunch."),
    ("2024-06-11", "coffee", "4.20", "Ines bought a coffee for 4.20 EUR."),
    ("2024-06-11", "groceries", "18.75", "Ines spent 18.75 EUR on groceries for the quartet's supper."),
    ("2024-06-12", "coffee", "3.60", "Ines paid 3.60 EUR for a coffee on the way to work."),
    ("2024-06-11", "fuel", "62.00", "Ines filled up the van for 62.00 EUR."),
    ("2024-06-04", "groceries", "27.15", "Ines spent 27.15 EUR on groceries last Tuesday."),
    ("2024-06-05", "lunch", "14.30", "Ines paid 14.30 EUR for lunch with Bruno's cousin."),
    ("2024-05-30", "strings", "88.00", "Ines paid 88.00 EUR for a bow's new hair."),
]
FOOD_THIS_WEEK = ("31.40", "12.90", "4.20", "18.75", "3.60")
FOOD_LAST_WEEK = ("27.15", "14.30")

ANSWERED = {  # question: a word of its answer
    "Where does my sister Vilma live?": "Rovaniemi",
    "Which instrument do I play?": "cello",
    "What is my dog called?": "Pikku",
    "What is Otso allergic to?": "hazelnuts",
    "Where do I keep the key of the sauna hut?": "flowerpot",
    "What does Saimi learn at the music school?": "trumpet",
    "How did I hurt my wrist?": "pier",
    "What did my mother get for her birthday?": "balloon",
}

NEVER_MENTIONED = (
    "What is my blood type?",
    "Which airline did I book for Tokyo?",
    "What's the PIN of my bank card?",
    "How do I reset my router?",
    "Who is my lawyer?",
    "Which university did I go to?",
    "When does my passport expire?",
    "What is the capital of Mongolia?",
    "What size of shoes do I wear?",
    "Which stocks do I own?",
    "What did my landlord say about the rent?",
    "Which programming language do I like best?",
)
"""Questions on subjects of which the life says nothing."""

ALL_TODOS = "What are all my to-dos?"
FOOD = "How much did I spend on food this week?"


def live(bank: MemoryBank) -> MemoryBank:
    """The bank with that life; one to-do has been dropped."""
    rows: list[tuple[str, str, list[dict[str, Any]]]] = [(day, what, []) for day, what in TOLD]
    todos = [*TODOS.items(), DROPPED]
    rows += [("2024-06-03", what, [_record("task", "", value)]) for value, what in todos]
    rows += [
        (day, what, [_record("expense", category, value, "EUR")]) for day, category, value, what in SPENT
    ]
    messages = [
        Message(what, "Ines", f"{day}T18:00+00:00", id=f"m{at}") for at, (day, what, _) in enumerate(rows)
    ]
    facts = [
        {"what": what, "occurred_start": day, "records": records, "sources": [f"m{at}"]}
        for at, (day, what, records) in enumerate(rows)
    ]
    bank.retain(messages, facts=facts)
    (dropped,) = (unit for unit in bank.iterate_units() if "canoe" in unit.text)
    bank.withdraw(dropped.id)
    return bank


def busy(bank: MemoryBank, jobs: int = 300) -> MemoryBank:
    """A bank with more to-dos than fit into a prompt, three per memory."""
    facts = [
        {
            "what": f"The crew has to inspect the buoys {at}, {at + 1} and {at + 2} of the northern fairway.",
            "records": [
                _record("task", "", f"inspect buoy {number} of the northern fairway")
                for number in range(at, at + 3)
            ],
        }
        for at in range(0, jobs, 3)
    ]
    bank.retain("The harbour master read out the season's list.", facts=facts)
    return bank


def noted_todos(messages: Sequence[object]) -> dict[str, Any]:
    """The facts that a model extracts from "I have to ...", one with a to-do each, as a script for models."""
    said = "\n".join(str(getattr(message, "content", message)) for message in messages)
    jobs = sorted(set(re.findall(r"I have to ([a-z ]+)\.", said)))
    return {
        "facts": [{"what": f"The user has to {job}.", "records": [_record("task", "", job)]} for job in jobs]
    }


def _record(kind: str, category: str, value: str, unit: str = "") -> dict[str, str]:
    return {"kind": kind, "category": category, "value": value, "unit": unit}
