"""Some facts of an entity to its observations, by a model or by choice of facts: Summarize(F_e) of paper eq. 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hindsight_integrations.cara.observations.facts import Facts
from hindsight_integrations.cara.observations.told import told, weight
from hindsight_integrations.cara.observations.tools import ObservationTools
from hindsight_integrations.config import FEWEST_OBSERVATIONS
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.text import clean_text, normalised_text
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Float64Array, IntArray, Matrix
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.observe import (
    AnsweredObservation,
    AnsweredObservations,
    fact_line,
    observe_prompt,
)
from hindsight_integrations.prompts.rendering import template
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.search.reference_scale import passage_cosines
from hindsight_integrations.text.language import Language, Person, in_another_language, written_in
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.person import persons
from hindsight_integrations.text.specifics import unknown_numbers
from hindsight_integrations.text.stems import content_stems

CANDIDATES = 512  # facts that may represent the others; of more, the newest half of so many and an even choice of the rest
TIE = 0.02  # of the best gain: of facts that say as much of the rest the newest is taken


# The few facts of an entity that say most of the rest: its observations where no model sums them up (decision
# 125).
def represented(
    vectors: Matrix, weights: Sequence[float], thresholds: Thresholds, *, most: int
) -> dict[int, list[int]]:
    """Facts that represent the others: position to the positions of those it stands for, itself first.

    Chosen greedily, so that each next one adds most to how near all facts are to a chosen one (facility location), until
    every fact is near one or there are enough. Every other fact stands under the chosen one it is nearest to, if it is as
    near as facts that are linked; else under none.

    Args:
        vectors: of the facts, the oldest first (n, dimension).
        weights: of each fact, above 0: one that weighs more counts more, and rather stands for others.
        thresholds: of their embedder.
        most: facts to choose.
    """
    places = candidates(len(vectors))
    cosines = vectors @ vectors[places].T
    likeness = passage_cosines(cosines, thresholds)
    likeness[places, np.arange(len(places))] = 1.0
    weight = np.asarray(weights, np.float64)
    chosen: list[int] = []
    covered = np.zeros(len(vectors))
    while len(chosen) < min(most, len(places)):
        gains = weight[places] * (weight @ np.maximum(likeness - covered[:, None], 0.0))
        gains[chosen] = -1.0
        chosen.append(_newest_of_the_best(gains))
        np.maximum(covered, likeness[:, chosen[-1]], out=covered)
        near = cosines[:, chosen].max(axis=1) >= thresholds.semantic_link
        near[places[chosen]] = True
        if len(chosen) >= FEWEST_OBSERVATIONS and near.all():
            break
    return _standing_under(cosines[:, chosen], places[chosen], thresholds.semantic_link)


def candidates(count: int) -> IntArray:
    """Positions of the facts that may represent others, ascending: all of them up to a number, beyond it the newest and some."""
    if count <= CANDIDATES:
        return np.arange(count, dtype=np.int64)
    newest = CANDIDATES // 2
    spread = np.linspace(0, count - newest - 1, CANDIDATES - newest).round().astype(np.int64)
    return np.concatenate([spread, np.arange(count - newest, count, dtype=np.int64)])


def _newest_of_the_best(gains: Float64Array) -> int:
    best = float(gains.max())
    return int(np.flatnonzero(gains >= best - TIE * abs(best))[-1])


def _standing_under(cosines: Matrix, chosen: IntArray, floor: float) -> dict[int, list[int]]:
    """Each chosen fact with the others that are nearest to it and near enough; in the order they were chosen."""
    under = {place: [place] for place in chosen.tolist()}
    nearest = cosines.argmax(axis=1)
    for place in np.flatnonzero(cosines.max(axis=1) >= floor).tolist():
        if place not in under:
            under[int(chosen[nearest[place]])].append(place)
    return under


NEWEST_SHARE = (
    0.5  # of the budget that goes to the newest facts; the rest to those most unlike what is shown already
)


# Which facts of an entity are shown to a model where not all of them fit.
def chosen_within(costs: Sequence[int], vectors: Matrix, *, budget: int, duplicate: float) -> list[int]:
    """Positions of the facts to show, ascending: all if they fit, else the newest, then the most distinct.

    Near duplicates of newer facts are passed over while there are others. The same facts give the same choice.

    Args:
        costs: tokens of each fact, the oldest first.
        vectors: of the facts (n, dimension).
        budget: tokens of all that are shown.
        duplicate: the embedder's cosine from which on two texts say the same.
    """
    cost = np.asarray(costs, np.int64)
    if int(cost.sum()) <= budget:
        return list(range(len(cost)))
    nearest = np.full(len(cost), -1.0)  # cosine with the nearest fact that is shown
    free = np.ones(len(cost), np.bool_)
    left = budget

    def show(place: int) -> None:
        nonlocal left
        left -= int(cost[place])
        free[place] = False
        np.maximum(nearest, vectors @ vectors[place], out=nearest)

    kept = budget - int(budget * NEWEST_SHARE)
    for place in range(len(cost) - 1, -1, -1):
        if left <= kept:
            break
        if cost[place] <= left - kept and nearest[place] < duplicate:
            show(place)
    while (fitting := free & (cost <= left)).any():
        unlike = np.where(fitting, nearest.round(6), np.inf)
        show(int(np.flatnonzero(unlike == unlike.min())[-1]))
    return np.flatnonzero(~free).tolist()


LONGEST = 400  # characters of an observation; the prompt asks for 300
ECHO_WORDS = 6  # words in a row of the instructions; shorter runs are anybody's
COPIED_WORDS = 3  # in a row, taken from a fact as they are
FACTS_EACH = 3  # facts that may be joined into one observation without its being too few


@dataclass(frozen=True)
class Checker:
    """Checks the observations of one request.

    Attributes:
        names: what the entity is called.
        facts: as they were shown; their numbers count from 1.
        most: observations that are allowed.
        languages: that are known.
    """

    names: Sequence[str]
    facts: Sequence[MemoryUnit]
    most: int
    languages: Sequence[Language]

    @property
    def fewest(self) -> int:
        """How many observations are expected."""
        return min(FEWEST_OBSERVATIONS, self.most, -(-len(self.facts) // FACTS_EACH))

    def problems(self, answer: AnsweredObservations) -> str:
        """What is wrong with an answer, in words for the model; "" if nothing is."""
        found = [
            f"observation {number}: {problem}"
            for number, observation in enumerate(answer.observations, 1)
            if (problem := self.problem(observation))
        ]
        count = len(self._distinct(answer))
        if count > self.most:
            found.append(f"there are {count} observations, and at most {self.most} are allowed")
        if count < self.fewest:
            found.append(
                f"there are {count} different observations, and the facts give {self.fewest} at least"
            )
        return "; ".join(found)

    def sound(self, answer: AnsweredObservations) -> list[AnsweredObservation]:
        """The observations that nothing is wrong with, each once, as many as are allowed."""
        return [one for one in self._distinct(answer) if not self.problem(one)][: self.most]

    def problem(self, observation: AnsweredObservation) -> str:
        """What is wrong with one observation; "" if nothing is."""
        return next(filter(None, self._faults(observation)), "")

    def _faults(self, observation: AnsweredObservation) -> Iterator[str]:
        """What is wrong with it, "" where something is right; each is of use only where nothing was wrong before."""
        text, count = plain(observation.text), len(self.facts)
        yield "" if text else "it says nothing"
        yield (
            f"it has {len(text)} characters, and at most {LONGEST} are allowed" if len(text) > LONGEST else ""
        )
        yield "" if observation.facts else "it names no fact it stands on"
        unknown = [number for number in observation.facts if not 1 <= number <= count]
        yield f"it names fact {unknown[0]}, and there are facts 1 to {count}" if unknown else ""
        cited = [(number, self.facts[number - 1]) for number in sorted(set(observation.facts))]
        yield from self._faults_of_text(text, cited)

    def _faults_of_text(self, text: str, cited: Sequence[tuple[int, MemoryUnit]]) -> Iterator[str]:
        told, language = [fact.text for _, fact in cited], self._language
        shown = [fact_line(number, fact).partition("] ")[2] for number, fact in cited]
        if in_another_language(text, self._sample, self.languages):
            yield "it is in another language than the facts"
        yield "it repeats the instructions" if _echoes(text, told) else ""
        if language is not None:  # of one nobody has taught us only what needs none of its words is checked
            narrated = [fact.text for _, fact in cited if not fact.speaker]
            spoken = persons(_own_words(text, narrated), language) & {Person.FIRST, Person.SECOND}
            yield f"it is in the {min(spoken)} person, not in the third" if spoken else ""
        for number in unknown_numbers(text, shown, language or self.languages[0]):
            yield f"the number {number} is in none of the facts it names"
        if not self._has_a_word_of(shown, text, language or self.languages[0]):
            yield "the facts it names do not say that"

    def _has_a_word_of(self, shown: Sequence[str], text: str, language: Language) -> bool:
        """Whether a text has a word of the facts, the entity's names apart; a text without other words has."""
        words = content_stems(text, language) - content_stems(" ".join(self.names), language)
        return not words or not words.isdisjoint(content_stems(" ".join(shown), language))

    @cached_property
    def _sample(self) -> str:
        return " ".join(fact.text for fact in self.facts)

    @cached_property
    def _language(self) -> Language | None:
        return written_in(self._sample, self.languages)

    @staticmethod
    def _distinct(answer: AnsweredObservations) -> list[AnsweredObservation]:
        found: dict[str, AnsweredObservation] = {}
        for one in answer.observations:
            found.setdefault(normalised_text(plain(one.text)), one)
        return list(found.values())


def plain(text: str) -> str:
    """An observation as it is stored: on one line, without characters that cannot be."""
    return " ".join(clean_text(text).split())


def _own_words(text: str, narrated: Sequence[str]) -> str:
    """The text with a mark for each word of a run that narrative facts have: "being yourself" in an account of somebody is no address.

    The first word stays: of a fact in the first person it tells the subject.
    """
    words = text.split()
    folded, facts = _bare(words), f" {' '.join(_bare(' '.join(narrated).split()))} "
    copied = {
        place
        for start in range(1, len(words) - COPIED_WORDS + 1)
        if f" {' '.join(folded[start : start + COPIED_WORDS])} " in facts
        for place in range(start, start + COPIED_WORDS)
    }
    return " ".join("\u2026" if place in copied else word for place, word in enumerate(words))


def _bare(words: Sequence[str]) -> list[str]:
    return [normalised_text(word).strip(".,;:!?\"'()[]") for word in words]


def _echoes(text: str, told: Sequence[str]) -> bool:
    """Whether a run of words is of the instructions and of no fact."""
    words = normalised_text(text).split()
    instructions, facts = normalised_text(template("observe")), normalised_text(" ".join(told))
    runs = (" ".join(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1))
    return any(run in instructions and run not in facts for run in runs)


LINE_TOKENS = 40  # of a fact's line in the prompt beside its text: number and dates


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation to be: its text and the facts it stands on."""

    text: str
    facts: tuple[MemoryUnit, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was made of some facts.

    Attributes:
        observations: the most telling first.
        read: the facts it was made from; those that did not fit were not looked at.
        tokens_in: prompt tokens of the model, repairs included.
        tokens_out: completion tokens likewise.
        problem: what was wrong with the model's last answer, where nothing of it was sound.
    """

    observations: tuple[Observation, ...]
    read: tuple[MemoryUnit, ...]
    tokens_in: int = 0
    tokens_out: int = 0
    problem: str = ""


async def summarised(entity: Entity, facts: Facts, tools: ObservationTools) -> Summary:
    """Observations of an entity from facts of the same tags.

    By the model, if there is one, the settings want it and there are facts enough; else by choice of facts.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
    """
    model = tools.summarising
    if model is None or len(facts.units) < tools.config.fewest_facts:
        return extractive(entity, facts, tools)
    places = chosen_within(
        [unit.tokens + LINE_TOKENS for unit in facts.units],
        facts.vectors,
        budget=tools.config.prompt_tokens,
        duplicate=tools.embedder.identity.thresholds.duplicate,
    )
    if not places:
        return extractive(entity, facts, tools)
    return await by_model(entity, [facts.units[place] for place in places], model, tools)


async def by_model(
    entity: Entity, facts: Sequence[MemoryUnit], model: LanguageModel, tools: ObservationTools
) -> Summary:
    """Observations that a model writes from the facts it is shown, without those that stay unsound after repairs."""
    checker = Checker(
        names=(entity.name, *entity.names),
        facts=facts,
        most=tools.config.most,
        languages=tuple(dict.fromkeys((*tools.languages, *LANGUAGES.values()))),
    )
    prompt = observe_prompt(
        entity.name, facts, fewest=checker.fewest, most=min(tools.config.most, len(facts))
    )
    answered = await complete_with_repair(model, prompt, check=checker.problems)
    sound = checker.sound(answered.last) if answered.last else []
    observations = tuple(
        Observation(plain(one.text), tuple(facts[number - 1] for number in sorted(set(one.facts))))
        for one in sound
    )
    problem = "" if observations else answered.problem
    return Summary(observations, tuple(facts), answered.tokens_in, answered.tokens_out, problem)


def extractive(entity: Entity, facts: Facts, tools: ObservationTools) -> Summary:
    """The facts that say most of the rest, told in the third person; every other one stands under the one it is near."""
    thresholds = tools.embedder.identity.thresholds
    names = (entity.name, *entity.names)
    weights = [weight(unit.text, names) for unit in facts.units]
    under = represented(facts.vectors, weights, thresholds, most=tools.config.most)
    observations = tuple(
        Observation(
            told(facts.units[place], names, tools.languages), tuple(facts.units[other] for other in others)
        )
        for place, others in under.items()
    )
    return Summary(observations, facts.units)
