"""One memory: read, edited, and found by its new text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archived import archived_rows
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MalformedOutput, MemoryBank, Message
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.testing.doubles import HashEmbedder

TALK = [
    Message("Yesterday Alice bought a red kayak from Harbor Sports.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("Alice named the kayak Thunder.", "Bob", "2024-05-03T10:01", id="m2"),
]


def test_a_corrected_memory_is_found_by_what_it_says_now(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """The new text is found by meaning, words and time, the old one by none of them, after a restart too."""
    engine = opener(tmp_path)
    bank = engine.bank("alice")
    first, second = bank.retain(TALK).unit_ids
    edited = bank.edit(
        first,
        text="Alice rented a purple bicycle.",
        occurred=("2021-03-01", "2021-03-02"),
        tags=["t"],
        metadata={"k": 1},
    )
    for _ in range(2):
        assert bank.get(first) == edited
        assert (edited.id, edited.sources, edited.tags, dict(edited.metadata)) == (
            first,
            ("m1",),
            ("t",),
            {"k": 1},
        )
        found = bank.recall("Who rented a purple bicycle on March 1, 2021?").units[0]
        assert found.unit == edited
        assert {"semantic", "keyword", "temporal"} <= set(found.channels)
        assert all("keyword" not in i.channels for i in bank.recall("red harbor").units if i.unit.id == first)
        assert bank.get(second).text.endswith("Alice named the kayak Thunder.")
        engine.close()
        engine = opener(tmp_path)
        bank = engine.bank("alice")
    assert engine.doctor().failures == {}


def test_an_edit_is_audited_without_the_old_text(light: Hindsight) -> None:
    """The log contains the time and the changed fields; retaining the same conversation again does not undo the edit."""
    bank = light.bank("alice")
    first, _ = bank.retain(TALK).unit_ids
    bank.edit(first, text="Alice rented a bicycle.")
    bank.edit(first, tags=["x"])
    assert [fields for _, fields in bank.maintenance.edits(first)] == [("text",), ("tags",)]
    assert bank.retain(TALK).created == 0
    assert bank.get(first).text == "Alice rented a bicycle."


def test_tags_alone_cost_no_embedding(light: Hindsight) -> None:
    """Editing tags leaves text, time and links unchanged, and filters use the new tags at once."""
    bank = light.bank("alice")
    _, second = bank.retain(TALK).unit_ids
    bank.edit(second, tags=["boats"])
    assert [i.unit.id for i in bank.recall("kayak", tags=["boats"], tags_match="any_strict").units] == [
        second
    ]


@pytest.mark.parametrize(
    "changes", [{}, {"text": " "}, {"tags": "x"}, {"occurred": ("2024-05-02", "2024-05-01")}]
)
def test_a_senseless_edit_is_refused(light: Hindsight, changes: Any) -> None:
    """No change, an empty text, invalid tags or an inverted time raise, and the memory is unchanged."""
    bank = light.bank("alice")
    first, _ = bank.retain(TALK).unit_ids
    before = bank.get(first)
    with pytest.raises(InvalidRequest):
        bank.edit(first, **changes)
    assert (bank.get(first), bank.maintenance.edits(first)) == (before, [])


def test_an_unknown_id_is_named(light: Hindsight) -> None:
    """The error for an unknown memory names the id."""
    bank = light.bank("alice")
    for call in (bank.get, bank.maintenance.edits, lambda key: bank.edit(key, text="x")):
        with pytest.raises(InvalidRequest, match="nobody"):
            call("nobody")


class Failing(HashEmbedder):
    """Vectors with one kind of fault, after it is told to."""

    damage: Callable[[Matrix], Matrix] | None = None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        vectors = super().embed_documents(texts)
        return self.damage(vectors) if self.damage else vectors


DAMAGES: dict[str, Callable[[Matrix], Matrix]] = {
    "NaN": lambda vectors: vectors * np.float32(np.nan),
    "infinite": lambda vectors: np.full_like(vectors, np.inf),
    "zeros": np.zeros_like,
    "too long": lambda vectors: np.full_like(vectors, 3e38),
    "short": lambda vectors: vectors[:, :7],
    "one too few": lambda vectors: vectors[1:],
}
STORING: dict[str, Callable[[MemoryBank, str], object]] = {
    "retain": lambda bank, unit: bank.retain("Carol likes pears."),
    "edit": lambda bank, unit: bank.edit(unit, text="Carol likes pears."),
    "reindex": lambda bank, unit: bank.maintenance.reindex(),
}


@pytest.mark.promise(
    'A failed model call leaves memory unchanged or, with `on_model_failure="queue"` or verbatim '
    "extraction, loses no message."
)
@every_row("verb", STORING)
@every_row("damage", DAMAGES)
def test_vectors_that_are_none_are_never_stored(
    opener: Callable[..., Hindsight], verb: str, damage: str
) -> None:
    """Every method that stores vectors rejects NaN, infinity, zeros and a wrong length; the bank is unchanged."""
    embedder = Failing()
    bank = opener(embeddings=embedder).bank("alice")
    first, _ = bank.retain(TALK).unit_ids
    before = archived_rows(bank.archive.export, "units")
    embedder.damage = DAMAGES[damage]
    with pytest.raises(MalformedOutput):
        STORING[verb](bank, first)
    assert archived_rows(bank.archive.export, "units") == before
    embedder.damage = None
    assert bank.maintenance.reindex() == 2
    assert bank.recall("red kayak").units


LAST = "9999-12-31T23:59:59.999999"


def test_the_last_instant_of_the_last_year_is_an_instant_like_any_other(light: Hindsight) -> None:
    """Memories can be retained, edited, closed and restored at that instant, and the log keeps its order."""
    bank = light.bank("alice")
    (first,) = bank.retain([Message("Alice lives in Paris.", "Alice", LAST, id="m1")]).unit_ids
    (second,) = bank.retain([Message("Alice lives in Rome.", "Alice", LAST, id="m1")]).unit_ids
    assert [unit.id for unit in bank.units().units] == [second]
    assert bank.restore(first) is True
    assert [event.kind for event in bank.history(first)] == ["closed", "restored"]
    assert bank.restore(first) is False
    assert {unit.id for unit in bank.units().units} == {first, second}
    bank.edit(second, occurred=("9999-12-31", LAST))
    bank.edit(second, text="Alice lives in Oslo.")
    bank.recall("Where does Alice live?", as_of=LAST, query_timestamp=LAST)
    assert bank.retain([Message("Alice no longer lives in Oslo.", "Alice", LAST, id="m2")]).created == 1
    assert len(bank.forget(window=("9999-12-31", LAST)).unit_ids) >= 1
