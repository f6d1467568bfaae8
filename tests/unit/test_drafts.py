"""Drafts and ids: which memories are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.retain.drafts import Origin, UnitDraft, draft_facts
from hindsight_integrations.retain.extraction import Extraction

NOW = datetime(2024, 6, 1, tzinfo=UTC)
ORIGIN = Origin("b", "UTC", NOW, {"m1": NOW, "m2": NOW + timedelta(minutes=1)}, thread="t")


def drafted(
    chunks: Sequence[Sequence[ExtractedFact]], origin: Origin = ORIGIN
) -> tuple[list[UnitDraft], list[Dropped]]:
    return draft_facts(Extraction(tuple(map(tuple, chunks))), origin)


def ids(*facts: dict[str, object], origin: Origin = ORIGIN) -> list[str]:
    drafts, _ = drafted([[ExtractedFact.model_validate(fact) for fact in facts]], origin)
    return [draft.unit.id for draft in drafts]


def test_the_same_fact_of_the_same_message_is_the_same_unit() -> None:
    """White space, case and compatible characters do not change a unit's id."""
    assert ids({"what": "I paid 5 €", "sources": ["m1"]}) == ids({"what": "i  paid 5 €", "sources": ["m1"]})


def test_the_same_words_later_are_another_unit() -> None:
    """Equal texts are different units by message, position in the message, thread and bank."""
    paid: dict[str, object] = {"what": "I paid 5 euros", "sources": ["m1"]}
    variants = {
        *ids(paid, paid),
        *ids({**paid, "sources": ["m2"]}),
        *ids(paid, origin=replace(ORIGIN, thread="u")),
        *ids(paid, origin=replace(ORIGIN, bank="c")),
    }
    assert len(variants) == 5


def test_a_fact_is_mentioned_when_its_last_source_was_written() -> None:
    """A fact from two messages has the time of the second."""
    drafts, _ = drafted([[ExtractedFact(what="x", sources=["m1", "m2"])]])
    assert drafts[0].unit.mentioned_at == NOW + timedelta(minutes=1)


def test_text_is_what_when_and_why() -> None:
    """The stored text includes when and why, unless `what` already does."""
    fact = ExtractedFact(what="Bob moved.", when="May 2024", where="Lisbon", who="Bob", why="A new job.")
    assert fact.narrative == "Bob moved. | When: May 2024 | A new job."
    assert ExtractedFact(what="Bob moved.").narrative == "Bob moved."


def test_causal_indexes_count_within_their_chunk_and_survive_dropped_facts() -> None:
    """Causal claims about dropped facts vanish; others still refer to the right unit."""
    chunk = [
        ExtractedFact(what="bad", sources=["nowhere"]),
        ExtractedFact(what="storm", sources=["m1"]),
        ExtractedFact.model_validate(
            {
                "what": "flood",
                "sources": ["m2"],
                "causal_relations": [
                    {"target_fact_index": 0, "relation_type": "causes"},
                    {"target_fact_index": 1, "relation_type": "caused_by", "strength": 0.5},
                    {"target_fact_index": 2, "relation_type": "causes"},
                    {"target_fact_index": 99, "relation_type": "causes"},
                ],
            }
        ),
    ]
    drafts, dropped = drafted([[ExtractedFact(what="earlier")], chunk])
    assert [(c.target_fact_index, c.relation_type.value, c.strength) for c in drafts[2].causes] == [
        (1, "caused_by", 0.5)
    ]
    assert [d.what for d in dropped] == ["bad"]


def test_records_keep_their_decimals() -> None:
    """Amounts are stored exactly."""
    fact = ExtractedFact.model_validate(
        {"what": "coffee", "record": {"kind": "expense", "category": None, "value": "3.41", "unit": "USD"}}
    )
    drafts, _ = drafted([[fact]])
    (record,) = drafts[0].unit.records
    assert record.value == Decimal("3.41")


def test_a_fact_keeps_all_its_records_in_their_order() -> None:
    """A fact keeps all its records in order, with canonical kinds."""
    fact = ExtractedFact.model_validate(
        {
            "what": "Bob bought tea and bread and has to call Ann.",
            "records": [
                {"kind": "purchase", "category": "tea", "value": 4, "unit": "EUR"},
                {"kind": "Expense", "category": "bread", "value": "3.10", "unit": "EUR"},
                {"kind": "to-do", "value": "call Ann"},
            ],
        }
    )
    (draft,), _ = drafted([[fact]])
    assert [(r.kind, r.category, r.value) for r in draft.unit.records] == [
        (RecordKind.EXPENSE, "tea", Decimal(4)),
        (RecordKind.EXPENSE, "bread", Decimal("3.10")),
        (RecordKind.TASK, "", "call Ann"),
    ]


@given(st.text(max_size=60))
def test_normalising_text_is_idempotent(text: str) -> None:
    """Text normalisation is idempotent."""
    assert normalised_text(normalised_text(text)) == normalised_text(text)


def test_items_of_a_document_are_units_of_their_own() -> None:
    """Items become separate units after all facts, numbered in order, with their head's sources."""
    item = {"kind": "document_item", "category": "clothes"}
    records = [{**item, "value": "two shirts"}, {"kind": "task", "value": "pack"}, {**item, "value": "a hat"}]
    chunk = [
        ExtractedFact.model_validate({"what": "Packing list", "sources": ["m1"], "records": records}),
        ExtractedFact(what="Bob moved.", sources=["m2"]),
    ]
    drafts, _ = drafted([chunk])
    head, moved, *items = (draft.unit for draft in drafts)
    assert [record.kind for record in head.records] == [RecordKind.TASK]
    assert (moved.kind, moved.part_of) == (UnitKind.MEMORY, None)
    assert [(unit.kind, unit.part_of, unit.number) for unit in items] == [
        (UnitKind.DOCUMENT_ITEM, head.id, 1),
        (UnitKind.DOCUMENT_ITEM, head.id, 2),
    ]
    assert [unit.text for unit in items] == ["clothes: two shirts", "clothes: a hat"]
    assert {(unit.thread, unit.sources, unit.mentioned_at) for unit in items} == {("t", ("m1",), NOW)}
    assert [draft.unit.id for draft in drafted([chunk])[0]] == [draft.unit.id for draft in drafts]


def test_a_belief_has_no_items() -> None:
    """Only world and experience facts can have items."""
    record = {"kind": "document_item", "value": "two shirts"}
    fact = ExtractedFact.model_validate({"what": "It suits", "fact_type": "opinion", "records": [record]})
    extraction = Extraction(((fact,),), given=True)
    (draft,), _ = draft_facts(extraction, ORIGIN)
    assert len(draft.unit.records) == 1
