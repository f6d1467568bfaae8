"""Summarise an entity's facts as observations (paper section 4.1.5), with a model or by selecting facts."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hindsight_integrations.config import FEWEST_OBSERVATIONS, ObservationMode
from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.indexes.documents import as_they_stand
from hindsight_integrations.indexes.embedding import passage_cosine, unit_writes
from hindsight_integrations.language.language import (
    Language,
    Person,
    in_another_language,
    language_of,
    written_in,
)
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.person import persons
from hindsight_integrations.language.specifics import unknown_numbers
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import Float64Array, IntArray, Matrix
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.metadata import shared_metadata
from hindsight_integrations.model.results import NO_USAGE, Settled, Usage, with_usage
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.text import clean_text, normalised_text
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit
from hindsight_integrations.model.writes import MentionWrite, ObservedWrite, WriteSet
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.prompts.observe import (
    AnsweredObservation,
    AnsweredObservations,
    fact_line,
    observe_prompt,
)
from hindsight_integrations.prompts.rendering import template
from hindsight_integrations.prompts.repair import complete_with_repair, malformed
from hindsight_integrations.services import Services

# Maximum length of a retold fact, in characters: two or three sentences; longer facts are shortened.
LONGEST_RETOLD = 600
GAP = "\u2026"
SUBJECT_WORDS = 6  # number of words at the start of a text that are searched for its subject
# Weight of a fact that starts with another subject; in a dialogue, most facts mention both speakers.
MENTIONED = 0.25
AGENT = "assistant"
_LETTERS = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def retell(fact: MemoryUnit, names: Sequence[str], languages: Sequence[Language]) -> str:
    """Return a fact's text for an observation; quote text in the first or second person, with speaker and date."""
    language = language_of(fact.text, languages)
    words = fact.text.removeprefix(f"{fact.speaker}: ") if fact.speaker else fact.text
    words = shorten(" ".join(words.split()), names, language)
    who = fact.speaker or (AGENT if fact.fact_type is FactType.EXPERIENCE else "")
    if fact.speaker or persons(words, language) & {Person.FIRST, Person.SECOND}:
        when = readable_time(None, fact.mentioned_at)
        words = f'{who} ({when}): "{words}"' if who else f'"{words}" ({when})'
    return words


def weight(text: str, names: Sequence[str]) -> float:
    """Return the weight of a fact as a representative of an entity: 1 if it starts with the entity's name, else 0.25."""
    begins = f" {' '.join(_LETTERS.findall(normalised_text(text))[:SUBJECT_WORDS])} "
    spoken = (" ".join(_LETTERS.findall(normalised_text(name))) for name in names)
    return 1.0 if any(f" {name} " in begins for name in spoken if name) else MENTIONED


def shorten(text: str, names: Sequence[str], language: Language) -> str:
    """Shorten a text to whole sentences, preferring those that name the entity; "…" marks the gaps."""
    if len(text) <= LONGEST_RETOLD:
        return text
    sentences = _SENTENCE.split(text)
    named = content_stems(" ".join(names), language)
    order = sorted(range(len(sentences)), key=lambda at: not named & content_stems(sentences[at], language))
    kept: set[int] = set()
    for place in order:
        if sum(len(sentences[at]) + len(GAP) + 2 for at in {*kept, place}) <= LONGEST_RETOLD:
            kept.add(place)
    if not kept:
        return f"{sentences[order[0]][: LONGEST_RETOLD - 2].rsplit(' ', 1)[0]} {GAP}"
    pieces = []
    for place in range(len(sentences)):
        if place in kept:
            pieces.append(sentences[place])
        elif not pieces or pieces[-1] != GAP:
            pieces.append(GAP)
    return " ".join(pieces)


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts of one entity with the same tags, and so the same visibility.

    Attributes:
        units: the valid facts, oldest first.
        vectors: their vectors (n, dimension); a vector that cannot be read is all zeros.
    """

    units: tuple[MemoryUnit, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class EntityFacts:
    """The facts from which an entity's observations are made.

    Attributes:
        entity: the entity.
        groups: the entity's facts grouped by tags; the group with the newest fact first.
        revision: the bank's revision before the facts were read; they may already include later changes.
    """

    entity: Entity
    groups: tuple[FactGroup, ...]
    revision: int

    @property
    def units(self) -> tuple[MemoryUnit, ...]:
        """The facts of all groups."""
        return tuple(unit for group in self.groups for unit in group.units)


def entity_facts(ledger: LedgerReader, bank: str, entity_id: str, *, revision: int) -> EntityFacts | None:
    """Return the valid facts of an entity, grouped by tags, or None if the entity does not exist.

    `revision` is the bank's revision, read before this call.
    """
    entity = next((one for one in ledger.entities.find(bank, entity_id) if one.id == entity_id), None)
    if entity is None:
        return None
    rows = ledger.observations.entity_facts(bank, entity_id)
    stored = as_they_stand(ledger.units.get(bank, rows), ledger, bank)
    order = sorted(stored, key=lambda row: (stored[row].mentioned_at, row))
    by_tags: dict[tuple[str, ...], list[int]] = {}
    for row in order:
        by_tags.setdefault(stored[row].tags, []).append(row)
    groups = sorted(
        by_tags.values(), key=lambda group: (stored[group[-1]].mentioned_at, group[-1]), reverse=True
    )
    return EntityFacts(entity, tuple(_group_facts(group, stored, ledger, bank) for group in groups), revision)


def unchanged(facts: Collection[MemoryUnit], ledger: LedgerReader, bank: str, entity_id: str) -> bool:
    """Check that these facts are still valid, unmodified and linked to the entity."""
    if not facts:
        return True
    places = ledger.units.row_ids(bank, [fact.id for fact in facts])
    rows = np.array(sorted(places.values()), np.int64)
    if len(rows) < len(facts) or not np.isin(rows, ledger.observations.entity_facts(bank, entity_id)).all():
        return False
    standing = as_they_stand(ledger.units.get(bank, rows), ledger, bank)
    now = {unit.id: unit for unit in standing.values()}
    return all(now.get(fact.id) == fact for fact in facts)


def _group_facts(
    rows: Sequence[int], units: dict[int, MemoryUnit], ledger: LedgerReader, bank: str
) -> FactGroup:
    ids: IntArray = np.array(rows, np.int64)
    stored = ledger.units.vectors(bank, ids)
    dimension = len(next(iter(stored.values()))) if stored else 1
    vectors = np.zeros((len(rows), dimension), np.float32)
    for place, row in enumerate(rows):
        if row in stored:
            vectors[place] = stored[row]
    return FactGroup(tuple(units[row] for row in rows), vectors)


# Maximum number of facts that may represent others; if there are more, half of these are the newest ones.
CANDIDATES = 512
TIE = 0.02  # gains within this share of the best are equal; the newest fact wins


def choose_representatives(
    vectors: Matrix, weights: Sequence[float], thresholds: Thresholds, *, most: int
) -> dict[int, list[int]]:
    """Map the position of each representative fact to the positions it represents, itself first.

    Facts are chosen greedily (facility location): each choice maximises the gain in the similarity of all facts to
    their nearest chosen fact. Selection stops when every fact is near a chosen one or `most` are chosen. Every other
    fact is assigned to its nearest representative if their cosine reaches the link threshold, or else left out.

    Args:
        vectors: vectors of the facts, oldest first (n, dimension).
        weights: positive weight of each fact; heavier facts count more and are preferred as representatives.
        thresholds: thresholds of the embedder.
        most: maximum number of facts to choose.
    """
    places = candidates(len(vectors))
    cosines = vectors @ vectors[places].T
    likeness = passage_cosine(cosines.astype(np.float64), thresholds)
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
    return _assign_to_nearest(cosines[:, chosen], places[chosen], thresholds.semantic_link)


def candidates(count: int) -> IntArray:
    """Return the positions of the facts that may represent others, ascending: all, or the newest and a sample of the rest."""
    if count <= CANDIDATES:
        return np.arange(count, dtype=np.int64)
    newest = CANDIDATES // 2
    spread = np.linspace(0, count - newest - 1, CANDIDATES - newest).round().astype(np.int64)
    return np.concatenate([spread, np.arange(count - newest, count, dtype=np.int64)])


def _newest_of_the_best(gains: Float64Array) -> int:
    best = float(gains.max())
    return int(np.flatnonzero(gains >= best - TIE * abs(best))[-1])


def _assign_to_nearest(cosines: Matrix, chosen: IntArray, floor: float) -> dict[int, list[int]]:
    """Assign each fact to the nearest chosen fact, if their cosine reaches `floor`; keys in the order of choice."""
    under = {place: [place] for place in chosen.tolist()}
    nearest = cosines.argmax(axis=1)
    for place in np.flatnonzero(cosines.max(axis=1) >= floor).tolist():
        if place not in under:
            under[int(chosen[nearest[place]])].append(place)
    return under


# Share of the budget for the newest facts; the rest goes to the most distinct other facts.
NEWEST_SHARE = 0.5


def choose_within(costs: Sequence[int], vectors: Matrix, *, budget: int, duplicate: float) -> list[int]:
    """Return the positions of the facts to show, ascending: all if they fit, else the newest, then the most distinct.

    Near duplicates of newer facts are skipped while others fit. The choice is deterministic.

    Args:
        costs: tokens of each fact, oldest first.
        vectors: vectors of the facts (n, dimension).
        budget: total tokens of the facts shown.
        duplicate: minimum cosine of two texts that count as duplicates.
    """
    cost = np.asarray(costs, np.int64)
    if int(cost.sum()) <= budget:
        return list(range(len(cost)))
    nearest = np.full(len(cost), -1.0)  # cosine of each fact with the nearest selected one
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


LONGEST = 400  # maximum number of characters of an observation; the prompt asks for 300
ECHO_WORDS = 6  # minimum number of consecutive words that count as copied from the instructions
COPIED_WORDS = 3  # minimum number of consecutive words that count as copied from a fact
FACTS_EACH = 3
"""Expected number of facts per observation, which determines the minimum number of observations."""


@dataclass(frozen=True)
class Checker:
    """Validates the observations in a model's answer.

    Attributes:
        names: names of the entity.
        facts: the facts shown, numbered from 1.
        most: maximum number of observations.
        languages: the known languages.
    """

    names: Sequence[str]
    facts: Sequence[MemoryUnit]
    most: int
    languages: Sequence[Language]

    @property
    def fewest(self) -> int:
        """The minimum number of observations expected."""
        return min(FEWEST_OBSERVATIONS, self.most, -(-len(self.facts) // FACTS_EACH))

    def problems(self, answer: AnsweredObservations) -> str:
        """Return a message to the model about the faults of its answer; "" if there are none."""
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
        """Return the distinct observations without faults, up to the maximum."""
        return [one for one in self._distinct(answer) if not self.problem(one)][: self.most]

    def problem(self, observation: AnsweredObservation) -> str:
        """Return a message to the model about the first fault of an observation; "" if there is none."""
        return next(filter(None, self._faults(observation)), "")

    def _faults(self, observation: AnsweredObservation) -> Iterator[str]:
        """Yield the result of each check: a fault, or "" if passed. Later checks assume that earlier ones passed."""
        text, count = plain(observation.text), len(self.facts)
        yield "" if text else "it says nothing"
        yield (
            f"it has {len(text)} characters, and at most {LONGEST} are allowed" if len(text) > LONGEST else ""
        )
        yield "" if observation.facts else "it cites no facts"
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
        if language is not None:  # in an unknown language, checks that need a vocabulary are skipped
            narrated = [fact.text for _, fact in cited if not fact.speaker]
            spoken = persons(_own_words(text, narrated), language) & {Person.FIRST, Person.SECOND}
            yield f"it is in the {min(spoken)} person, not in the third" if spoken else ""
        for number in unknown_numbers(text, shown, language or self.languages[0]):
            yield f"the number {number} is in none of the facts it names"
        if not self._has_a_word_of(shown, text, language or self.languages[0]):
            yield "the facts it names do not say that"

    def _has_a_word_of(self, shown: Sequence[str], text: str, language: Language) -> bool:
        """Check that a text shares a content word with the facts, or has none except the entity's names."""
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
    """Return the text on one line, without characters that cannot be stored."""
    return " ".join(clean_text(text).split())


def _own_words(text: str, narrated: Sequence[str]) -> str:
    """Replace runs of words that are copied from narrative facts by "…".

    A narrative fact may contain words such as "being yourself" that do not address the reader. The first word stays,
    because it may be "I".
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
    """Check whether the text copies a run of words from the instructions that no fact contains."""
    words = normalised_text(text).split()
    instructions, facts = normalised_text(template("observe")), normalised_text(" ".join(told))
    runs = (" ".join(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1))
    return any(run in instructions and run not in facts for run in runs)


LINE_TOKENS = 40  # tokens added to each fact in the prompt for its number and dates


@dataclass(frozen=True, slots=True)
class Observation:
    """A proposed observation: its text and the facts it is based on."""

    text: str
    facts: tuple[MemoryUnit, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Observations made from a group of facts.

    Attributes:
        observations: the observations, most important first.
        read: the facts that were summarised; facts that did not fit the prompt are omitted.
        usage: cost of the model calls.
        problem: what is wrong with the model's last answer, if none of its observations is valid; else empty.
    """

    observations: tuple[Observation, ...]
    read: tuple[MemoryUnit, ...]
    usage: Usage = NO_USAGE
    problem: str = ""


async def summarise(entity: Entity, facts: FactGroup, services: Services) -> Summary:
    """Summarise facts with the same tags as observations of an entity.

    Call the model if one is set, the mode is AUTO and there are enough facts; else select facts.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRefused: the service rejected the API key.
    """
    config, model = services.config.observations, services.model
    if model is None or config.mode is not ObservationMode.AUTO or len(facts.units) < config.fewest_facts:
        return summarise_by_choice(entity, facts, services)
    places = choose_within(
        [unit.tokens + LINE_TOKENS for unit in facts.units],
        facts.vectors,
        budget=config.prompt_tokens,
        duplicate=services.embedder.identity.thresholds.duplicate,
    )
    if not places:
        return summarise_by_choice(entity, facts, services)
    return await summarise_with_model(entity, [facts.units[place] for place in places], model, services)


async def summarise_with_model(
    entity: Entity, facts: Sequence[MemoryUnit], model: LanguageModel, services: Services
) -> Summary:
    """Generate observations from facts with the model; drop observations that are still invalid after repairs."""
    checker = Checker(
        names=(entity.name, *entity.names),
        facts=facts,
        most=services.config.observations.most,
        languages=tuple(dict.fromkeys((*services.languages, *LANGUAGES.values()))),
    )
    prompt = observe_prompt(
        entity.name, facts, fewest=checker.fewest, most=min(services.config.observations.most, len(facts))
    )
    answered = await complete_with_repair(model, prompt, check=checker.problems)
    sound = checker.sound(answered.last) if answered.last else []
    observations = tuple(
        Observation(plain(one.text), tuple(facts[number - 1] for number in sorted(set(one.facts))))
        for one in sound
    )
    problem = "" if observations else answered.problem
    return Summary(observations, tuple(facts), answered.usage, problem)


def summarise_by_choice(entity: Entity, facts: FactGroup, services: Services) -> Summary:
    """Select the most representative facts as observations, each of which is based on the facts it represents."""
    thresholds = services.embedder.identity.thresholds
    names = (entity.name, *entity.names)
    weights = [weight(unit.text, names) for unit in facts.units]
    under = choose_representatives(facts.vectors, weights, thresholds, most=services.config.observations.most)
    observations = tuple(
        Observation(
            retell(facts.units[place], names, services.languages),
            tuple(facts.units[other] for other in others),
        )
        for place, others in under.items()
    )
    return Summary(observations, facts.units)


MOST_GROUPS = 16  # maximum number of tag groups summarised per entity, newest first
# Maximum number of summaries in one run if facts change in between; then the task is retried later.
ATTEMPTS = 3
TRIES_OF_MODEL = 3
"""Number of task attempts; on the last attempt, facts are selected if the model's answer is invalid."""
COMMITS = 8  # maximum number of commits; a commit can fail although the summary is still valid


async def observe(task: Task, projector: Projector, services: Services) -> Settled:
    """Write the observations of the task's entity and complete the task in one commit.

    An observation with the same text and the same facts has the same id. Earlier observations that are not produced
    again are removed, except those that a caller retained. If the model's answers are invalid in three task attempts,
    facts are selected instead.

    Raises:
        MalformedOutput: the model gave no valid observation, even after repairs, and the task has attempts left;
            nothing was written.
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts of the entity changed during every try.
        TaskClosed: the task was finished by another worker; nothing was written.
    """
    usage, revision = NO_USAGE, 0
    for _ in range(ATTEMPTS):
        known = await services.workers.read(_facts, task.key, projector)
        if known is None:
            await services.workers.write(_commit, WriteSet(projector.name, 0), task, (), projector)
            return with_usage(Settled(), usage)
        revision = known.revision
        made = [await summarise(known.entity, group, services) for group in known.groups[:MOST_GROUPS]]
        usage += sum((summary.usage for summary in made), NO_USAGE)
        if task.attempts < TRIES_OF_MODEL:
            _check_sound(made, usage, services.model)
        made = [
            summarise_by_choice(known.entity, group, services) if summary.problem else summary
            for group, summary in zip(known.groups, made, strict=False)
        ]
        writes = await services.workers.read(write_set, known, made, projector, services)
        read = tuple(fact for summary in made for fact in summary.read)
        created = await services.workers.write(_commit, writes, task, read, projector)
        if created is not None:
            return with_usage(Settled(created=created, observed=1), usage)
    bank = projector.name
    now = await services.workers.read(projector.ledger.revision, bank)
    raise RevisionConflict(bank, revision, now)


def write_set(
    known: EntityFacts, made: Sequence[Summary], projector: Projector, services: Services
) -> WriteSet:
    """Embed the observations, and return the writes that replace the entity's earlier observations."""
    bank, entity = projector.name, known.entity
    found = [one for summary in made for one in summary.observations]
    tokens = services.tokens.count([one.text for one in found])
    units = {
        (unit := observation_unit(one, entity, bank, tokens=count)).id: (unit, one)
        for one, count in zip(found, tokens, strict=True)
    }
    grounds = {fact.id for one in found for fact in one.facts}
    return WriteSet(
        bank=bank,
        expected_revision=known.revision,
        units=unit_writes([unit for unit, _ in units.values()], services.embedder),
        mentions=tuple(MentionWrite(name, entity.id, entity.name) for name in units),
        observed=ObservedWrite(
            entity_id=entity.id,
            facts={name: tuple(fact.id for fact in one.facts) for name, (_, one) in units.items()},
            left_out=tuple(fact.id for fact in known.units if fact.id not in grounds),
            at_revision=known.revision,
        ),
    )


def observation_unit(made: Observation, entity: Entity, bank: str, *, tokens: int) -> MemoryUnit:
    """Build the unit of an observation, with the tags and shared metadata of its facts and the time of the newest fact."""
    facts = sorted(fact.id for fact in made.facts)
    seed = "\x1e".join(("observation", bank, entity.id, *facts, normalised_text(made.text)))
    return MemoryUnit(
        id=str(uuid.uuid5(NAMESPACE, seed)),
        bank=bank,
        text=made.text,
        fact_type=FactType.OBSERVATION,
        mentioned_at=max(fact.mentioned_at for fact in made.facts),
        metadata=shared_metadata([fact.metadata for fact in made.facts]),
        tags=made.facts[0].tags,
        tokens=tokens,
    )


def _facts(entity_id: str, projector: Projector) -> EntityFacts | None:
    bank, ledger = projector.name, projector.ledger
    revision = ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        return entity_facts(reader, bank, entity_id, revision=revision)


def _check_sound(made: Sequence[Summary], usage: Usage, model: LanguageModel | None) -> None:
    """Raise MalformedOutput if a summary failed and no summary has a valid observation."""
    problems = [summary.problem for summary in made if summary.problem]
    if problems and not any(summary.observations for summary in made):
        raise malformed(model.name if model else "", problems[0], usage)


def _commit(writes: WriteSet, task: Task, read: Sequence[MemoryUnit], projector: Projector) -> int | None:
    """Commit the writes and complete the task; return the number of new observations, or None if the facts read have changed."""
    for attempt in range(COMMITS):
        try:
            with projector.transaction() as (view, transaction):
                if not unchanged(read, transaction, view.bank, task.key):
                    return None
                decided = replace(writes, expected_revision=view.revision, completed_tasks=(task.claim,))
                receipt = transaction.commit(decided)
        except RevisionConflict:
            if attempt == COMMITS - 1:
                raise
            continue
        projector.catch_up()
        return len(receipt.created)
    raise AssertionError("unreachable: the loop returns or raises")
