"""How often a memory that a session ends or changes is among those shown to the model with the session.

    hindsight-evals bench shown_memories [--personas ID,...] [--days N] [--seed N] [--slots 16,24] [--misses]
    hindsight-evals bench shown_memories --memora FILE --facts FILE

Simulated lives, or a Memora file with facts extracted before, are retained by session with these facts.
Before each session that ends something, `nearest_memories` is called for its messages, in the same passages
as in extraction. A change is found if the passages with its statement show the memory or item that the retain
then ends. Printed are: the shares found by kind of record and by age of the memory, for each number of slots, in
banks with at least --fewest memories; the tokens shown with a passage; and, of the changes missed with the first
number of slots, the share among the candidates of the second request, which are searched for with the words of
the fact.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import mean

from hindsight_evals.benchmarks.memora.bank import LIGHT
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.memora import load_memora
from hindsight_evals.episode import Episode, Session
from hindsight_evals.simulator.simulate import simulate
from hindsight_integrations import ExtractedFact, HindsightConfig
from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.config import RetainConfig
from hindsight_integrations.engine.assembly import AsyncHindsight
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import of_types, valid_at
from hindsight_integrations.indexes.embedding import embedded
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.prompts.extract_facts import Passage, shown_with
from hindsight_integrations.retain.changes import RETRACTABLE, ChangeScope, statement_effect
from hindsight_integrations.retain.drafts import UnitDraft
from hindsight_integrations.retain.extraction import passages_of
from hindsight_integrations.retain.prepare import with_memories

CONFIG = HindsightConfig(storage=LIGHT)
AGES = {
    "a day": timedelta(days=1),
    "a week": timedelta(days=7),
    "a month": timedelta(days=31),
    "a quarter": timedelta(days=92),
    "a year": timedelta(days=366),
}


@dataclass(frozen=True, slots=True)
class Looked:
    """The memories shown with a session before it is retained.

    Attributes:
        passages: the session's passages with their memories, by number of slots.
        candidates: ids of the memories that the second request would show, by fact.
        held: number of memories in the bank.
    """

    passages: Mapping[int, Sequence[Passage]]
    candidates: Mapping[str, frozenset[str]]
    held: int


@dataclass(frozen=True, slots=True)
class Change:
    """A memory or item that a session ended, and whether it was shown.

    Attributes:
        unit: the memory or item.
        told: the text of the fact that ended it.
        document: whether it had items.
        found: whether it was shown, by number of slots.
        listed: whether the second request would show it.
        held: number of memories in the bank.
        age: time between the mention of the memory and the session that ended it.
    """

    unit: MemoryUnit
    told: str
    document: bool
    found: Mapping[int, bool]
    listed: bool
    held: int
    age: timedelta

    @property
    def kind(self) -> str:
        """The kind of its first record; documents have no records of their own."""
        if self.document:
            return "document"
        return self.unit.records[0].kind.value if self.unit.records else "no record"

    @property
    def aged(self) -> str:
        """The shortest of AGES that is not exceeded."""
        return next((f"up to {name}" for name, most in AGES.items() if self.age <= most), "older")


@dataclass(slots=True)
class Figures:
    """The results of several episodes.

    Attributes:
        changes: all changes.
        tokens: tokens of the memories shown with each passage, by number of slots.
    """

    changes: list[Change] = field(default_factory=list)
    tokens: dict[int, list[int]] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--personas", default="software_engineer")
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slots", default="16,24")
    parser.add_argument(
        "--fewest", type=int, default=300, help="memories in the bank, of the changes counted"
    )
    parser.add_argument("--memora", type=Path)
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--misses", action="store_true", help="print each change that was not shown")
    options = parser.parse_args(argv)
    slots = [int(number) for number in options.slots.split(",")]
    if options.memora:
        episodes = [load_memora(options.memora, facts=load_facts(options.facts) if options.facts else None)]
    else:
        lived = partial(simulate, period="month", days=options.days, seed=options.seed)
        episodes = [lived(persona).episode for persona in options.personas.split(",")]
    figures = Figures()
    for episode in episodes:
        asyncio.run(_measure(episode, slots, figures))
    counted = [change for change in figures.changes if change.held >= options.fewest]
    _print(counted, figures, slots)
    if options.misses:
        for change in counted:
            if not change.found[slots[0]]:
                print(f"{change.kind}: {change.unit.text!r} ended by {change.told!r}")


async def _measure(episode: Episode, slots: Sequence[int], figures: Figures) -> None:
    async with AsyncHindsight.open(":memory:", config=CONFIG, reranker=None) as engine:
        bank = await engine.bank(episode.name)
        for session in episode.sessions:
            changing = [fact for fact in session.facts or () if fact.changes]
            looked = await _look(bank, session, changing, slots) if changing else None
            if not session.facts:
                continue
            result = await bank.retain(
                list(session.messages), thread=session.id, timestamp=session.moment, facts=session.facts
            )
            if looked is None:
                continue
            count = bank._context.services.tokens.count  # noqa: SLF001
            for number, passages in looked.passages.items():
                texts = ["\n".join(shown_with(passage)) for passage in passages]
                figures.tokens.setdefault(number, []).extend(count(texts))
            for ended in (*result.closed, *result.removed):
                unit, by = await bank.get(ended.unit_id), await bank.get(ended.by_unit)
                if unit.thread != session.id:
                    document = bool(await bank.document_items(unit.id, as_of=session.moment))
                    figures.changes.append(_change(unit, by, looked, document=document, at=session.moment))


async def _look(
    bank: AsyncMemoryBank, session: Session, facts: Sequence[ExtractedFact], slots: Sequence[int]
) -> Looked:
    """Return the memories that a model would be shown with the session in the bank's current state."""
    context = bank._context  # noqa: SLF001
    embedder = context.services.embedder
    cut = passages_of(session.messages, RetainConfig().passage_characters)

    def read(view: BankView) -> Looked:
        passages = {number: with_memories(cut, view, embedder, tags=(), limit=number) for number in slots}
        candidates = {fact.narrative: _candidates(fact, session, view, embedder) for fact in facts}
        return Looked(passages, candidates, _held(view))

    async with context.viewing() as view:
        return await context.services.workers.read(read, view)


def _held(view: BankView) -> int:
    return int((valid_at(view.columns, None) & of_types(view.columns, RETRACTABLE)).sum())


def _candidates(fact: ExtractedFact, session: Session, view: BankView, embedder: Embedder) -> frozenset[str]:
    """Return the memories that the second request would show for a statement with the words of the fact."""
    sources = tuple(fact.sources)
    by = MemoryUnit(
        "", view.bank, fact.what, FactType.WORLD, session.moment, thread=session.id, sources=sources
    )
    vectors = embedded([fact.what], embedder)
    reach = ChangeScope([UnitDraft(by, vector=vectors[0])], view)
    listed = statement_effect(fact.what, vectors[0], 0, reach, embedder.identity.thresholds).candidates
    return frozenset(unit.id for unit in listed)


def _change(unit: MemoryUnit, by: MemoryUnit, looked: Looked, *, document: bool, at: datetime) -> Change:
    found = {
        number: any(
            unit.id in _ids(passage)
            for passage in passages
            if not {message.id for message in passage.messages}.isdisjoint(by.sources)
        )
        for number, passages in looked.passages.items()
    }
    listed = (unit.part_of or unit.id) in looked.candidates.get(by.text, frozenset())
    return Change(unit, by.text, document, found, listed, looked.held, at - unit.mentioned_at)


def _ids(passage: Passage) -> set[str]:
    """Return the ids of the memories and items shown with a passage."""
    items = (item.id for some in passage.items.values() for item in some)
    return {*(unit.id for unit in passage.memories), *items}


def _print(changes: Sequence[Change], figures: Figures, slots: Sequence[int]) -> None:
    if not changes:
        print("nothing was ended in a bank of that size")
        return
    print(f"{len(changes)} changes, {mean(change.held for change in changes):.0f} memories held (mean)")
    print(f"{'ended':16} changes", *(f"{f'{number} slots':>10}" for number in slots))
    kinds = sorted({change.kind for change in changes})
    ages = [
        name
        for name in (*(f"up to {name}" for name in AGES), "older")
        if any(c.aged == name for c in changes)
    ]
    for row in (*kinds, *ages, "all"):
        own = [change for change in changes if row in {change.kind, change.aged, "all"}]
        shares = (f"{mean(change.found[number] for change in own):10.1%}" for number in slots)
        print(f"{row:16} {len(own):7}", *shares)
    print(f"{'tokens a passage':24}", *(f"{mean(figures.tokens[number]):10.0f}" for number in slots))
    missed = [change for change in changes if not change.found[slots[0]]]
    listed = sum(change.listed for change in missed)
    print(f"missed with {slots[0]} slots: {len(missed)}, candidates of the second request: {listed}")
    print(f"candidates of the second request, of all: {mean(change.listed for change in changes):.1%}")


if __name__ == "__main__":
    main()
