"""Entity resolution: which names are merged, and which are not (paper eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.names import (
    contains_name,
    name_similarity,
    one_edit_apart,
    possible_names,
)
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.model.entities import Entity, EntityMention, EntityRole, EntityType
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.retain.drafts import UnitDraft
from hindsight_integrations.retain.resolution import (
    Resolution,
    cooccurrence,
    merge_score,
    recency,
    resolve,
)

NOW = datetime(2024, 6, 1, tzinfo=UTC)
PERSON, ORG, PLACE, OTHER, CONCEPT, PRODUCT = (
    EntityType.PERSON,
    EntityType.ORGANIZATION,
    EntityType.LOCATION,
    EntityType.OTHER,
    EntityType.CONCEPT,
    EntityType.PRODUCT,
)


def draft(number: int, *mentions: tuple[str, EntityType], at: datetime = NOW) -> UnitDraft:
    unit = MemoryUnit(id=f"u{number}", bank="b", text="t", fact_type=FactType.WORLD, mentioned_at=at)
    return UnitDraft(unit, tuple(EntityMention(text, kind) for text, kind in mentions))


def resolved(
    *mentions: tuple[str, EntityType], known: Sequence[Entity] = (), speakers: frozenset[str] = frozenset()
) -> Resolution:
    """Resolve each mention in a separate unit against the bank."""

    def lookup(names: Sequence[str]) -> Mapping[str, list[Entity]]:
        return {name: list(known) for name in names}

    drafts = [draft(n, mention) for n, mention in enumerate(mentions)]
    return resolve(drafts, lookup, nobody, bank="b", speakers=speakers)


def nobody(_: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """No co-occurrences."""
    return {}


def test_company_decides_between_spellings() -> None:
    """A misspelt name is resolved to a known person only with that person's co-occurring entities."""
    long_ago = Entity("e1", "Katarina", PERSON, names=("katarina",), last_seen=NOW - timedelta(days=90))

    def entities_of(company: frozenset[str]) -> set[str]:
        fact = draft(1, ("Katerina", PERSON), ("Bob", PERSON))
        found = resolve(
            [fact],
            lambda names: {n: [long_ago] for n in names},
            lambda _: {"e1": company},
            bank="b",
            speakers=frozenset(),
        )
        return {mention.entity_id for mention in found.mentions}

    assert "e1" in entities_of(frozenset({"bob"}))
    assert "e1" not in entities_of(frozenset({"eve"}))


def groups(*mentions: tuple[str, EntityType]) -> int:
    return len({mention.entity_id for mention in resolved(*mentions).mentions})


@every_row(
    ("first", "second"),
    [
        (("Room 101", PLACE), ("Room 102", PLACE)),
        (("UA123", OTHER), ("UA124", OTHER)),
        (("2023 tax return", OTHER), ("2024 tax return", OTHER)),
        (("Tigran", PERSON), ("Iran", PLACE)),
        (("Tigran", OTHER), ("Iran", OTHER)),
        (("Apple", ORG), ("apple", PRODUCT)),
        (("Apple", ORG), ("apple", CONCEPT)),
        (("Bob", PERSON), ("Robert", PERSON)),
        (("Melanie", PERSON), ("Melanie's kids", PERSON)),
        (("Mark", PERSON), ("Mary", PERSON)),
        (("painting", CONCEPT), ("lake sunrise painting", OTHER)),
        (("Paris", PLACE), ("Paris", PERSON)),
        (("Alice Chen", PERSON), ("Alice Wong", PERSON)),
        (("Jonas", PERSON), ("Monas", PERSON)),
    ],
)
def test_apart(first: tuple[str, EntityType], second: tuple[str, EntityType]) -> None:
    """Merely similar names stay two entities, in either order."""
    assert groups(first, second) == groups(second, first) == 2


@every_row(
    "mentions",
    [
        [("Alice", PERSON), ("Alice Chen", PERSON)],
        [("Alice Chen", PERSON), ("Alice", PERSON), ("Alice C.", PERSON)],
        [("Alice C.", PERSON), ("Alice Chen", PERSON)],
        [("alice", PERSON), ("Alice", PERSON), ("ALICE", PERSON), ("Alice's", PERSON)],
        [("LGBTQ support group", ORG), ("LGBTQ support group", OTHER)],
        [("Katarina", PERSON), ("Katerina", PERSON)],
        [("Jose\u0301 Garcia", PERSON), ("José Garcia", PERSON)],
    ],
)
def test_together(mentions: list[tuple[str, EntityType]]) -> None:
    """Forms of one name become one entity."""
    assert groups(*mentions) == 1


def test_a_short_form_that_fits_two_people_is_neither() -> None:
    """An ambiguous short form becomes a separate entity."""
    assert groups(("Alice Chen", PERSON), ("Alice Wong", PERSON), ("Alice", PERSON)) == 3


def test_known_entities_are_found_and_learn_new_names() -> None:
    """A mention of a known person under a longer name adds that name and makes no entity."""
    alice = Entity("e1", "Alice", PERSON, names=("alice",), mentions=3, last_seen=NOW)
    result = resolved(("Alice Chen", PERSON), known=[alice])
    assert [(write.id, write.names) for write in result.entities] == [("e1", ("alice chen",))]
    assert result.mentions[0].entity_id == "e1"


@every_row(
    ("name", "role"),
    [
        ("User", EntityRole.USER),
        ("I", EntityRole.USER),
        ("assistant", EntityRole.AGENT),
        ("Caroline", EntityRole.SPEAKER),
    ],
)
def test_speakers_user_and_agent_have_roles(name: str, role: EntityRole) -> None:
    """Speakers, user and agent get roles, so that the graph does not traverse them."""
    result = resolved((name, OTHER), speakers=frozenset({"Caroline"}))
    assert (result.entities[0].role, result.entities[0].type) == (role, PERSON)


def test_a_unit_mentions_an_entity_once() -> None:
    """Two forms of a name in one fact are one mention."""
    drafts = [draft(1, ("Alice", PERSON), ("Alice Chen", PERSON))]
    result = resolve(drafts, lambda _: {}, nobody, bank="b", speakers=frozenset())
    assert (len(result.entities), len(result.mentions)) == (1, 1)


def test_names_of_one_fact_are_not_spellings_of_each_other() -> None:
    """Maria and Marie in one fact are two people, whatever their letters."""
    drafts = [draft(1, ("Maria", PERSON), ("Marie", PERSON))]
    result = resolve(drafts, lambda _: {}, nobody, bank="b", speakers=frozenset())
    assert len(result.entities) == 2


def test_equation_2_by_hand() -> None:
    """Eq. 2: 0.5 name + 0.3 co-occurrence + 0.2 recency, with numbers."""
    entity = Entity(
        "e",
        "Katarina",
        PERSON,
        names=("katarina",),
        last_seen=NOW - timedelta(days=3.5),
    )
    assert name_similarity("katerina", "katarina") == pytest.approx(7 / 8)
    assert cooccurrence(frozenset({"bob"}), frozenset({"bob", "eve"})) == 0.5
    assert recency(entity, NOW) == pytest.approx(0.5)
    score = merge_score(
        "katerina", entity, met=frozenset({"bob"}), nearby=frozenset({"bob", "eve"}), moment=NOW
    )
    assert score == pytest.approx(0.5 * 7 / 8 + 0.3 * 0.5 + 0.2 * 0.5)


@given(st.text(max_size=40))
def test_normalising_is_idempotent(name: str) -> None:
    """Name normalisation is idempotent."""
    assert normalise_name(normalise_name(name)) == normalise_name(name)


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_name_relations_are_symmetric(first: str, second: str) -> None:
    """Name relations are symmetric."""
    assert one_edit_apart(first, second) == one_edit_apart(second, first)
    assert contains_name(first, second) == contains_name(second, first)
    assert 0.0 <= name_similarity(first, second) <= 1.0


def test_possible_names_of_a_question() -> None:
    """Every run of up to four words may be a name; punctuation around words is not part of it."""
    names = possible_names("Does Alice's manager, Dan Weiss, know?", [ENGLISH])
    assert {"Alice's", "Dan Weiss", "manager Dan Weiss know"} <= set(names)
    assert len(names) == len(set(names))
