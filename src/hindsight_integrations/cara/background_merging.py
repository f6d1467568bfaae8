"""Background merging, h' = Merge(h, h_new) (paper eq. 27): by a model whose answer is checked, or appended without one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from hindsight_integrations.cara.background import (
    MAX_CHARACTERS,
    appended,
    background_sentences,
    conflicts,
    joined,
    new_sentences,
    own_sentences,
    same_sentence,
    spoken_language,
)
from hindsight_integrations.errors import BackgroundRefused, MalformedOutput
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.merge_background import MergedBackground, merge_background_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.text.grammatical_person import persons
from hindsight_integrations.text.grounding import figures
from hindsight_integrations.text.language import Language, Person
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import titles
from hindsight_integrations.text.which_language import in_another_language, written_in

_QUOTES = {('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb")}
_CAPITALISED = re.compile(r"(?<=[\w,;:)(\"\u201e\u00ab] )[A-Z\u00c0-\u00de][\w\u2019'-]+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged background.

    Attributes:
        background: whole, in the first person, under 500 characters.
        tokens_in: prompt tokens the model reported; 0 where none was asked.
        tokens_out: completion tokens it reported.
    """

    background: str
    tokens_in: int = 0
    tokens_out: int = 0


async def merged(
    current: str,
    snippet: str,
    languages: Sequence[Language],
    *,
    name: str = "",
    model: LanguageModel | None = None,
    newer: Set[str] = frozenset(),
) -> Merged:
    """The background with a snippet merged in.

    A model is asked where both say something. Its answer is used if nothing is wrong with it, at the third try at the latest.

    Args:
        current: the background; may be empty.
        snippet: what is said about the agent, in the first or second person.
        languages: of the bank, the likeliest first.
        name: the agent's; may be empty.
        model: None where there is none; then the snippet is appended.
        newer: sentences of the background, as `same_sentence` has them, that were said after the snippet.

    Raises:
        BackgroundRefused: the model's answers cannot be used; without a model, the two conflict, or have 500 characters.
        MalformedOutput: none of the model's answers could be read.
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
    """
    old, new = background_sentences(current, languages), own_sentences(snippet, languages)
    if not new_sentences(old, new):
        return Merged(current)
    if model is None:
        return Merged(appended(old, new, languages))
    if not old and len(joined(new)) < MAX_CHARACTERS and not any(conflicts(new, new, languages)):
        return Merged(joined(new))
    later = [sentence for sentence in old if same_sentence(sentence) in newer]
    if later:  # in the order in which all was said
        old, new = [*(sentence for sentence in old if sentence not in later), *new], later
    check = MergeCheck(old, new, languages, name)
    answered = await complete_with_repair(model, merge_background_prompt(old, new), check=check.problem)
    if answered.output is None and answered.last is None:
        raise MalformedOutput(
            model.name, "", answered.problem, tokens_in=answered.tokens_in, tokens_out=answered.tokens_out
        )
    if answered.output is None:
        raise BackgroundRefused(
            f"the model's merge cannot be used after {answered.tries} tries: {answered.problem}",
            "Set the whole background with bank.profile.set, or merge a shorter snippet.",
        )
    return Merged(plain(answered.output.background), answered.tokens_in, answered.tokens_out)


@dataclass(frozen=True)
class MergeCheck:
    """Checks what a model made of two groups of sentences; what it may leave out of the earlier one, it names itself.

    Attributes:
        old: sentences in the first person, the earlier ones.
        new: the later ones, which win.
        languages: of the bank, the likeliest first.
        name: the agent's; may be empty.
    """

    old: Sequence[str]
    new: Sequence[str]
    languages: Sequence[Language]
    name: str = ""

    def problem(self, answer: MergedBackground) -> str:
        """What is wrong with an answer, in words for the model; "" if nothing is."""
        return next(self._faults(plain(answer.background), answer.removed), "")

    @cached_property
    def _said(self) -> str:
        return " ".join((*self.old, *self.new))

    def _faults(self, text: str, removed: Sequence[str]) -> Iterator[str]:
        if not text:
            yield "the background is empty"
        if len(text) >= MAX_CHARACTERS:
            yield f"it has {len(text)} characters, and must have fewer than {MAX_CHARACTERS}; be more concise"
        if in_another_language(text, self._said, tuple(LANGUAGES.values())):
            yield "it is in another language than what was merged"
        yield from self._faults_of_person(text)
        sentences = background_sentences(text, self.languages)
        own = {
            each.attribute for part in (self.old, self.new) for each in conflicts(part, part, self.languages)
        }
        for conflict in conflicts(sentences, sentences, self.languages):
            if conflict.attribute in own:  # "My name is Max. I am called Maxi."
                continue
            yield f"it gives two values for {conflict.attribute}"
        language = spoken_language(text, self.languages)
        if figures(text, language) - figures(self._said, language):
            yield "it has a number that is in none of the sentences"
        if language.names.nouns is None and not set(_names(text)) <= set(
            _WORD.findall(self._said + self.name)
        ):
            yield "it has a name that is in none of the sentences"
        yield from self._faults_of_omission(text, removed, language)

    def _faults_of_person(self, text: str) -> Iterator[str]:
        language = written_in(text, self.languages)
        if language is None:
            return
        spoken = persons(text, language)
        addressed = Person.SECOND in spoken - persons(self._said, language)
        if addressed or Person.FIRST not in spoken:
            yield 'it must speak in the first person; write "I" and "my", not "you", "he" or a name'
        if self.name and any(
            sentence.startswith(f"{self.name} ") and sentence not in (*self.old, *self.new)
            for sentence in background_sentences(text, self.languages)
        ):
            yield 'it speaks of the agent by its name; write "I"'

    def _faults_of_omission(self, text: str, removed: Sequence[str], language: Language) -> Iterator[str]:
        known = _exact(text, language)
        for number, sentence in enumerate((*self.old, *self.new), 1):
            gone = {conflict.value for conflict in conflicts([sentence], self.new, self.languages)}
            if number <= len(self.old):
                gone |= set(removed)
            known_or_gone = known | _exact(" ".join(gone), language)
            needed = {language.stem(word.casefold()) for word in _names(sentence)} | figures(
                sentence, language
            )
            words = content_stems(sentence, language)
            if not needed <= known_or_gone or (words and words.isdisjoint(known_or_gone)):
                yield f"it leaves out something of sentence [{number}] that is not in removed"


def plain(text: str) -> str:
    """An answer on one line, without what cannot be stored and without quotes around the whole of it."""
    told = " ".join(clean_text(text).split())
    whole = len(told) > 1 and (told[0], told[-1]) in _QUOTES and not set(told[1:-1]) & {told[0], told[-1]}
    return told[1:-1].strip() if whole else told


def _names(text: str) -> list[str]:
    """The words that have a capital inside a sentence, and those in quotes."""
    spans = (*_CAPITALISED.findall(text), *titles(text))
    words = (word for span in spans if not span.startswith(("I'", "I\u2019")) for word in _WORD.findall(span))
    return [word for word in words if len(word) > 1]


def _exact(text: str, language: Language) -> frozenset[str]:
    """Stems of all words of a text, and its numbers."""
    stems = frozenset(language.stem(word.casefold()) for word in _WORD.findall(text))
    return stems | content_stems(text, language) | figures(text, language)
