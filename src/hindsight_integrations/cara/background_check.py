"""What is wrong with a background that a model merged, and what of it can be mended by rule (decision 123). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hindsight_integrations.cara.background import (
    MAX_CHARACTERS,
    Relation,
    between,
    joined,
    own_sentences,
    read_sentence,
    spoken_language,
)
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.prompts.merge_background import MergedBackground
from hindsight_integrations.text.descriptions import Statement
from hindsight_integrations.text.grammatical_person import first_person, persons
from hindsight_integrations.text.grounding import unknown_names, unknown_numbers
from hindsight_integrations.text.language import Language, Person
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.which_language import in_another_language

KEPT = 0.5  # of a statement's words that must be there, for it to be there in other words (decision 123)
GROUNDED = 0.5  # of a merged statement's words that must be in what was merged (decision 123)

_QUOTES = {('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb")}
_MENDED = (Relation.REPEATS, Relation.VAGUER, Relation.REFINES)


@dataclass(frozen=True)
class MergeCheck:
    """Checks what a model made of one background and one snippet.

    Attributes:
        current: the background.
        snippet: what is new.
        languages: of the bank, the likeliest first.
        name: the agent's; may be empty.
    """

    current: str
    snippet: str
    languages: Sequence[Language]
    name: str = ""

    def problem(self, answer: MergedBackground) -> str:
        """What is wrong with an answer, in words for the model; "" if nothing is."""
        return next(filter(None, self._faults(plain(answer.background))), "")

    def mended(self, answer: MergedBackground) -> str | None:
        """The answer in the first person, with what it lacks and without what nobody said or what is replaced; None if that is not enough."""
        told = own_sentences(plain(answer.background), self._spoken, name=self.name)
        kept = [part for sentence in dict.fromkeys(told) for part in self._sound(sentence)]
        missing = self._missing(joined(kept))
        mended = joined([*kept, *(_sentence(statement) for statement in missing)])
        return mended if not self.problem(MergedBackground(background=mended)) else None

    def _sound(self, sentence: str) -> list[str]:
        """What of a sentence may stay: all of it, or those of its statements that somebody said and nothing replaces."""
        if self._made_up(sentence):
            return []
        said = self._read(sentence)
        sound = [statement for statement in said if not self._fault_against(statement)]
        return [sentence] if len(sound) == len(said) else [_sentence(statement) for statement in sound]

    @cached_property
    def _old(self) -> list[Statement]:
        return self._statements(self.current)

    @cached_property
    def _new(self) -> list[Statement]:
        return self._statements(self.snippet)

    @cached_property
    def _spoken(self) -> Sequence[Language]:
        """The languages that what was merged is in; the first is the snippet's."""
        found = [spoken_language(text, self.languages) for text in (self.snippet, self.current) if text]
        return tuple(dict.fromkeys(found)) or self.languages

    @cached_property
    def _needed(self) -> list[Statement]:
        """What must be told: what is new and not told more closely already, and what no new statement replaces."""
        new = [
            said
            for said in self._new
            if all(between(old, said) not in (Relation.REPEATS, Relation.VAGUER) for old in self._old)
        ]
        return [*(said for said in self._old if said not in self._replaced), *new]

    @cached_property
    def _replaced(self) -> list[Statement]:
        """What a new statement contradicts, or tells more closely."""
        gone = (Relation.CONFLICTS, Relation.REFINES)
        return [said for said in self._old if any(between(said, new) in gone for new in self._new)]

    def _number(self, said: Statement) -> str:
        """The number under which the prompt shows the sentence of a statement; its text is data and stays there."""
        told = (self._sentences(self.current), self._sentences(self.snippet))
        numbered = enumerate((sentence for sentences in told for sentence in sentences), 1)
        found = [
            number for number, sentence in numbered if said in read_sentence(sentence, self.languages).said
        ]
        return f"sentence [{found[-1] if said in self._new else found[0]}]"

    def _sentences(self, text: str) -> list[str]:
        return own_sentences(text, self.languages, name=self.name)

    def _statements(self, text: str) -> list[Statement]:
        return [
            said
            for sentence in self._sentences(text)
            for said in read_sentence(sentence, self.languages).said
        ]

    def _faults(self, text: str) -> Iterator[str]:
        """What is wrong with a merged text, "" where something is right; each is of use only where nothing was wrong before."""
        yield "" if text else "the background is empty"
        if len(text) >= MAX_CHARACTERS:
            yield f"it has {len(text)} characters, and must have fewer than {MAX_CHARACTERS}; be more concise"
        if in_another_language(text, f"{self.snippet} {self.current}", tuple(LANGUAGES.values())):
            yield "it is in another language than what was merged"
        yield from self._faults_of_person(text)
        for sentence in own_sentences(text, self._spoken):
            if fault := self._made_up(sentence):
                yield fault
        for told in self._told(text):
            yield self._fault_against(told)
        for statement in self._missing(text):
            yield f"it leaves out something of {self._number(statement)}"

    def _faults_of_person(self, text: str) -> Iterator[str]:
        language = spoken_language(text, self._spoken)
        if Person.SECOND in persons(text, language):
            yield 'it speaks to the agent; write "I" and "my", not "you" and "your"'
        if self.name and first_person(text, language, name=self.name) != text:
            yield 'it speaks of the agent by its name; write "I"'

    def _told(self, text: str) -> list[Statement]:
        return [said for sentence in own_sentences(text, self._spoken) for said in self._read(sentence)]

    def _read(self, sentence: str) -> tuple[Statement, ...]:
        return read_sentence(sentence, self._spoken).said

    @cached_property
    def _sources(self) -> str:
        return " ".join((*self._sentences(self.current), *self._sentences(self.snippet), self.name))

    def _made_up(self, sentence: str) -> str:
        """What of a sentence nobody said; "" if all of it was said."""
        language = spoken_language(sentence, self._spoken)
        for name in unknown_names(sentence, [self._sources], language):
            return f"the name {name!r} is in neither of the two"
        for number in unknown_numbers(sentence, [self._sources], language):
            return f"the number {number} is in neither of the two"
        known = frozenset[str]().union(*(said.content | said.wider for said in (*self._old, *self._new)))
        subjects = {said.subject for said in (*self._old, *self._new)}
        for statement in self._read(sentence):
            own = Person.FIRST in persons(statement.text, language)
            if not own and statement.subject not in subjects:
                return 'it speaks of somebody or something else than the agent; write "I" and "my"'
            if len(statement.content & known) < GROUNDED * len(statement.content):
                return "it says something that is in neither of the two"
        return ""

    def _fault_against(self, told: Statement) -> str:
        """What a merged statement says against one that must be told, in words for the model; "" if nothing."""
        for needed in (*self._needed, *self._new):
            relation = between(told, needed)
            if relation is Relation.CONFLICTS:
                return f"it contradicts {self._number(needed)}"
            if relation is Relation.REFINES and told.content in {old.content for old in self._replaced}:
                return f"it still tells what {self._number(needed)} tells more closely"
        return ""

    def _missing(self, text: str) -> list[Statement]:
        """The statements that a text does not tell, in any words."""
        told = self._told(text)
        words = frozenset[str]().union(*(said.content | said.wider for said in told))
        return [needed for needed in self._needed if not self._is_told(needed, text, words, told)]

    def _is_told(
        self, needed: Statement, text: str, words: frozenset[str], told: Sequence[Statement]
    ) -> bool:
        if any(
            between(statement, needed) in _MENDED and needed.content <= statement.content
            for statement in told
        ):
            return True
        if unknown_names(needed.text, [text], needed.language) or unknown_numbers(
            needed.text, [text], needed.language
        ):
            return False
        return len(needed.content & words) >= KEPT * len(needed.content)


def plain(text: str) -> str:
    """An answer on one line, without what cannot be stored and without quotes around the whole of it."""
    told = " ".join(clean_text(text).split())
    whole = len(told) > 1 and (told[0], told[-1]) in _QUOTES and not set(told[1:-1]) & {told[0], told[-1]}
    return told[1:-1].strip() if whole else told


def _sentence(statement: Statement) -> str:
    return statement.text if statement.text[-1:] in ".!?" else f"{statement.text}."
