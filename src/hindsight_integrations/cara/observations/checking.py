"""What is wrong with the observations a model wrote; what it may be told of that, and what is sound. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hindsight_integrations.config import FEWEST_OBSERVATIONS
from hindsight_integrations.model.text import clean_text, normalised_text
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.prompts.observe import AnsweredObservation, AnsweredObservations, fact_line
from hindsight_integrations.prompts.rendering import template
from hindsight_integrations.text.grammatical_person import persons
from hindsight_integrations.text.grounding import unknown_numbers
from hindsight_integrations.text.language import Language, Person
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.which_language import in_another_language, written_in

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
