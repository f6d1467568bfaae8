"""The opinions of a bank and what came since they were last looked at, as they stand at one revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.cara.opinions.candidates import About, about, may_bear_on
from hindsight_integrations.cara.opinions.evidence import held_wording, is_evidence, unsaid, weighed
from hindsight_integrations.cara.opinions.facts import Fact, read_facts
from hindsight_integrations.cara.opinions.tools import OpinionTools
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.opinions import OpinionLog, OpinionVersion
from hindsight_integrations.model.profile import BankProfile


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """One opinion with what may be evidence of it.

    Attributes:
        log: the opinion.
        wording: as it is worded now.
        known: facts weighed already, by unit id.
        asked: new facts that an assessor must be asked of, in order of mention.
        repeating: new facts that say again what their sources said in others.
    """

    log: OpinionLog
    wording: OpinionVersion
    known: dict[str, Fact] = field(default_factory=dict)
    asked: tuple[Fact, ...] = ()
    repeating: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Outstanding:
    """What is to be decided of a bank's opinions.

    Attributes:
        revision: the bank's, when it was read.
        profile: who the agent is.
        opinions: those held, in the order they were formed.
    """

    revision: int
    profile: BankProfile
    opinions: tuple[Standing, ...]


def outstanding(tools: OpinionTools) -> Outstanding:
    """Read a bank's opinions, and find of what came since each was last looked at that which may be evidence of it."""
    ledger, bank = tools.projector.ledger, tools.projector.name
    profile, revision = ledger.bank(bank).profile, ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        held = [(log, wording) for log in reader.opinions.get(bank) if (wording := held_wording(log))]
        fresh = _fresh(held, reader, bank)
        ids = {unit_id for found in fresh.values() for unit_id in found}
        facts = read_facts(reader, bank, sorted(ids), tools.languages)
        wordings = read_facts(reader, bank, [wording.unit_id for _, wording in held], tools.languages)
        topics = _topics({**facts, **wordings}, reader, bank)

        def near(log: OpinionLog, wording: OpinionVersion) -> list[Fact]:
            own, thresholds = topics[wording.unit_id], tools.embedder.identity.thresholds
            found = (facts[unit_id] for unit_id in fresh[log.assessed_to] if unit_id in facts)
            return [
                fact
                for fact in found
                if is_evidence(fact, log) and may_bear_on(own, topics[fact.unit.id], thresholds)
            ]

        opinions = tuple(
            _standing(log, wording, near(log, wording), reader, tools)
            for log, wording in held
            if wording.unit_id in wordings
        )
    return Outstanding(revision, profile, opinions)


def _standing(
    log: OpinionLog,
    wording: OpinionVersion,
    near: Sequence[Fact],
    reader: LedgerReader,
    tools: OpinionTools,
) -> Standing:
    """An opinion with its new facts, parted into those to be asked of and those that repeat."""
    before = frozenset(weighed(log))
    new = [fact for fact in near if fact.unit.id not in before]
    if not new:
        return Standing(log, wording)
    known = read_facts(reader, tools.projector.name, weighed(log), tools.languages)
    asked = unsaid(log, new, known, thresholds=tools.embedder.identity.thresholds)
    ids = {fact.unit.id for fact in asked}
    repeating = tuple(fact for fact in new if fact.unit.id not in ids)
    return Standing(log, wording, known, tuple(asked), repeating)


def _fresh(
    held: Sequence[tuple[OpinionLog, OpinionVersion]], reader: LedgerReader, bank: str
) -> dict[int, tuple[str, ...]]:
    """Unit ids of the facts that came after each revision up to which an opinion was looked at."""
    return {
        revision: tuple(reader.units.unit_ids(bank, reader.opinions.facts_since(bank, revision)).values())
        for revision in {log.assessed_to for log, _ in held}
    }


def _topics(facts: Mapping[str, Fact], reader: LedgerReader, bank: str) -> dict[str, About]:
    """What each of these memories is about."""
    places = reader.units.row_ids(bank, list(facts))
    found = reader.entities.of_units(bank, np.array(sorted(places.values()), np.int64))
    memories = reader.units.count(bank)
    return {
        unit_id: about(found.get(places[unit_id], ()), fact.vector, memories)
        for unit_id, fact in facts.items()
    }
