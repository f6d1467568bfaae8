"""Opinions formed by reflect: stored, used as evidence, or refused (paper sections 5.4 and 6.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from hindsight_integrations import (
    BankProfile,
    BigFive,
    Disposition,
    Hindsight,
    HindsightConfig,
    MemoryBank,
    ModelUnavailable,
    OpinionChange,
    OpinionOutcome,
    Reflection,
)
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.model.opinions import Assessment, OpinionOrigin, confidence_of
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.prompts.character import verbalize
from hindsight_integrations.prompts.rendering import template
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]

QUESTION = "What do you think about remote work?"
FACTS = (
    "Remote work removes the commute, which saves an hour a day.",
    "Remote work lacks the chance meetings and the mentors of an office.",
    "In a survey 65% of those in remote work said that they get more done.",
    "Some managers find people in remote work hard to follow.",
)
TRUSTING = BankProfile("Mira", "", Disposition(1, 2, 5), 0.8)
SKEPTICAL = BankProfile("Mira", "", Disposition(5, 5, 1), 0.8)
OPEN = BankProfile("Mira", "", BigFive(openness=0.9, conscientiousness=0.2), 0.8)
CONSCIENTIOUS = BankProfile("Mira", "", BigFive(openness=0.2, conscientiousness=0.9), 0.8)
GAIN = "I think remote work is a gain because it removes the commute and leaves room for flexible work."
RISK = "I believe remote work is a risk, since managers find it hard to follow what people do."


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([])


@pytest.fixture
def bank(opener: Opener, light_config: HindsightConfig, model: ScriptedModel) -> MemoryBank:
    bank = opener(model=model, config=light_config).bank("mira")
    for day, fact in enumerate(FACTS, 1):
        retain(bank, fact, timestamp=f"2024-06-{day:02}T10:00")
    return bank


def retain(bank: MemoryBank, fact: str, entity: str = "remote work", **options: Any) -> str:
    given = {"what": fact, "entities": [{"text": entity, "type": "CONCEPT"}]}
    (unit,) = bank.retain(fact, facts=[given], **options).unit_ids
    return unit


def opinion(text: str = GAIN, confidence: Any = 0.8, based_on: Any = ("1",), **other: Any) -> dict[str, Any]:
    return {
        "opinion": text,
        "confidence": confidence,
        "reasoning": "No commute.",
        "based_on": list(based_on),
        "entities": ["remote work"],
        **other,
    }


def answer(
    *opinions: dict[str, Any], text: str = "Remote work has two sides.", **other: Any
) -> dict[str, Any]:
    return {"text": text, "based_on": ["1"], "sufficient": True, "opinions": list(opinions), **other}


def relation(kind: str, strength: str = "strong", new: int = 1, held: int = 1) -> dict[str, Any]:
    return {"new": new, "held": held, "relation": kind, "strength": strength, "reason": "It says so."}


def number_of(model: ScriptedModel, text: str) -> str:
    """The number of a memory in the last answer's prompt."""
    prompt = next(each for each in reversed(model.prompts) if "<<<MEMORIES" in str(each[1].content))
    (line,) = [line for line in str(prompt[1].content).splitlines() if text in line]
    return line[1 : line.index("]")]


def outcomes(changes: tuple[OpinionChange, ...]) -> list[OpinionOutcome]:
    return [change.outcome for change in changes]


@pytest.mark.parametrize(
    ("profile", "text", "confidence"),
    [(TRUSTING, GAIN, 0.85), (SKEPTICAL, RISK, 0.75), (OPEN, GAIN, 0.9), (CONSCIENTIOUS, RISK, 0.7)],
)
def test_each_profile_forms_its_own_opinion_of_the_same_facts(
    bank: MemoryBank, model: ScriptedModel, profile: BankProfile, text: str, confidence: float
) -> None:
    """Figure 5 and earlier paper 11.1: the model gets its character and the same facts; its opinion is stored completely."""
    bank.profile.set(profile)
    model.script.append(answer(opinion(text, confidence, ["1", "4"])))
    reflection = bank.reflect(QUESTION)
    system, asked = (str(message.content) for message in model.prompts[-1])
    assert system == f"{template('answer')}\n\n{verbalize(profile)}"
    assert all(fact in asked for fact in FACTS)
    assert model.calls == reflection.calls == 1
    (change,) = reflection.opinions
    assert (change.outcome, change.reason) == (OpinionOutcome.FORMED, "")
    (held,) = bank.opinions.list()
    assert (held.id, held.text, held.confidence) == (change.opinion_id, text, confidence)
    assert (held.entities, held.origin, held.tags) == (("remote work",), OpinionOrigin.REFLECT, ())
    log = bank.opinions.history(held.id).log
    assert (log.profile, log.reasoning, log.evidence) == (1, "No commute.", ())
    assert {bank.get(unit).text for unit in log.versions[0].based_on} == {FACTS[0], FACTS[3]}
    assert [found.unit.id for found in bank.recall("remote work", types=["opinion"]).units] == [held.unit_id]


SPOILED = {
    "third person": opinion("The assistant thinks remote work is a gain because it removes the commute."),
    "somebody else": opinion("Mira believes that remote work is a gain because it removes the commute."),
    "no reasoning": opinion(reasoning=""),
    "confidence 7": opinion(confidence=7),
    "no confidence": opinion(confidence=None),
    "a word for a confidence": opinion(confidence="high"),
    "unknown id": opinion(based_on=["99"]),
    "stands on nothing": opinion(based_on=[]),
    "stands on itself": opinion(based_on=["B1"]),
    "a bare fact": opinion("Remote work removes the commute, because nobody travels."),
    "a quotation": opinion(
        '"I think remote work is a gain because it removes the commute."'.join(["Ana: ", ""])
    ),
    "a question": opinion("Do I think remote work is a gain because it removes the commute?"),
    "too long": opinion(f"{GAIN} {'It really does. ' * 60}"),
    "empty": opinion(""),
    "about nothing known": opinion("I believe that llamas sing, because nobody denies it.", entities=[]),
}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_opinion_goes_back_with_the_reason_and_is_mended(
    bank: MemoryBank, model: ScriptedModel, spoiled: dict[str, Any]
) -> None:
    """Whatever is wrong, the model gets the reason, and its repaired opinion is stored."""
    model.script += [answer(spoiled), answer(opinion())]
    reflection = bank.reflect(QUESTION)
    assert reflection.calls == 2
    assert "opinion 1: " in str(model.prompts[-1][-1].content)
    assert outcomes(reflection.opinions) == [OpinionOutcome.FORMED]
    assert [held.text for held in bank.opinions.list()] == [GAIN]


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED)
def test_an_opinion_that_stays_spoiled_is_refused_and_the_answer_kept(
    bank: MemoryBank, model: ScriptedModel, spoiled: dict[str, Any]
) -> None:
    """The valid opinion of the answer is formed; the other is not stored, and the reason is reported."""
    model.script += [answer(spoiled, opinion(RISK, based_on=["4"]))] * 3
    before = bank.count()
    reflection = bank.reflect(QUESTION)
    assert (reflection.text, reflection.calls) == ("Remote work has two sides.", 3)
    assert outcomes(reflection.opinions) == [OpinionOutcome.REFUSED, OpinionOutcome.FORMED]
    assert reflection.opinions[0].reason
    assert reflection.opinions[0].opinion_id is None
    assert [held.text for held in bank.opinions.list()] == [RISK]
    assert bank.count() == before + 1


def test_what_cannot_be_read_of_an_opinion_costs_no_answer(bank: MemoryBank, model: ScriptedModel) -> None:
    """Missing or invalid parts, and values that are not opinions, do not affect the answer."""
    model.script += [answer({"opinion": 5}, {}, opinion(based_on="1", entities=None)) | {"opinions": [
        {"opinion": 5}, {}, opinion(based_on="1", entities=None), "I think so", None]}] * 3  # fmt: skip
    reflection = bank.reflect(QUESTION)
    assert outcomes(reflection.opinions) == [OpinionOutcome.REFUSED] * 2 + [OpinionOutcome.FORMED]


def test_the_same_reflection_fifty_times_is_one_opinion(bank: MemoryBank, model: ScriptedModel) -> None:
    """In the same words from the same facts: it is known without a comparison, and its confidence does not change."""
    model.script += [answer(opinion(based_on=["1", "2"]))] * 50
    first, *again = (bank.reflect(QUESTION) for _ in range(50))
    assert outcomes(first.opinions) == [OpinionOutcome.FORMED]
    assert {outcomes(each.opinions)[0] for each in again} == {OpinionOutcome.KNOWN}
    assert {each.opinions[0].opinion_id for each in again} == {first.opinions[0].opinion_id}
    assert model.calls == 50
    (held,) = bank.opinions.list()
    assert (held.confidence, held.evidence) == (0.8, 0)


def test_a_retry_under_its_operation_forms_nothing_twice(bank: MemoryBank, model: ScriptedModel) -> None:
    """Whatever the model answers the second time, the outcome is that of the first, even if nothing was formed."""
    model.script += [
        answer(opinion()),
        answer(opinion(RISK, based_on=["4"])),
        answer(),
        answer(opinion(RISK)),
    ]
    first, second = (bank.reflect(QUESTION, operation="thread-1:run-2") for _ in range(2))
    assert [change.opinion_id for change in second.opinions] == [
        change.opinion_id for change in first.opinions
    ]
    assert [held.text for held in bank.opinions.list()] == [GAIN]
    assert [bank.reflect(QUESTION, operation="run-3").opinions for _ in range(2)] == [(), ()]
    assert len(bank.opinions.list()) == 1


def test_the_same_belief_in_other_words_is_no_twin(bank: MemoryBank, model: ScriptedModel) -> None:
    """One call compares them; a fact with which the opinion was not formed reinforces it, once."""
    other = opinion("I believe remote work is a gain, as it saves people an hour a day.", 0.6, ["1", "3"])
    model.script += [answer(opinion()), answer(other), {"relations": [relation("same")]}]
    bank.reflect(QUESTION)
    reflection = bank.reflect(QUESTION)
    assert (outcomes(reflection.opinions), reflection.calls) == ([OpinionOutcome.EVIDENCE], 2)
    (held,) = bank.opinions.list()
    assert (held.text, held.confidence) == (GAIN, 0.95)
    (row,) = bank.opinions.history(held.id).log.evidence
    assert (bank.get(row.unit_id).text, row.assessment) == (FACTS[2], Assessment.REINFORCE)
    model.script += [answer(other), {"relations": [relation("same")]}]
    assert outcomes(bank.reflect(QUESTION).opinions) == [OpinionOutcome.KNOWN]
    assert bank.opinions.get(held.id).confidence == 0.95


def test_a_refinement_takes_the_place_of_the_wording(
    bank: MemoryBank, model: ScriptedModel, clock: FrozenClock
) -> None:
    """The opinion keeps its id and log; recall finds the new words now and the old ones with an earlier `as_of`."""
    narrower = opinion(
        "I think remote work is a gain for those who have mentors, because it lacks those of an office.",
        0.6,
        ["2"],
    )
    model.script += [answer(opinion()), answer(narrower), {"relations": [relation("refines", "mild")]}]
    bank.reflect(QUESTION)
    before = clock.now()
    clock.set(before + timedelta(days=1))
    (change,) = bank.reflect(QUESTION).opinions
    (held,) = bank.opinions.list()
    assert (change.outcome, change.opinion_id) == (OpinionOutcome.REWORDED, held.id)
    assert (held.text, held.confidence) == (narrower["opinion"], 0.875)
    then, now = (bank.recall("remote work", types=["opinion"], as_of=as_of).units for as_of in (before, None))
    assert [found.text for found in then] == [GAIN]
    assert [found.text for found in now] == [narrower["opinion"]]


@pytest.mark.parametrize(("strength", "confidence", "text"), [("strong", 0.5, RISK), ("mild", 0.725, GAIN)])
def test_an_opposite_opinion_counts_against_the_one_held(
    bank: MemoryBank, model: ScriptedModel, strength: str, confidence: float, text: str
) -> None:
    """Its fact contradicts or weakens the opinion; only a strong contradiction changes the wording. Both are never held."""
    model.script += [answer(opinion()), answer(opinion(RISK, based_on=["4"]))]
    model.script.append({"relations": [relation("opposes", strength)]})
    bank.reflect(QUESTION)
    bank.reflect(QUESTION)
    (held,) = bank.opinions.list()
    assert (held.text, held.confidence) == (text, confidence)


def test_a_different_opinion_is_formed_beside_it(bank: MemoryBank, model: ScriptedModel) -> None:
    """It is compared, concerns another aspect, and is stored."""
    model.script += [
        answer(opinion()),
        answer(opinion(RISK, based_on=["4"])),
        {"relations": [relation("different")]},
    ]
    bank.reflect(QUESTION)
    assert outcomes(bank.reflect(QUESTION).opinions) == [OpinionOutcome.FORMED]
    assert [held.text for held in bank.opinions.list()] == [GAIN, RISK]


@pytest.mark.parametrize(
    "replies",
    [
        [ModelUnavailable("m", "down")],
        [{"relations": []}] * 3,
        [{"relations": [relation("same", held=9)]}] * 3,
        [{"relations": [relation("same"), relation("different")]}] * 3,
        ["nonsense"] * 3,
    ],
)
def test_what_cannot_be_compared_is_not_kept_and_the_answer_is(
    bank: MemoryBank, model: ScriptedModel, replies: list[Any]
) -> None:
    """If the model fails at the comparison, or omits the pair, the opinion is not stored, so that there is no duplicate."""
    model.script += [answer(opinion()), answer(opinion(RISK, based_on=["4"])), *replies]
    bank.reflect(QUESTION)
    reflection = bank.reflect(QUESTION)
    assert reflection.text == "Remote work has two sides."
    assert outcomes(reflection.opinions) == [OpinionOutcome.REFUSED]
    assert [held.text for held in bank.opinions.list()] == [GAIN]


def test_an_opinion_said_twice_in_an_answer_is_one(bank: MemoryBank, model: ScriptedModel) -> None:
    """The second one is reported as known, with the id of the first."""
    model.script.append(answer(opinion(), opinion(based_on=["2"])))
    first, second = bank.reflect(QUESTION).opinions
    assert (first.outcome, second.outcome) == (OpinionOutcome.FORMED, OpinionOutcome.KNOWN)
    assert second.opinion_id == first.opinion_id


def test_tags_are_those_of_the_grounds(bank: MemoryBank, model: ScriptedModel) -> None:
    """Untagged memories do not count; memories with two sets of tags give no opinion that readers of either could see."""
    retain(bank, "Ana says remote work made her lonely.", tags=["team:red"])
    retain(bank, "Bo says remote work made him rich.", tags=["team:blue"])
    model.script.append(answer())
    bank.reflect(QUESTION)
    red, blue = number_of(model, "lonely"), number_of(model, "rich")
    lonely = "I think remote work is hard, because it made Ana lonely."
    both = "I believe remote work is mixed, because it made Ana lonely and Bo rich."
    model.script += [
        answer(opinion(lonely, based_on=[red, "1"])),
        answer(opinion(both, based_on=[red, blue])),
    ]
    assert outcomes(bank.reflect(QUESTION).opinions) == [OpinionOutcome.FORMED]
    assert [held.tags for held in bank.opinions.list()] == [("team:red",)]
    (change,) = bank.reflect(QUESTION).opinions
    assert change.outcome is OpinionOutcome.REFUSED
    assert "different tags" in change.reason


def test_forgetting_reaches_what_an_opinion_took_without_citing_it(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """The opinion mentions Quillon, whom only an uncited memory names; it is erased with that memory."""
    unit = retain(bank, "Quillon left the firm over remote work.")
    model.script.append(
        answer(opinion("I think remote work is a risk because Quillon left over it.", based_on=["1"]))
    )
    bank.reflect(QUESTION)
    (held,) = bank.opinions.list()
    assert unit in bank.opinions.history(held.id).log.versions[0].based_on
    bank.forget(unit=unit)
    assert bank.opinions.list() == []
    assert not [found for found in bank.recall("Quillon").units if "Quillon" in found.text]


def test_beliefs_are_shown_as_beliefs_and_never_cited(bank: MemoryBank, model: ScriptedModel) -> None:
    """They are in a separate block with their confidence; an answer that cites one is returned for repair."""
    model.script += [answer(opinion()), answer(based_on=["B1"]), answer()]
    bank.reflect(QUESTION)
    reflection = bank.reflect(QUESTION)
    asked = str(model.prompts[-1][1].content)
    beliefs = asked.partition("<<<BELIEFS")[2].partition("BELIEFS>>>")[0]
    assert "[B1] (strong conviction, 0.80; since Wednesday, June 12, 2024) " + GAIN in beliefs
    assert GAIN not in asked.partition("<<<MEMORIES")[2].partition("MEMORIES>>>")[0]
    assert "beliefs are no evidence" in str(model.prompts[-1][-1].content)
    assert [citation.unit.text for citation in reflection.based_on if citation.unit] == [FACTS[0]]


def test_facts_that_come_while_the_answer_is_made_are_assessed(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """The opinion did not exist when they were retained, so its formation enqueues their assessment."""

    def reply(_: Any) -> Any:
        retain(bank, "A firm ended remote work after a bad year.")
        return answer(opinion())

    slow = ScriptedModel(lambda messages: asyncio.run(asyncio.to_thread(reply, messages)))
    model.script = slow.script
    bank.reflect(QUESTION)
    (held,) = bank.opinions.list()
    assert TaskKind.REINFORCE in [task.kind for task in bank.tasks.list()]
    assert confidence_of(bank.opinions.history(held.id).log) == 0.8


def test_no_opinions_are_formed_where_none_may_be(
    bank: MemoryBank, model: ScriptedModel, clock: FrozenClock
) -> None:
    """With `as_of`, with another profile, or if disabled: the answer is given, nothing is stored or compared."""
    model.script += [answer(opinion("Nonsense"))] * 3
    revision = bank.asynchronous._context.ledger.revision("mira")
    for reflection in (
        bank.reflect(QUESTION, as_of=clock.now()),
        bank.with_profile(SKEPTICAL).reflect(QUESTION),
        bank.reflect(QUESTION, form_opinions=False, operation="run-1"),
    ):
        assert (reflection.text, reflection.opinions, reflection.calls) == (
            "Remote work has two sides.",
            (),
            1,
        )
    assert bank.opinions.list() == []
    assert bank.asynchronous._context.ledger.revision("mira") == revision


def test_a_memory_forgotten_while_the_answer_is_made_leaves_no_opinion(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """No opinion is based on an erased memory."""
    unit = bank.recall("commute").units[0].unit.id

    def reply(_: Any) -> Any:
        bank.forget(unit=unit)
        return answer(opinion(based_on=[unit]), based_on=[unit])

    model.script = lambda messages: asyncio.run(asyncio.to_thread(reply, messages))
    (change,) = bank.reflect(QUESTION).opinions
    assert (change.outcome, bank.opinions.list()) == (OpinionOutcome.REFUSED, [])
    assert "erased" in change.reason


def test_an_embedder_that_fails_at_an_opinion_costs_no_answer(
    opener: Opener, light_config: HindsightConfig, model: ScriptedModel
) -> None:
    """The answer is returned, and the reason for the missing opinion is reported."""

    class Failing(HashEmbedder):
        """Fails for opinions."""

        def embed_documents(self, texts: Sequence[str]) -> Matrix:
            if any("I think" in text for text in texts):
                raise ModelUnavailable("embedder", "down")
            return super().embed_documents(texts)

    bank = opener(model=model, config=light_config, embeddings=Failing()).bank("mira")
    retain(bank, FACTS[0])
    model.script.append(answer(opinion()))
    reflection = bank.reflect(QUESTION)
    assert reflection.text == "Remote work has two sides."
    assert [(change.outcome, change.reason) for change in reflection.opinions] == [
        (OpinionOutcome.REFUSED, "it could not be embedded")
    ]


@pytest.mark.parametrize("operation", [None, "run-1"])
def test_reflections_at_once_form_one_opinion(
    bank: MemoryBank, model: ScriptedModel, operation: str | None
) -> None:
    """Eight equal reflections at the same time: one forms the opinion, the others report it as known."""
    model.script = [answer(opinion())] * 8

    async def all_at_once() -> list[Reflection]:
        asking = (bank.asynchronous.reflect(QUESTION, operation=operation) for _ in range(8))
        return await asyncio.gather(*asking)

    reflections = asyncio.run(all_at_once())
    (held,) = bank.opinions.list()
    assert {change.opinion_id for each in reflections for change in each.opinions} == {held.id}
    assert (held.confidence, held.evidence) == (0.8, 0)
    if operation is None:
        assert sorted(outcomes(each.opinions)[0] for each in reflections).count(OpinionOutcome.FORMED) == 1


def test_the_same_words_for_other_readers_are_another_opinion(bank: MemoryBank, model: ScriptedModel) -> None:
    """Formed again from memories with certain tags only, it is stored separately with these tags."""
    retain(bank, "The red team says remote work removes the commute.", tags=["team:red"])
    model.script.append(answer())
    bank.reflect(QUESTION)
    red, open_to_all = number_of(model, "red team"), number_of(model, FACTS[0])
    model.script += [answer(opinion(based_on=[open_to_all])), answer(opinion(based_on=[red]))]
    for _ in range(2):
        assert outcomes(bank.reflect(QUESTION).opinions) == [OpinionOutcome.FORMED]
    assert [(held.text, held.tags) for held in bank.opinions.list()] == [(GAIN, ()), (GAIN, ("team:red",))]


def test_two_opinions_of_an_answer_that_are_much_alike_are_two_where_they_say_other_things(
    opener: Opener, light_config: HindsightConfig, model: ScriptedModel
) -> None:
    """Even if an embedder cannot distinguish the texts, a negation is another opinion."""

    class Alike(HashEmbedder):
        """Gives all texts the same vector."""

        def embed_documents(self, texts: Sequence[str]) -> Matrix:
            return super().embed_documents(["the same"] * len(texts))

    bank = opener(model=model, config=light_config, embeddings=Alike()).bank("mira")
    retain(bank, FACTS[0])
    again, denied = GAIN.replace("leaves", "gives"), GAIN.replace("is a gain", "is not a gain")
    model.script.append(answer(opinion(), opinion(again), opinion(denied)))
    found = outcomes(bank.reflect(QUESTION).opinions)
    assert found == [OpinionOutcome.FORMED, OpinionOutcome.KNOWN, OpinionOutcome.FORMED]
