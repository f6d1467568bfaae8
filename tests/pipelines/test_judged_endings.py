"""Statements that equal no memory: the extracting model is shown candidates in one more request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import Field
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

Opener = Callable[..., Hindsight]
LIGHT = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    retain=RetainConfig(shown_memories=0),  # so that no fact can name a memory by number
)

ESPRESSO = "The user can't start the day without a double espresso."
BOSS = "The user's boss drinks espresso with two sugars."
STATED = "The user drinks a strong espresso every morning."
ASKED = "Statements that no longer hold:"


class Judge(ScriptedModel):
    """Extracts a fact with a statement from every message but the first ones, and ends the memories that contain a word."""

    ends: str | None = "can't start"
    facts: Mapping[str, Any] = {}
    judged: list[str] = Field(default_factory=list)
    answer: Any = None

    def __init__(self, **fields: Any) -> None:
        super().__init__(self._reply, **fields)

    def _reply(self, messages: list[BaseMessage]) -> Reply:
        prompt = str(messages[1].content)
        if ASKED not in prompt:
            return {"facts": [{"what": "The user drinks tea now.", "invalidates": [STATED], **self.facts}]}
        self.judged.append(prompt)
        if self.answer is not None:
            return self.answer  # type: ignore[no-any-return]
        shown = re.findall(r"^\[(\d+)\] \([^)]*\) (.*)$", prompt, re.MULTILINE)
        numbers = [int(number) for number, text in shown if self.ends and self.ends in text]
        return {"endings": [{"statement": 1, "memories": numbers}]}


def hold(bank: MemoryBank, *texts: str, **options: Any) -> tuple[str, ...]:
    talk = [{"role": "user", "content": text, "id": f"h{n}"} for n, text in enumerate(texts)]
    facts = [{"what": text, "sources": [f"h{n}"]} for n, text in enumerate(texts)]
    return bank.retain(talk, timestamp="2024-05-01T10:00", facts=facts, thread="h", **options).unit_ids


def say(bank: MemoryBank, *, role: str = "user", **options: Any) -> RetainResult:
    message = {"role": role, "content": "I have switched to tea.", "id": "new"}
    return bank.retain([message], timestamp="2024-05-09T10:00", **options)


def test_the_model_says_which_memory_a_statement_means(opener: Opener) -> None:
    """One request shows the candidates as data; the selected ones end with the statement as the reason, and the cost is counted."""
    model = Judge()
    bank = opener(config=LIGHT, model=model).bank("alice")
    espresso, boss = hold(bank, ESPRESSO, BOSS)
    result = say(bank)
    assert [(done.unit_id, done.statement) for done in result.closed] == [(espresso, STATED)]
    assert (result.ambiguous, bank.get(boss).closed_at) == ((), None)
    (prompt,) = model.judged
    assert ESPRESSO in prompt
    assert BOSS in prompt
    (event,) = bank.history(espresso)
    assert (event.by_unit, event.reason) == (result.unit_ids[0], STATED)


def test_what_came_back_in_other_words_ends_again(opener: Opener) -> None:
    """A statement that equals a memory that has ended may mean a later one, which the model decides."""
    model = Judge()
    bank = opener(config=LIGHT, model=model).bank("alice")
    hold(bank, STATED)
    assert [done.statement for done in say(bank).closed] == [STATED]
    message = {"role": "user", "content": "Only tea, as I said.", "id": "again"}
    again = bank.retain([message], timestamp="2024-05-10T10:00")
    assert (again.closed, again.ambiguous) == ((), ())
    (espresso,) = bank.retain(
        [{"role": "user", "content": ESPRESSO, "id": "back"}],
        timestamp="2024-05-11T10:00",
        facts=[{"what": ESPRESSO, "sources": ["back"]}],
    ).unit_ids
    message = {"role": "user", "content": "Now it is tea for good.", "id": "last"}
    last = bank.retain([message], timestamp="2024-05-12T10:00")
    assert [done.unit_id for done in last.closed] == [espresso]
    assert ESPRESSO in model.judged[-1]


def test_what_the_model_says_means_nothing_ends_nothing(opener: Opener) -> None:
    bank = opener(config=LIGHT, model=Judge(ends=None)).bank("alice")
    hold(bank, ESPRESSO, BOSS)
    result = say(bank)
    assert (result.created, result.closed, result.ambiguous) == (1, (), ())


@every_row(
    "answer",
    [
        ConnectionError("down"),
        "no JSON at all",
        {"wrong": 1},
        {"endings": "all of them"},
    ],
)
def test_without_a_usable_answer_the_statement_is_ambiguous_and_the_fact_is_kept(answer: Any) -> None:
    with opened(Judge(answer=answer)) as engine:
        bank = engine.bank("alice")
        held = set(hold(bank, ESPRESSO, BOSS))
        result = say(bank)
        assert (result.created, result.closed) == (1, ())
        assert [(doubt.statement, set(doubt.candidates)) for doubt in result.ambiguous] == [(STATED, held)]
        assert all(bank.get(unit).closed_at is None for unit in held)


def test_numbers_that_were_not_shown_end_nothing(opener: Opener) -> None:
    """Numbers for a statement that was not asked about are ignored too."""
    endings = [{"statement": 1, "memories": [0, -1, 99]}, {"statement": 7, "memories": [1, 2]}]
    bank = opener(config=LIGHT, model=Judge(answer={"endings": endings})).bank("alice")
    hold(bank, ESPRESSO, BOSS)
    assert say(bank).closed == ()
    assert bank.units().total == 3


@every_row(
    ("held", "options", "fact"),
    [
        ([], {}, {}),
        ([STATED], {}, {}),
        ([ESPRESSO], {"role": "assistant"}, {}),
        ([ESPRESSO], {"tags": ["b"]}, {}),
        ([ESPRESSO], {"facts": [{"what": "Tea.", "sources": ["new"], "invalidates": [STATED]}]}, {}),
        ([ESPRESSO], {}, {"invalidates": []}),
    ],
    ids=[
        "nothing to mean",
        "an equal memory",
        "the assistant's",
        "other tags",
        "given facts",
        "no statement",
    ],
)
def test_the_model_is_asked_only_where_a_person_may_mean_a_memory(
    held: Sequence[str], options: dict[str, Any], fact: dict[str, Any]
) -> None:
    model = Judge(facts=fact)
    with opened(model) as engine:
        bank = engine.bank("alice")
        hold(bank, *held or ("The weather was fine.",), tags=["a"] if "tags" in options else [])
        if not held:
            bank.forget(everything=True)
        say(bank, **options)
        assert model.judged == []


def test_what_ended_while_the_model_was_asked_is_left_alone(opener: Opener) -> None:
    """The commit decides on the bank's current state."""
    bank: MemoryBank

    class Withdrawing(Judge):
        def __init__(self) -> None:
            super().__init__()

        def _reply(self, messages: list[BaseMessage]) -> Reply:
            if ASKED in str(messages[1].content):
                ended = [{"unit_id": espresso, "change": "ends"}]
                other = [{"role": "user", "content": "No espresso.", "id": "other"}]
                facts = [{"what": "No espresso.", "sources": ["other"], "changes": ended}]
                bank.retain(other, timestamp="2024-05-08", facts=facts, thread="other")
            return super()._reply(messages)

    bank = opener(config=LIGHT, model=Withdrawing()).bank("alice")
    espresso, _ = hold(bank, ESPRESSO, BOSS)
    assert say(bank).closed == ()
    assert len(bank.history(espresso)) == 1


def opened(model: Judge) -> Hindsight:
    return Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None, config=LIGHT, model=model)
