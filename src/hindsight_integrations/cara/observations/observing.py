"""Making an entity's observations anew, as a task (paper section 4.1.5): read, sum up, and replace them in one commit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.cara.observations.facts import EntityFacts, entity_facts, unchanged
from hindsight_integrations.cara.observations.summarising import Observation, Summary, extractive, summarised
from hindsight_integrations.cara.observations.tools import ObservationTools
from hindsight_integrations.errors import MalformedOutput, RevisionConflict
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.metadata import shared_metadata
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit
from hindsight_integrations.model.writes import MentionWrite, ObservedWrite, UnitWrite, WriteSet
from hindsight_integrations.search.embedding import embed_units

MOST_GROUPS = (
    16  # sets of tags of one entity that are summed up, those added to last; the facts of others are left out
)
ATTEMPTS = 3  # summaries made anew because a fact changed meanwhile; then the task waits
TRIES_OF_MODEL = 3  # of a task, after which facts are chosen where the model wrote nothing sound
COMMITS = 8  # tries after another process wrote in between, which alone makes no summary wrong


async def observe(task: Task, tools: ObservationTools) -> Settled:
    """Make the observations of the entity a task names, and write them and the task's end in one commit.

    Observations from the same facts in the same words are the same rows. Those made before and not again are removed; those
    a caller retained stay.

    Facts of which a model writes nothing sound are told by choice of facts, once it has had three tries.

    Raises:
        MalformedOutput: nothing the model wrote is sound, repairs included, and it has tries left; nothing was written.
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts of the entity changed at every try.
        TaskClosed: somebody else finished the task meanwhile; nothing was written.
    """
    spent, revision = Settled(), 0
    for _ in range(ATTEMPTS):
        known = await tools.workers.read(_facts, task.key, tools)
        if known is None:
            await tools.workers.write(_commit, WriteSet(tools.projector.name, 0), task, (), tools)
            return spent
        revision = known.revision
        made = [await summarised(known.entity, group, tools) for group in known.groups[:MOST_GROUPS]]
        spent = replace(
            spent,
            tokens_in=spent.tokens_in + sum(summary.tokens_in for summary in made),
            tokens_out=spent.tokens_out + sum(summary.tokens_out for summary in made),
        )
        if task.attempts < TRIES_OF_MODEL:
            _check_sound(made, spent, tools)
        made = [
            extractive(known.entity, group, tools) if summary.problem else summary
            for group, summary in zip(known.groups, made, strict=False)
        ]
        writes = await tools.workers.read(write_set, known, made, tools)
        read = tuple(fact for summary in made for fact in summary.read)
        created = await tools.workers.write(_commit, writes, task, read, tools)
        if created is not None:
            return replace(spent, created=created, observed=1)
    bank = tools.projector.name
    now = await tools.workers.read(tools.projector.ledger.revision, bank)
    raise RevisionConflict(bank, revision, now)


def write_set(known: EntityFacts, made: Sequence[Summary], tools: ObservationTools) -> WriteSet:
    """What the summaries of an entity's facts change, but for the revision it is decided on; embeds the observations."""
    bank, entity = tools.projector.name, known.entity
    found = [one for summary in made for one in summary.observations]
    tokens = tools.tokens.count([one.text for one in found])
    units = {
        (unit := observation_unit(one, entity, bank, tokens=count)).id: (unit, one)
        for one, count in zip(found, tokens, strict=True)
    }
    vectors = embed_units([unit for unit, _ in units.values()], tools.embedder) if units else ()
    grounds = {fact.id for one in found for fact in one.facts}
    return WriteSet(
        bank=bank,
        expected_revision=known.revision,
        units=tuple(
            UnitWrite(unit, vector.astype("<f4").tobytes())
            for (unit, _), vector in zip(units.values(), vectors, strict=True)
        ),
        mentions=tuple(MentionWrite(name, entity.id, entity.name) for name in units),
        observed=ObservedWrite(
            entity_id=entity.id,
            facts={name: tuple(fact.id for fact in one.facts) for name, (_, one) in units.items()},
            left_out=tuple(fact.id for fact in known.units if fact.id not in grounds),
            at_revision=known.revision,
        ),
    )


def observation_unit(made: Observation, entity: Entity, bank: str, *, tokens: int) -> MemoryUnit:
    """The unit of an observation: tagged like its facts, with the metadata that they share, as new as the newest of them, without a time of its own.

    Args:
        made: text and facts.
        entity: of which it is.
        bank: its bank.
        tokens: what its text costs.
    """
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


def _facts(entity_id: str, tools: ObservationTools) -> EntityFacts | None:
    bank, ledger = tools.projector.name, tools.projector.ledger
    revision = ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        return entity_facts(reader, bank, entity_id, revision=revision)


def _check_sound(made: Sequence[Summary], spent: Settled, tools: ObservationTools) -> None:
    """Refuse summaries of which none has anything sound; where some do, the model is not asked again for the others."""
    problems = [summary.problem for summary in made if summary.problem]
    if problems and not any(summary.observations for summary in made):
        name = tools.model.name if tools.model else ""
        raise MalformedOutput(name, "", problems[0], tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)


def _commit(writes: WriteSet, task: Task, read: Sequence[MemoryUnit], tools: ObservationTools) -> int | None:
    """Commit if the facts read still say the same, with the task's end; None, and nothing is written, if they do not.

    Returns:
        How many observations are new.
    """
    projector = tools.projector
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
