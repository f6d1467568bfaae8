"""Questions with a vector from the caller: from a framework that has embedded it, or of other texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from table import every_row

from hindsight_integrations import (
    Channel,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    ModelUnavailable,
    RecallResult,
    WrongDimension,
)
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.validation.arguments import checked_embedding

HOUSES = ["Ann Lee keeps bees behind the chapel", "Bo Chen tunes pianos downtown", "Cy Diaz grows figs"]
QUESTION = "Which pianos does Bo Chen tune?"


def fill(bank: MemoryBank) -> MemoryBank:
    bank.retain([{"content": what, "id": str(n)} for n, what in enumerate(HOUSES)], timestamp="2024-05-01")
    return bank


def scores(found: RecallResult) -> list[tuple[str, float]]:
    return [(item.unit.id, item.score) for item in found.units]


def nearest(found: RecallResult) -> str:
    """The first text of the semantic channel."""
    return min(
        (item for item in found.units if Channel.SEMANTIC in item.channels),
        key=lambda item: item.channels[Channel.SEMANTIC].rank,
    ).unit.text.removeprefix("user: ")


class FailingOnQuestions(HashEmbedder):
    """Embeds passages, but fails for questions."""

    def embed_query(self, text: str) -> Vector:
        if "?" in text:
            raise ModelUnavailable("hash-embedder", "down")
        return super().embed_query(text)


@every_row("length", [1.0, 1e-30, 7.5, 1e30])
def test_the_embedders_own_vector_changes_nothing(light: Hindsight, length: float) -> None:
    """A framework that has embedded the question gets the same answer, whatever the length of its vectors."""
    bank = fill(light.bank("street"))
    own = HashEmbedder().embed_query(QUESTION)
    expected = scores(bank.recall(QUESTION))
    for given in (own.astype(np.float64) * length, [float(number) * length for number in own]):
        found = scores(bank.recall(QUESTION, embedding=given))
        assert [unit for unit, _ in found] == [unit for unit, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_a_unit_vector_is_taken_bit_for_bit() -> None:
    """Normalised again it would differ in its last bits, which decide between equally near memories."""
    for n in range(40):
        own = HashEmbedder().embed_query(f"Which pianos does Bo Chen tune, and who keeps {n} bees?")
        taken = checked_embedding([float(number) for number in own])
        np.testing.assert_array_equal(np.array(taken, np.float32), own)


def test_the_vector_given_is_the_one_compared(light: Hindsight) -> None:
    """The semantic channel uses the vector, and words still come from the question, in both APIs."""
    bank = fill(light.bank("street"))
    vector = HashEmbedder().embed_query("figs that Cy Diaz grows")
    found = bank.recall(QUESTION, embedding=vector)
    assert nearest(found) == HOUSES[2] != nearest(bank.recall(QUESTION))
    assert any(Channel.KEYWORD in item.channels for item in found.units if HOUSES[1] in item.unit.text)
    assert scores(asyncio.run(bank.asynchronous.recall(QUESTION, embedding=vector))) == scores(found)


def test_texts_are_embedded_in_place_of_the_question(light: Hindsight) -> None:
    """Hypothetical answers replace the question: a single text, or the mean of several."""
    bank, embedder = fill(light.bank("street")), HashEmbedder()
    assert nearest(bank.recall(QUESTION, embedding=["Cy grows figs"])) == HOUSES[2]
    texts = ["Cy grows figs", "figs grow"]
    mean = np.mean([embedder.embed_query(text) for text in texts], axis=0)
    expected = bank.recall(QUESTION, embedding=mean)
    assert dict(scores(bank.recall(QUESTION, embedding=texts))) == pytest.approx(dict(scores(expected)))


def test_a_question_with_its_vector_needs_no_embedder(opener: Callable[..., Hindsight]) -> None:
    """If the embedder's service is down, a question with a vector still works."""
    bank = fill(opener(embeddings=FailingOnQuestions()).bank("street"))
    with pytest.raises(ModelUnavailable):
        bank.recall(QUESTION)
    assert bank.recall(QUESTION, embedding=HashEmbedder().embed_query(QUESTION)).units


@every_row(
    ("given", "message"),
    [
        ("a text", "str is not a vector"),
        (3.5, "float is not a vector"),
        ([[1.0, 2.0]], "not a one-dimensional list of numbers"),
        ([[1.0], [1.0, 2.0]], "not a one-dimensional list of numbers"),
        ([True, False], "not a one-dimensional list of numbers"),
        ([None, 1.0], "not a one-dimensional list of numbers"),
        ([float("nan")] * 256, "NaN or infinity"),
        ([float("inf")] * 256, "NaN or infinity"),
        ([0.0] * 256, "all its numbers are zero"),
        (["a text", 1.0], r"embedding\[1\]: it is float, not text"),
        (["a text", " "], r"embedding\[1\]: it is empty"),
        (["a text"] * 65, "65 texts, over 64"),
        ([], "not a one-dimensional list of numbers"),
    ],
)
def test_what_is_no_vector_says_why(light: Hindsight, given: Any, message: str) -> None:
    """The error for NaN, zeros, tables and texts instead of numbers names the field; an invalid vector never gives an answer."""
    with pytest.raises(InvalidRequest, match=message):
        fill(light.bank("street")).recall(QUESTION, embedding=given)


def test_a_vector_of_another_model_is_refused(light: Hindsight) -> None:
    """Its length is different: the error names both."""
    with pytest.raises(WrongDimension, match=r"embedding: the vector has dimension 384, but .* has 256"):
        fill(light.bank("street")).recall(QUESTION, embedding=[0.5] * 384)
