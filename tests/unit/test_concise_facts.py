"""The short prompt for small models: its size, and parsing of its answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from table import every_row

from hindsight_integrations.config import ExtractionMode, GeneralKnowledge, RetainConfig
from hindsight_integrations.model.facts import ExtractedFact, MemoryChange
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.prompts.answered_facts import AnsweredFact, ExtractedFacts
from hindsight_integrations.prompts.concise_facts import ConciseFact, ConciseFacts, concise_facts_prompt
from hindsight_integrations.prompts.extract_facts import Instructions, Passage
from hindsight_integrations.retain.extraction import extracted

MONDAY = datetime(2024, 5, 6, tzinfo=UTC)
SAID = [
    Message("I sold my bicycle for 90 euros.", "user", MONDAY, "id-of-the-first"),
    Message("Then I would walk to work.", "assistant", MONDAY, "id-of-the-second"),
]
HELD = MemoryUnit("u", "b", "The user owns a bicycle.", FactType.WORLD, MONDAY)
CONCISE = Instructions(ExtractionMode.CONCISE)

MOST_SYSTEM_TOKENS = 750
MOST_SCHEMA_TOKENS = 500


def system(instructions: Instructions = CONCISE, passage: Passage | None = None) -> str:
    return concise_facts_prompt(passage or Passage(SAID), instructions).messages[0].text


def facts_of(*facts: dict[str, Any]) -> list[AnsweredFact]:
    return extracted(ConciseFacts.model_validate({"facts": list(facts)}).facts, SAID)


def fact_of(**fields: object) -> ExtractedFact:
    (item,) = facts_of({"fact": "The user sold their bicycle.", **fields})
    assert item.fact is not None
    return item.fact


@pytest.mark.parametrize("general", GeneralKnowledge)
def test_it_is_short(general: GeneralKnowledge) -> None:
    """The prompt is short enough for slow models, and has no unfilled placeholder."""
    text = system(Instructions(ExtractionMode.CONCISE, general_knowledge=general))
    assert default_token_counter().count([text])[0] <= MOST_SYSTEM_TOKENS
    assert "{general_knowledge}" not in text


def test_its_schema_is_less_than_half_of_the_long_one() -> None:
    """The schema is less than half the size of the long prompt's."""
    short, long = (
        default_token_counter().count([json.dumps(schema.model_json_schema())])[0]
        for schema in (ConciseFacts, ExtractedFacts)
    )
    assert short <= MOST_SCHEMA_TOKENS
    assert short < long / 2


def test_the_system_message_is_the_same_for_every_passage() -> None:
    """The system message is constant, so that servers can cache it."""
    full = Passage(SAID, SAID, "a chat", [HELD], categories={RecordKind.EXPENSE: ["lunch"]})
    assert system() == system(passage=full)


def test_it_explains_every_field_and_its_example_fits() -> None:
    """The prompt explains every field, and its example answer is valid."""
    text = system()
    assert [name for name in ConciseFact.model_fields if f'"{name}"' not in text] == []
    example = ConciseFacts.model_validate_json(text[text.index('{"facts": [{') :])
    said = [Message("a", "user", MONDAY, "1"), Message("b", "assistant", MONDAY, "2")]
    items = extracted(example.facts, said)
    assert [item.problems for item in items] == [(), (), ()]
    assert [item.fact.fact_type for item in items if item.fact] == ["world", "world", "experience"]
    assert [len(item.fact.records) for item in items if item.fact] == [1, 1, 0]


def test_every_list_and_text_of_the_answer_is_bounded() -> None:
    """All lists and texts in the schema are bounded."""
    schema = ConciseFacts.model_json_schema()
    fields = [schema["properties"]["facts"], *schema["$defs"]["ConciseFact"]["properties"].values()]
    assert [field for field in fields if field["type"] == "array" and "maxItems" not in field] == []
    assert [field for field in fields if field["type"] == "string" and "maxLength" not in field] == []


def test_a_fact_becomes_one_of_the_long_prompt() -> None:
    """A short fact is converted: numbers become ids, names entities, and dates get their weekday."""
    fact = fact_of(
        lines=[1],
        date="2024-05-05",
        fact="Ana bought the user's bicycle for 90 euros.",
        names=["Ana", "Ana"],
        ends=[1],
        records=[{"kind": "income", "category": "bicycle", "value": "90", "unit": "EUR"}],
    )
    assert fact.sources == ["id-of-the-first"]
    assert (fact.when, fact.occurred_start) == ("Sunday, May 05, 2024", "2024-05-05")
    assert [entity.text for entity in fact.entities] == ["Ana"]
    assert [(change.memory, change.change) for change in fact.changes] == [(1, MemoryChange.ENDS)]
    assert [(record.kind, record.value) for record in fact.records] == [("income", Decimal(90))]


def test_a_concise_fact_ends_memories_and_neither_replaces_one_nor_ends_a_part() -> None:
    """Neither prompt nor schema offers it, and an answer that contains it changes nothing."""
    fact = fact_of(ends=[2], replaces=[1], changes=[{"memory": 1, "change": "replaces"}], part="budget")
    assert [(change.memory, change.change) for change in fact.changes] == [(2, MemoryChange.ENDS)]
    assert "replace" not in system()
    assert not {"replaces", "changes", "part"} & ConciseFact.model_fields.keys()


@every_row(
    ("date", "when", "start", "end"),
    [
        ("2024-05", "May 2024", "2024-05", None),
        ("2024", "2024", "2024", None),
        ("2024-05-04/2024-05-05", "Saturday, May 04, 2024", "2024-05-04", "2024-05-05"),
        ("", "", None, None),
        ("last summer", "", None, None),
        ("2024-13-45", "", None, None),
    ],
)
def test_a_date_is_as_exact_as_it_was_written(
    date: str, when: str, start: str | None, end: str | None
) -> None:
    """Dates keep their granularity, and invalid dates are dropped."""
    fact = fact_of(date=date)
    assert (fact.when, fact.occurred_start, fact.occurred_end) == (when, start, end)


@pytest.mark.parametrize(("heard", "kind"), [(SAID, "experience"), (SAID[:1], "world")])
def test_only_where_an_assistant_talks_it_has_an_experience(heard: list[Message], kind: str) -> None:
    """Statements of people among themselves are world facts, even if a small model calls them experiences."""
    answer = ConciseFacts.model_validate({"facts": [{"fact": "I advised walking.", "by_assistant": True}]})
    (item,) = extracted(answer.facts, heard)
    assert item.fact is not None
    assert item.fact.fact_type == kind


def test_who_is_not_in_a_fact_is_no_entity_of_it() -> None:
    """If a small model lists all people with every fact, or "The user" as a name, they are not all linked."""
    fact = fact_of(
        fact="The user sold a bicycle to Ana Prado.",
        names=["The user", "Ana", "Prado family", "Lisbon", "assistant", ""],
    )
    assert [entity.text for entity in fact.entities] == ["Ana", "Prado family"]


def test_what_cannot_be_read_costs_no_more_than_itself() -> None:
    """Valid facts are kept next to invalid ones, and each problem is named."""
    items = facts_of(
        {"fact": "The user sold their bicycle.", "lines": [1, 7], "date": "soon", "records": "none"},
        {"lines": [1]},
        {"fact": "I advised walking.", "lines": 2, "names": None, "by_assistant": True},
    )
    assert [item.fact is not None for item in items] == [True, False, True]
    problems = " ".join(problem for item in items for problem in item.problems)
    for telltale in (
        "message 7 does not exist; there are 2",
        "'soon' is not an ISO date",
        "records",
        "fact: Field required",
    ):
        assert telltale in problems
    assert items[2].fact is not None
    assert items[2].fact.sources == ["id-of-the-second"]


def test_a_fact_cut_at_its_bound_is_no_fact() -> None:
    """A fact cut in the middle of a sentence is dropped and named; a complete long one is kept."""
    cut, whole = "The user sold their bicycle and " * 20, "The user sold their bicycle. " * 20
    items = facts_of(*({"fact": text} for text in (cut[:400], whole[:399] + ".", cut[:500])))
    assert [item.fact is not None for item in items] == [False, True, True]
    assert "it was cut off at" in items[0].problems[0]


def test_an_expense_without_a_number_is_none() -> None:
    """An expense without a number is dropped."""
    records = [
        {"kind": "expense", "category": "rent", "value": "unknown", "unit": "EUR"},
        {"kind": "task", "category": "home", "value": "pay the rent", "unit": ""},
        {"kind": "quantity", "category": "rooms", "value": "3", "unit": "rooms"},
    ]
    (item,) = facts_of({"fact": "The user has 3 rooms and must pay the rent.", "records": records})
    assert item.fact is not None
    assert [record.category for record in item.fact.records] == ["home", "rooms"]
    assert item.problems == ("records: 'unknown' is not a number",)


def test_small_models_get_small_passages_and_few_memories() -> None:
    """`extraction="concise"` alone is enough; explicit numbers are used as given."""
    concise, narrative = RetainConfig(extraction="concise"), RetainConfig()
    assert (concise.passage_characters, concise.most_shown_memories) == (1000, 6)
    assert (narrative.passage_characters, narrative.most_shown_memories) == (3000, 16)
    given = RetainConfig(extraction="concise", chunk_characters=70, shown_memories=0)
    assert (given.passage_characters, given.most_shown_memories) == (70, 0)
