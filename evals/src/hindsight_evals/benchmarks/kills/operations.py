"""The eleven kinds of operation that are killed. Each says beforehand what it changes, so that half of one shows."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.kills.state import Change, Line, State, apply
from hindsight_integrations import (
    Document,
    Hindsight,
    HindsightConfig,
    Message,
    RetainItem,
)
from hindsight_integrations.config import KeywordBackend, StorageConfig
from hindsight_integrations.indexes import exact
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.testing.doubles import HashEmbedder

MAIN = "crash/test"
WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
]
GUILD = "Harbor Guild"
INDEX_FOLDERS = ("chroma", "lucene", "fts5", "exact")
TOKEN = re.compile(r"tok\d+x\d+[a-z]")
TRAVELLERS = 15  # so many that none is in a tenth of all memories: such hubs transmit nothing
FILLED = 40  # memories of the main bank before it is worked on
KEPT = 150  # memories of the main bank beyond which nothing is added
EXTRA_BANKS = 4


class Kind(StrEnum):
    """What the child does until it is killed."""

    RETAIN = "retain"
    RETAIN_MANY = "retain_many"
    FORGET = "forget"
    EDIT = "edit"
    MERGE = "merge"
    DOCUMENT = "document upsert"
    REINDEX = "reindex"
    IMPORT = "import"
    FORGET_BANK = "forget_bank"
    OPEN = "open"
    OPEN_WITHOUT_INDEXES = "open with indexes deleted"


class MirroredEmbedder(HashEmbedder):
    """Another model of the same size: its vectors mean nothing beside the hash embedder's."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Another name than the parent's."""
        own = super().identity
        return EmbedderIdentity("mirrored-embedder", own.dimension, "", own.thresholds)

    def embed_query(self, text: str) -> Vector:
        """The parent's vector, backwards and with every second sign changed."""
        mirrored = super().embed_query(text)[::-1].copy()
        mirrored[::2] *= -1.0
        return mirrored


EMBEDDERS: dict[str, type[HashEmbedder]] = {"hash": HashEmbedder, "mirrored": MirroredEmbedder}


MAPPED_TAIL = 3  # vectors that wait for the exact scorer's file, so that kills meet it half-written


def open_memory(folder: Path, keywords: KeywordBackend, embedder: str = "hash") -> Hindsight:
    """The engine under test: real Chroma, the given keyword index, no model; a mapped file of vectors in small banks too."""
    exact.TAIL_ROWS = MAPPED_TAIL
    config = HindsightConfig(storage=StorageConfig(keywords=keywords))
    return Hindsight.open(folder, embeddings=EMBEDDERS[embedder](), reranker=None, config=config)


def delete_indexes(folder: Path) -> None:
    """Everything that can be made again from the ledger."""
    for name in INDEX_FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)


@dataclass(slots=True)
class Work:
    """One child's work on an open engine.

    Attributes:
        hindsight: the engine.
        state: what the directory holds, kept up to date by what was done.
        rng: decides what is done.
        number: of the round; part of every new text, so that all texts differ.
        announce: told of every operation's changes before it starts, and of None once it has returned.
        learn: whether to look at the main bank first; not where it answers under another embedder only.
        made: how many texts it has made up.
        ids: text to id of the main bank's memories.
        entities: normalised name to canonical name, of the main bank's entities that had been merged before.
    """

    hindsight: Hindsight
    state: State
    rng: random.Random
    number: int
    announce: Callable[[Sequence[Change] | None], None]
    learn: bool = True
    made: int = 0
    ids: dict[str, str] = field(default_factory=dict)
    entities: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Learn what the main bank holds."""
        if self.learn and ("bank", MAIN) in self.state:
            bank = self.hindsight.bank(MAIN)
            self.ids = {unit.text: unit.id for unit in bank.iterate_units()}
            self.entities = {name: entity.name for entity in bank.entities.list() for name in entity.names}

    def do(self, changes: Sequence[Change], operation: Callable[[], object]) -> None:
        """Announce, do, announce that it is done."""
        self.announce(changes)
        operation()
        self.announce(None)
        self.state = apply(self.state, changes)

    def fact(self) -> dict[str, Any]:
        """A fact with words and a rare token of its own; every second one is dated."""
        token = self.token("q")
        day = f"2024-{self.rng.randrange(1, 13):02}-{self.rng.randrange(1, 29):02}"
        who = f"Traveller{self.number}x{self.made % TRAVELLERS}"
        return {
            "what": f"{who} with token {token} visited {self.words(6)}",
            "occurred_start": day if self.made % 2 else None,
            "entities": [{"text": who, "type": "PERSON"}, {"text": GUILD, "type": "ORG"}],
            "sources": [f"m{self.number}-{self.made}"],
        }

    def token(self, last: str) -> str:
        """A word that is in no other text."""
        self.made += 1
        return f"tok{self.number}x{self.made}{last}"

    def words(self, count: int) -> str:
        """So many words that hardly two texts share."""
        return " ".join(self.rng.choice(WORDS) + str(self.rng.randrange(10_000)) for _ in range(count))

    def of(self, kind: str, bank: str = MAIN) -> list[Line]:
        """The lines of one kind in one bank, in order."""
        return sorted(line for line in self.state if line[:2] == (kind, bank))

    def mentions(self, text: str) -> State:
        """What one unit mentions."""
        return frozenset(line for line in self.of("mention") if line[2] == text)


def retaining(work: Work, facts: Sequence[dict[str, Any]]) -> Change:
    """What facts of a retain add."""
    units = {("unit", MAIN, str(fact["what"])) for fact in facts}
    names = {(fact["what"], entity["text"]) for fact in facts for entity in fact["entities"]}
    mentions = {("mention", MAIN, text, work.entities.get(name.lower(), name)) for text, name in names}
    return Change(frozenset(units | mentions | {("bank", MAIN)}))


def messages(facts: Sequence[dict[str, Any]]) -> list[Message]:
    """A message for each fact."""
    return [Message(str(f["what"]), "user", "2024-06-01T12:00", id=f["sources"][0]) for f in facts]


def retain(work: Work) -> None:
    """One to four facts in one call."""
    facts = [work.fact() for _ in range(work.rng.randrange(1, 5))]
    bank = work.hindsight.bank(MAIN)

    def retained() -> None:
        made = bank.retain(messages(facts), facts=facts, thread="talk").unit_ids
        work.ids |= dict(zip((str(fact["what"]) for fact in facts), made, strict=True))

    work.do([retaining(work, facts)], retained)


def retain_many(work: Work) -> None:
    """Nine items, committed three at a time; each is whole or not there."""
    groups = [[work.fact() for _ in range(2)] for _ in range(9)]
    items = [RetainItem(messages(facts), thread="talk", facts=facts) for facts in groups]
    work.do(
        [retaining(work, facts) for facts in groups],
        lambda: work.hindsight.bank(MAIN).retain_many(items, batch_size=3),
    )


def forget(work: Work) -> None:
    """One memory, by its id or by a name that its text alone has, with all that it alone mentions."""
    if not work.ids:
        filled(work)
    text = work.rng.choice(sorted(work.ids))
    found, bank = work.ids.pop(text), work.hindsight.bank(MAIN)
    gone = Change(removes=work.mentions(text) | {("unit", MAIN, text)}, erased=tuple(TOKEN.findall(text)))
    token = TOKEN.findall(text)[0]
    named: list[dict[str, Any]] = [{"unit": found}, {"units": [found]}, {"entity": token}]
    selector = work.rng.choice(named)
    work.do([gone], lambda: bank.forget(**selector))


def edit(work: Work) -> None:
    """One memory's text, its names kept."""
    old = work.rng.choice(sorted(work.ids))
    found, bank = work.ids.pop(old), work.hindsight.bank(MAIN)
    new = f"{old.split(' with ')[0]} with token {work.token('e')} visited {work.words(6)}"
    work.ids[new] = found
    lines = work.mentions(old)
    adds = {("mention", MAIN, new, line[3]) for line in lines} | {("unit", MAIN, new)}
    change = Change(frozenset(adds), lines | {("unit", MAIN, old)})
    work.do([change], lambda: bank.edit(found, text=new))


def merge(work: Work) -> None:
    """Two travellers become one, and two again."""
    names = sorted({line[3] for line in work.of("mention")} - {GUILD})
    keep, gone = work.rng.sample(names, 2)
    old = frozenset(line for line in work.of("mention") if line[3] == gone)
    new = frozenset((*line[:3], keep) for line in old)
    entities = work.hindsight.bank(MAIN).entities
    work.do([Change(new, old)], lambda: entities.merge(keep, gone))
    work.do([Change(old, new)], lambda: entities.undo(entities.changes()[-1].id))


def document(work: Work) -> None:
    """A document given other text: what only the old one stated is closed."""
    bank, name = work.hindsight.bank(MAIN), f"page {work.rng.randrange(3)}"
    start = f"the {name} of the harbour log says "
    old = frozenset(line for line in work.of("unit") if line[2].startswith(start))
    text = f"{start}{work.token('d')} {work.words(8)}"
    adds = {("unit", MAIN, text)} | {("closed", *line[1:]) for line in old}
    work.do(
        [Change(frozenset(adds), old)],
        lambda: bank.retain(Document(text, name, "2024-06-02T12:00")),
    )


def reindex(work: Work) -> None:
    """Every bank's vectors by the embedder the engine was opened with."""
    for name in work.hindsight.banks():
        bank = work.hindsight.bank(name)
        work.do([Change()], bank.maintenance.reindex)


def load(work: Work, archive: Path) -> None:
    """A new bank from the archive of the main one, then the next."""
    name = f"crash/import {work.number}x{work.made:04}"  # no name begins another: files are searched for them
    work.made += 1
    work.do([Change(frozenset({("bank", name)}))], lambda: work.hindsight.bank(name))
    lines = frozenset(
        (line[0], name, *line[2:]) for line in work.state if line[1] == MAIN and line[0] != "bank"
    )
    work.do([Change(lines)], lambda: work.hindsight.bank(name).archive.load(archive))
    extra = sorted(bank for bank in work.hindsight.banks() if bank != MAIN)
    if len(extra) > EXTRA_BANKS:
        forget_bank(work, extra[0])


def forget_bank(work: Work, name: str) -> None:
    """A whole bank."""
    lines = frozenset(line for line in work.state if line[1] == name)
    work.do([Change(removes=lines, erased=(name,))], lambda: work.hindsight.forget_bank(name))


def filled(work: Work) -> None:
    """Give the main bank something to change."""
    while len(work.of("unit")) < FILLED:
        retain(work)


def trimmed(work: Work) -> None:
    """Start the main bank over once it is large: a round's checks cost what it holds."""
    if len(work.of("unit")) + len(work.of("closed")) > KEPT:
        lines = frozenset(line for line in work.state if line[1] == MAIN and line[0] != "bank")
        work.ids.clear()
        tokens = tuple(TOKEN.findall(" ".join(line[2] for line in lines)))
        work.do(
            [Change(removes=lines, erased=tokens)],
            lambda: work.hindsight.bank(MAIN).forget(everything=True),
        )


SIMPLE: dict[Kind, Callable[[Work], None]] = {
    Kind.RETAIN: retain,
    Kind.RETAIN_MANY: retain_many,
    Kind.FORGET: forget,
    Kind.EDIT: edit,
    Kind.MERGE: merge,
    Kind.DOCUMENT: document,
    Kind.REINDEX: reindex,
}


def prepared(work: Work, kind: Kind, archive: Path) -> None:
    """What a kind needs before it can be killed."""
    if kind is Kind.REINDEX:  # with another embedder nothing else can be done
        for name in work.hindsight.banks():
            work.hindsight.bank(name)
        return
    trimmed(work)
    filled(work)
    if kind in (Kind.IMPORT, Kind.FORGET_BANK):
        work.hindsight.bank(MAIN).archive.export(archive)
    if kind is Kind.FORGET_BANK:
        for _ in range(EXTRA_BANKS):
            load(work, archive)


def operations(work: Work, kind: Kind, archive: Path) -> Iterator[None]:
    """Do operations of one kind for ever; yields after each."""
    while True:
        if kind is Kind.IMPORT:
            load(work, archive)
        elif kind is Kind.FORGET_BANK:
            extra = [bank for bank in work.hindsight.banks() if bank != MAIN]
            forget_bank(work, extra[0]) if extra else load(work, archive)
        else:
            SIMPLE[kind](work)
        yield


def opening(folder: Path, keywords: KeywordBackend, kind: Kind, embedder: str) -> None:
    """Open, look at every bank and close, for ever; the indexes deleted each time where the kind says so."""
    while True:
        if kind is Kind.OPEN_WITHOUT_INDEXES:
            delete_indexes(folder)
        with open_memory(folder, keywords, embedder) as hindsight:
            for name in hindsight.banks():
                hindsight.bank(name).recall("harbor")
