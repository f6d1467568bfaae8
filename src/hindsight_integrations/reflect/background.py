"""Merge a snippet into the background of a bank's profile (paper section 5.6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from hindsight_integrations.errors import (
    BackgroundRefused,
    ModelUnavailable,
    RevisionConflict,
)
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.language.language import Language, Person, in_another_language, written_in
from hindsight_integrations.language.names import titles
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.person import first_person, persons
from hindsight_integrations.language.specifics import figures
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.results import NO_USAGE, Settled, Usage, with_usage
from hindsight_integrations.model.tasks import Task, TaskClaim
from hindsight_integrations.model.text import clean_text, normalised_text, stored_snippet
from hindsight_integrations.model.writes import ProfileWrite, WriteSet
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.prompts.merge_background import MergedBackground, merge_background_prompt
from hindsight_integrations.prompts.repair import complete_with_repair, malformed
from hindsight_integrations.services import Services
from hindsight_integrations.validation.limits import MAX_BACKGROUND

CONCISE = 500  # maximum length, in characters, that the prompt asks for [earlier paper 10.2]

_SENTENCE = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)]*\s+|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Inc|Ltd|Co|Nr|ca|bzw|usw|z|B|e|g|i|vs|No)|\b[A-Z]|\b(?:wurde|bin|geboren) am \d{1,2})\.$"
)
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sentences with different values for an attribute that can have only one.

    Attributes:
        attribute: name of the attribute, such as "birthplace".
        old: the earlier sentence.
        new: the later sentence.
        value: the value in the earlier sentence.
    """

    attribute: str
    old: str
    new: str
    value: str


def append_new(current: Sequence[str], snippet: Sequence[str], languages: Sequence[Language]) -> str:
    """Return the background with the new sentences of a snippet appended; both are in the first person.

    Raises:
        BackgroundRefused: an attribute would have two values, or the result has more than 4,000 characters.
    """
    for conflict in conflicts([*current, *snippet], snippet, languages):
        raise BackgroundRefused(
            f"there are two values for {conflict.attribute}: the background has {conflict.old!r}, the snippet {conflict.new!r}",
            "Set the whole background with bank.profile.set, or open the engine with a model, which can merge the two.",
            undecided=True,
        )
    return checked_length(joined([*current, *new_sentences(current, snippet)]))


def new_sentences(current: Sequence[str], snippet: Sequence[str]) -> list[str]:
    """Return the sentences of a snippet that are not in the background, without duplicates."""
    known = {same_sentence(sentence) for sentence in current}
    fresh = {key: sentence for sentence in snippet if (key := same_sentence(sentence)) not in known}
    return list(fresh.values())


def conflicts(old: Sequence[str], new: Sequence[str], languages: Sequence[Language]) -> Iterator[Conflict]:
    """Yield the conflicts between two groups of sentences on attributes with a single value, such as birthplace."""
    for language in languages:
        for attribute, pattern in language.person.unique.items():
            for earlier in old:
                value = pattern.search(earlier)
                for later in new if value else ():
                    other = _value(attribute, later, languages)
                    if value and other and normalised_text(other) != normalised_text(value[1]):
                        yield Conflict(attribute, earlier, later, value[1])


def _value(attribute: str, sentence: str, languages: Sequence[Language]) -> str:
    patterns = (language.person.unique.get(attribute) for language in languages)
    found = (pattern.search(sentence) for pattern in patterns if pattern)
    return next((match[1] for match in found if match), "")


def background_sentences(text: str, languages: Sequence[Language]) -> list[str]:
    """Return the sentences of a background, converted to the first person unless they use the first person already."""
    if Person.FIRST in persons(text, spoken_language(text, languages)):
        return _sentences(text)  # in "I help you remember", "you" must not be converted
    return own_sentences(text, languages)


def own_sentences(text: str, languages: Sequence[Language]) -> list[str]:
    """Return the sentences of a text about the agent, in the first person (earlier paper 10.3)."""
    told = first_person(text.strip(), spoken_language(text, languages))
    return [sentence[:1].upper() + sentence[1:] for sentence in _sentences(told)]


def spoken_language(text: str, languages: Sequence[Language]) -> Language:
    """Return the likeliest language of a text about a person, by its stop words and personal pronouns."""
    if len(languages) == 1:
        return languages[0]
    words = _LETTERS.findall(text.casefold())

    def score(language: Language) -> int:
        spoken = sum(len(pattern.findall(text)) for pattern in language.person.words.values())
        return sum(word in language.stop_words for word in words) + spoken

    return max(languages, key=score)


def same_sentence(sentence: str) -> str:
    """Normalise a sentence for comparison: ignore case and final punctuation."""
    return normalised_text(sentence).rstrip(".!")


def joined(sentences: Sequence[str]) -> str:
    """Join sentences into one text; if there are several, end each with punctuation."""
    if len(sentences) < 2:
        return "".join(sentences)
    return " ".join(text if text[-1:] in ".!?\u201d\"'\u00bb" else f"{text}." for text in sentences)


def checked_length(background: str) -> str:
    """Return the background if its length is within the limit of `profile.set`.

    Raises:
        BackgroundRefused: it has more than 4,000 characters; it is never truncated.
    """
    if len(background) <= MAX_BACKGROUND:
        return background
    raise BackgroundRefused(
        f"the merged background would have {len(background):,} characters; the limit is {MAX_BACKGROUND:,}",
        "Shorten it with bank.profile.set, then merge the rest with bank.profile.merge_background.",
    )


def _sentences(text: str) -> list[str]:
    """Split a text into sentences, keeping final punctuation."""
    found: list[str] = []
    for piece in _SENTENCE.split(text):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] = f"{found[-1]} {piece.strip()}"
        elif piece.strip():
            found.append(piece.strip())
    return found


_QUOTES = {('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb")}
_CAPITALISED = re.compile(r"(?<=[\w,;:)(\"\u201e\u00ab] )[A-Z\u00c0-\u00de][\w\u2019'-]+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged background.

    Attributes:
        background: the whole background, in the first person, at most 4,000 characters.
        usage: cost of the model calls.
    """

    background: str
    usage: Usage = NO_USAGE


async def merge(
    current: str,
    snippet: str,
    languages: Sequence[Language],
    *,
    name: str = "",
    model: LanguageModel | None = None,
    newer: Set[str] = frozenset(),
) -> Merged:
    """Merge a snippet into a background.

    The model is not called if the snippet adds nothing, or if the background is empty and the snippet is short and
    consistent. If an answer is invalid, another is requested, up to three in all.

    Args:
        current: the background; may be empty.
        snippet: a text about the agent, in the first or second person.
        languages: languages of the bank, the likeliest first.
        name: name of the agent; may be empty.
        model: the language model; without one the snippet is appended.
        newer: background sentences that are newer than the snippet, normalised by `same_sentence`.

    Raises:
        BackgroundRefused: none of the model's answers is valid; without a model, the texts conflict or have more than
            4,000 characters.
        MalformedOutput: none of the model's answers could be parsed.
        ModelUnavailable: the model could not be reached.
        ModelRefused: the service rejected the API key.
    """
    old, new = background_sentences(current, languages), own_sentences(snippet, languages)
    if not new_sentences(old, new):
        return Merged(current)
    if model is None:
        return Merged(append_new(old, new, languages))
    if not old and len(joined(new)) < CONCISE and not any(conflicts(new, new, languages)):
        return Merged(joined(new))
    later = [sentence for sentence in old if same_sentence(sentence) in newer]
    if later:  # keep the order in which the sentences were stated
        old, new = [*(sentence for sentence in old if sentence not in later), *new], later
    check = MergeCheck(old, new, languages, name)
    answered = await complete_with_repair(model, merge_background_prompt(old, new), check=check.problem)
    if answered.output is None and answered.last is None:
        raise malformed(model.name, answered.problem, answered.usage)
    if answered.output is None:
        raise BackgroundRefused(
            f"the model's merge cannot be used after {answered.usage.calls} tries: {answered.problem}",
            "Set the whole background with bank.profile.set, or merge a shorter snippet.",
        )
    return Merged(plain(answered.output.background), answered.usage)


@dataclass(frozen=True)
class MergeCheck:
    """Validates a model's merge of two groups of sentences, in which it lists the words removed from the earlier group.

    Attributes:
        old: the earlier sentences, in the first person.
        new: the later sentences, which take precedence in conflicts.
        languages: languages of the bank, the likeliest first.
        name: name of the agent; may be empty.
    """

    old: Sequence[str]
    new: Sequence[str]
    languages: Sequence[Language]
    name: str = ""

    def problem(self, answer: MergedBackground) -> str:
        """Describe the first fault of an answer for the model; "" if there is none."""
        return next(self._faults(plain(answer.background), answer.removed), "")

    @cached_property
    def _said(self) -> str:
        return " ".join((*self.old, *self.new))

    def _faults(self, text: str, removed: Sequence[str]) -> Iterator[str]:
        if not text:
            yield "the background is empty"
        most = min(max(CONCISE, len(self._said)), MAX_BACKGROUND)
        if len(text) > most:
            yield f"it has {len(text)} characters, and must have at most {most}; be more concise"
        if in_another_language(text, self._said, tuple(LANGUAGES.values())):
            yield "it is in another language than what was merged"
        yield from self._faults_of_person(text)
        sentences = background_sentences(text, self.languages)
        own = {
            each.attribute for part in (self.old, self.new) for each in conflicts(part, part, self.languages)
        }
        for conflict in conflicts(sentences, sentences, self.languages):
            # The text already has two values: "My name is Max. I am called Maxi."
            if conflict.attribute in own:
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
    """Return an answer on one line, without characters that cannot be stored or quotes around the whole text."""
    told = " ".join(clean_text(text).split())
    whole = len(told) > 1 and (told[0], told[-1]) in _QUOTES and not set(told[1:-1]) & {told[0], told[-1]}
    return told[1:-1].strip() if whole else told


def _names(text: str) -> list[str]:
    """Return capitalised words inside sentences, and quoted words."""
    spans = (*_CAPITALISED.findall(text), *titles(text))
    words = (word for span in spans if not span.startswith(("I'", "I\u2019")) for word in _WORD.findall(span))
    return [word for word in words if len(word) > 1]


def _exact(text: str, language: Language) -> frozenset[str]:
    """Return the stems of all words of a text, and its numbers."""
    stems = frozenset(language.stem(word.casefold()) for word in _WORD.findall(text))
    return stems | content_stems(text, language) | figures(text, language)


ATTEMPTS = 8  # maximum number of merges if the profile changes in between
_MERGED = "merged what was said "
_SAID = re.compile(re.escape(_MERGED) + r"(\S+)$")


async def merge_waiting(task: Task, projector: Projector, services: Services) -> Settled:
    """Merge the snippet of a task; commit the background and the task's completion together.

    Raises:
        BackgroundRefused: the snippet cannot be merged; the background is unchanged.
        InvalidRequest: the payload is damaged.
        MalformedOutput: none of the model's answers could be parsed.
        ModelUnavailable: the model could not be reached, or the merge needs a model and there is none.
        ModelRefused: the service rejected the API key.
        TaskClosed: the task was finished by another worker; nothing was written.
    """
    snippet = stored_snippet(task.payload, task.id)
    try:
        _, usage = await merge_snippet(
            snippet.text, snippet.said_at, projector, services, completing=(task.claim,)
        )
    except BackgroundRefused as refused:
        if refused.undecided and services.model is None:
            # A task's error must not contain text of memories.
            raise ModelUnavailable(
                "for the background", f"the snippet contradicts it; {refused.remedy}"
            ) from refused
        raise
    return with_usage(Settled(merged=1), usage)


async def merge_snippet(
    text: str,
    said_at: datetime,
    projector: Projector,
    services: Services,
    *,
    completing: tuple[TaskClaim, ...] = (),
) -> tuple[BankProfile, Usage]:
    """Merge a text about the agent into its background; sentences newer than the text take precedence.

    The merge is repeated if the profile changes while it runs, so that concurrent merges both take effect.

    Returns:
        The updated profile, and the cost of the merge.

    Raises:
        BackgroundRefused: the snippet cannot be merged; the background is unchanged.
        MalformedOutput: none of the model's answers could be parsed.
        ModelUnavailable: the model could not be reached.
        ModelRefused: the service rejected the API key.
        RevisionConflict: the profile changed during every try.
        TaskClosed: a task was finished by another worker; nothing was written.
    """
    spent = NO_USAGE
    for attempt in range(ATTEMPTS):
        ledger, bank = projector.ledger, projector.name
        changes = await services.workers.read(ledger.profiles.changes, bank)
        made = await _merge_into(changes, text, said_at, services)
        spent += made.usage
        try:
            profile = await services.workers.write(
                _commit, made.background, changes[-1:], said_at, completing, projector
            )
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return profile, spent
    raise AssertionError("unreachable: the loop returns or raises")


async def _merge_into(
    changes: Sequence[ProfileChange], text: str, said_at: datetime, services: Services
) -> Merged:
    profile = changes[-1].profile if changes else BankProfile()
    newer = said_after(said_at, changes, services.languages)
    return await merge(
        profile.background, text, services.languages, name=profile.name, model=services.model, newer=newer
    )


def merge_reason(said_at: datetime) -> str:
    """Return the reason recorded with a merge; it contains the time of the snippet, which later merges need."""
    return f"{_MERGED}{said_at.isoformat()}"


def merged_at(change: ProfileChange) -> datetime | None:
    """Return the time of the snippet that a change of the profile merged; None for other changes."""
    match = _SAID.fullmatch(change.reason)
    try:
        return datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def said_after(
    moment: datetime, changes: Sequence[ProfileChange], languages: Sequence[Language]
) -> frozenset[str]:
    """Return the sentences of the current background that are newer than a given time, normalised by `same_sentence`.

    A sentence keeps its time through merges; setting or restoring a profile gives all sentences the time of that change.
    `changes` are all changes of the profile, oldest first.
    """
    known: dict[str, datetime] = {}
    for change in changes:
        snippet_at, before = merged_at(change), known
        since = snippet_at or change.effective_at
        sentences = map(same_sentence, background_sentences(change.profile.background, languages))
        known = {each: before.get(each, since) if snippet_at else since for each in sentences}
    return frozenset(sentence for sentence, since in known.items() if since > moment)


def _commit(
    background: str,
    newest: Sequence[ProfileChange],
    said_at: datetime,
    completing: tuple[TaskClaim, ...],
    projector: Projector,
) -> BankProfile:
    """Commit the background if it changed and complete the tasks; return the profile."""
    before = newest[0] if newest else None
    profile = before.profile if before else BankProfile()
    write = None
    if background != profile.background:
        profile = replace(profile, background=background)
        write = ProfileWrite(profile, said_at, merge_reason(said_at), before.number if before else 0)
    if write is None and not completing:
        return profile
    with projector.ledger.transaction(projector.name) as transaction:
        revision = transaction.feed.revision
        transaction.commit(WriteSet(projector.name, revision, profile=write, completed_tasks=completing))
    if completing:
        projector.catch_up()
    return profile
