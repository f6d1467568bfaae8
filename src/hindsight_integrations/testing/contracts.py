"""Contract tests for LanguageModel, Embedder and Reranker: inherit from one, name the class Test..., and define its fixtures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import pytest
from pydantic import BaseModel, Field

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.models.protocols import (
    Completion,
    Embedder,
    LanguageModel,
    Prompt,
    PromptMessage,
    PromptRole,
    Reranker,
)


class Verdict(BaseModel):
    """The schema of the contract's prompts."""

    answer: str
    confidence: float = Field(ge=0.0, le=1.0)


Answer: TypeAlias = "dict[str, Any] | str"
ModelFor: TypeAlias = Callable[[list[Answer]], LanguageModel]

VERDICT: dict[str, Any] = {"answer": "yes", "confidence": 0.5}


def verdict_prompt(text: str = "Is it so?") -> Prompt[Verdict]:
    """Create a prompt with all three roles that asks for a Verdict."""
    messages = (
        PromptMessage(PromptRole.SYSTEM, "Judge."),
        PromptMessage(PromptRole.USER, "Is water wet?"),
        PromptMessage(PromptRole.ASSISTANT, "It is."),
        PromptMessage(PromptRole.USER, text),
    )
    return Prompt("verdict", messages, Verdict)


def run(call: Coroutine[Any, Any, Completion[Verdict]]) -> Completion[Verdict]:
    """Run a call in a new event loop."""
    return asyncio.run(call)


class LanguageModelContract:
    """Checks parsing, malformed answers, usage, and independence from event loops."""

    @pytest.fixture
    def model_for(self) -> ModelFor:
        """Return a factory of models that give these answers in turn: a dict as JSON, a string as raw text."""
        raise NotImplementedError

    def test_it_answers_in_the_schema(self, model_for: ModelFor) -> None:
        """A caller gets a validated object, not text to parse."""
        done = run(model_for([VERDICT]).complete(verdict_prompt()))
        assert done.output == Verdict(answer="yes", confidence=0.5)

    def test_usage_is_reported(self, model_for: ModelFor) -> None:
        """Token counts are reported."""
        done = run(model_for([VERDICT]).complete(verdict_prompt()))
        assert done.tokens_in > 0
        assert done.tokens_out > 0

    @pytest.mark.parametrize(
        ("output", "telltale"),
        [
            ("I would rather not say.", "rather not say"),
            ('{"answer": "yes", "conf', '"yes", "conf'),
            ('{"answer": "yes", "confidence": 7}', "7"),
        ],
        ids=["prose", "broken-json", "out-of-range"],
    )
    def test_malformed_output_is_carried(self, model_for: ModelFor, output: str, telltale: str) -> None:
        """The error contains the malformed output, so that it can be repaired, and names the model."""
        model = model_for([output])
        with pytest.raises(MalformedOutput) as caught:
            run(model.complete(verdict_prompt()))
        assert telltale in caught.value.output
        assert caught.value.model == model.name
        assert caught.value.problem

    def test_a_second_event_loop_works(self, model_for: ModelFor) -> None:
        """The model works in several event loops, one after the other."""
        model = model_for([VERDICT] * 4)
        for _ in range(4):
            assert run(model.complete(verdict_prompt())).output.answer == "yes"

    def test_calls_run_at_once(self, model_for: ModelFor) -> None:
        """Concurrent calls get their own answers."""
        model = model_for([VERDICT] * 6)

        async def both() -> list[Completion[Verdict]]:
            return await asyncio.gather(*(model.complete(verdict_prompt(str(i))) for i in range(6)))

        assert [done.output.answer for done in asyncio.run(both())] == ["yes"] * 6

    def test_it_has_a_name(self, model_for: ModelFor) -> None:
        """It has a name, which errors and `doctor` show."""
        assert model_for([VERDICT]).name


SENTENCES = (
    "Alice adopted a golden retriever puppy.",
    "The database server ran out of disk space last night.",
    "Tom bakes sourdough bread with rye flour every weekend.",
)


class EmbedderContract:
    """Checks shapes, norms, order, repeatability and the thresholds' order."""

    same_text_cosine = 0.98
    """Minimum cosine between a text embedded alone and in a batch: int8 weights scale activations per batch."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_documents_are_unit_rows(self, embedder: Embedder) -> None:
        """Every vector is float32 and has unit norm, so that dot products are cosines."""
        rows = embedder.embed_documents(SENTENCES)
        assert rows.shape == (len(SENTENCES), embedder.identity.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_query_is_a_unit_vector(self, embedder: Embedder) -> None:
        """A question's vector is comparable with passage vectors."""
        vector = embedder.embed_query("Which pet does Alice have?")
        assert vector.shape == (embedder.identity.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        """An empty list of texts gives an empty matrix with the right width."""
        rows = embedder.embed_documents([])
        assert rows.shape == (0, embedder.identity.dimension)
        assert rows.dtype == np.float32

    def test_rows_stand_in_the_order_given(self, embedder: Embedder) -> None:
        """Rows are in the order of the texts, however the embedder batches or sorts."""
        texts = ["Snow", " ".join((*SENTENCES, "The flight to Lisbon was late.")), *SENTENCES]
        rows = embedder.embed_documents(texts)
        alone = np.stack([embedder.embed_documents([text])[0] for text in texts])
        cosines = rows @ alone.T
        assert np.diag(cosines).min() >= self.same_text_cosine
        assert cosines.argmax(axis=1).tolist() == list(range(len(texts)))

    def test_the_same_call_gives_the_same_vectors(self, embedder: Embedder) -> None:
        """Embedding is deterministic, so that a recall ranks the same every time."""
        np.testing.assert_array_equal(
            embedder.embed_documents(SENTENCES), embedder.embed_documents(SENTENCES)
        )
        np.testing.assert_array_equal(embedder.embed_query("Who bakes?"), embedder.embed_query("Who bakes?"))

    def test_odd_texts_have_vectors(self, embedder: Embedder) -> None:
        """Empty texts, emojis and very long texts have vectors."""
        rows = embedder.embed_documents(["", " \n", "🐕‍🦺", "\x00", "word " * 2000])
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_threads_get_their_own_answers(self, embedder: Embedder) -> None:
        """Concurrent calls never get each other's vectors."""
        expected = [embedder.embed_query(text) for text in SENTENCES]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(embedder.embed_query, SENTENCES * 4))
        for position, vector in enumerate(found):
            np.testing.assert_allclose(vector, expected[position % len(SENTENCES)], atol=1e-5)

    def test_identity_is_stable(self, embedder: Embedder) -> None:
        """The identity is stable, so that a reopened bank accepts the embedder, and its thresholds are in order."""
        first, second = embedder.identity, embedder.identity
        assert first.name
        assert first.matches(second)
        assert first.thresholds == second.thresholds
        assert -1.0 <= first.thresholds.channel_floor < 1.0
        assert first.thresholds.semantic_link <= first.thresholds.duplicate < 1.0


QUESTION = "Which pet did Alice adopt?"
PASSAGES = (
    "The database server ran out of disk space last night, and the whole team had to stay and clean up old logs.",
    "Alice did adopt a pet: a golden retriever.",
    "Tom bakes bread.",
)


class RerankerContract:
    """Checks shape, order, repeatability, and that the answer scores highest."""

    pair_tolerance = 0.5
    """Maximum change of a pair's score with its batch: int8 weights scale activations per batch."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    def test_the_answer_scores_highest(self, reranker: Reranker) -> None:
        """The passage that answers the question scores highest."""
        assert int(np.argmax(reranker.score(QUESTION, PASSAGES))) == 1

    def test_one_finite_score_a_text(self, reranker: Reranker) -> None:
        """Every candidate gets a finite score."""
        scores = reranker.score(QUESTION, PASSAGES)
        assert scores.shape == (len(PASSAGES),)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_scores_stand_in_the_order_given(self, reranker: Reranker) -> None:
        """Each score belongs to its own text, however the reranker batches or sorts."""
        forth = reranker.score(QUESTION, PASSAGES)
        back = reranker.score(QUESTION, PASSAGES[::-1])
        np.testing.assert_allclose(forth, back[::-1], atol=self.pair_tolerance)

    def test_no_texts_give_no_scores(self, reranker: Reranker) -> None:
        """An empty list of texts gives an empty array."""
        assert reranker.score(QUESTION, []).shape == (0,)

    def test_odd_texts_have_scores(self, reranker: Reranker) -> None:
        """Empty and very long questions and passages have scores."""
        assert np.isfinite(reranker.score("", ["", "🐕", "word " * 2000])).all()

    def test_threads_get_their_own_answers(self, reranker: Reranker) -> None:
        """Concurrent calls never get each other's scores."""
        questions = (QUESTION, "Who bakes bread?")
        expected = [reranker.score(question, PASSAGES) for question in questions]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda question: reranker.score(question, PASSAGES), questions * 3))
        for position, scores in enumerate(found):
            np.testing.assert_allclose(scores, expected[position % 2], atol=1e-4)

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        """It has a name, which traces show."""
        assert reranker.name
