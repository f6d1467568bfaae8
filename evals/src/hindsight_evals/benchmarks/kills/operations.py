"""The eleven kinds of operation that are killed. Each reports its changes in advance, so that a partial change is detected."""

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
TRAVELLERS = 15  # so many that none is in a tenth of all memories, because such hubs transmit no activation
FILLED = 40  # number of memories in the main bank before the kills
KEPT = 150  # number of memories in the main bank at which it is started over
EXTRA_BANKS = 4


class Kind(StrEnum):
    """The operation that the child repeats until it is killed."""

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
    """Another model with the same dimensions; its vectors are not comparable with those of the hash embedder."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Return an identity with another name than the parent's."""
        own = super().identity
        return EmbedderIdentity("mirrored-embedder", own.dimension, "", own.thresholds)

    def embed_query(self, text: str) -> Vector:
        """Return the parent's vector, reversed and with every second sign flipped."""
        mirrored = super().embed_query(text)[::-1].copy()
        mirrored[::2] *= -1.0
        return mirrored


EMBEDDERS: dict[str, type[HashEmbedder]] = {"hash": HashEmbedder, "mirrored": MirroredEmbedder}


# number of vectors after which the exact index writes its file, so that kills interrupt the write
MAPPED_TAIL = 3


def open_memory(folder: Path, keywords: KeywordBackend, embedder: str = "hash") -> Hindsight:
    """Open the engine: Chroma, the given keyword index, no model, and a mapped vector file even in small banks."""
    exact.TAIL_ROWS = MAPPED_TAIL
    config = HindsightConfig(storage=StorageConfig(keywords=keywords))
    return Hindsight.open(folder, embeddings=EMBEDDERS[embedder](), reranker=None, config=config)


def delete_indexes(folder: Path) -> None:
    """Delete everything that can be rebuilt from the ledger."""
    for name in INDEX_FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)


@dataclass(slots=True)
class Work:
    """One child's work on an open engine.

    Attributes:
        hindsight: the engine.
        state: the content of the directory, updated after each operation.
        rng: the source of random choices.
        number: number of the round; part of every new text, so that all texts differ.
        announce: called with the changes of each operation before it starts, and with None after it returns.
        learn: whether to read the main bank first; False if it only works with another embedder.
        made: number of generated texts.
        ids: ids of the main bank's memories by text.
        entities: canonical names of entities in the main bank that were merged before, by normalised name.
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
        """Read the main bank."""
        if self.learn and ("bank", MAIN) in self.state:
            bank = self.hindsight.bank(MAIN)
            self.ids = {unit.text: unit.id for unit in bank.iterate_units()}
            self.entities = {name: entity.name for entity in bank.entities.list() for name in entity.names}

    def do(self, changes: Sequence[Change], operation: Callable[[], object]) -> None:
        """Announce changes, run the operation, and announce its end."""
        self.announce(changes)
        operation()
        self.announce(None)
        self.state = apply(self.state, changes)

    def fact(self) -> dict[str, Any]:
        """Return a fact with random words and a unique token; every second one has a date."""
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
        """Return a word that is in no other text."""
        self.made += 1
        return f"tok{self.number}x{self.made}{last}"

    def words(self, count: int) -> str:
        """Return `count` random words, of which two texts rarely share any."""
        return " ".join(self.rng.choice(WORDS) + str(self.rng.randrange(10_000)) for _ in range(count))

    def of(self, kind: str, bank: str = MAIN) -> list[Line]:
        """Return the lines of one kind in one bank, sorted."""
        return sorted(line for line in self.state if line[:2] == (kind, bank))

    def mentions(self, text: str) -> State:
        """Return the mentions of one unit."""
        return frozenset(line for line in self.of("mention") if line[2] == text)


def retaining(work: Work, facts: Sequence[dict[str, Any]]) -> Change:
    """Return the changes of a retain with these facts."""
    units = {("unit", MAIN, str(fact["what"])) for fact in facts}
    names = {(fact["what"], entity["text"]) for fact in facts for entity in fact["entities"]}
    mentions = {("mention", MAIN, text, work.entities.get(name.lower(), name)) for text, name in names}
    return Change(frozenset(units | mentions | {("bank", MAIN)}))


def messages(facts: Sequence[dict[str, Any]]) -> list[Message]:
    """Return one message for each fact."""
    return [Message(str(f["what"]), "user", "2024-06-01T12:00", id=f["sources"][0]) for f in facts]


def retain(work: Work) -> None:
    """Retain one to four facts in one call."""
    facts = [work.fact() for _ in range(work.rng.randrange(1, 5))]
    bank = work.hindsight.bank(MAIN)

    def retained() -> None:
        made = bank.retain(messages(facts), facts=facts, thread="talk").unit_ids
        work.ids |= dict(zip((str(fact["what"]) for fact in facts), made, strict=True))

    work.do([retaining(work, facts)], retained)


def retain_many(work: Work) -> None:
    """Retain nine items in commits of three; each item must be complete or absent."""
    groups = [[work.fact() for _ in range(2)] for _ in range(9)]
    items = [RetainItem(messages(facts), thread="talk", facts=facts) for facts in groups]
    work.do(
        [retaining(work, facts) for facts in groups],
        lambda: work.hindsight.bank(MAIN).retain_many(items, batch_size=3),
    )


def forget(work: Work) -> None:
    """Forget one memory, by its id or by a name that only its text contains, with the entities that only it mentions."""
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
    """Edit one memory's text, but keep its names."""
    old = work.rng.choice(sorted(work.ids))
    found, bank = work.ids.pop(old), work.hindsight.bank(MAIN)
    new = f"{old.split(' with ')[0]} with token {work.token('e')} visited {work.words(6)}"
    work.ids[new] = found
    lines = work.mentions(old)
    adds = {("mention", MAIN, new, line[3]) for line in lines} | {("unit", MAIN, new)}
    change = Change(frozenset(adds), lines | {("unit", MAIN, old)})
    work.do([change], lambda: bank.edit(found, text=new))


def merge(work: Work) -> None:
    """Merge two entities, and split them again."""
    names = sorted({line[3] for line in work.of("mention")} - {GUILD})
    keep, gone = work.rng.sample(names, 2)
    old = frozenset(line for line in work.of("mention") if line[3] == gone)
    new = frozenset((*line[:3], keep) for line in old)
    entities = work.hindsight.bank(MAIN).entities
    work.do([Change(new, old)], lambda: entities.merge(keep, gone))
    work.do([Change(old, new)], lambda: entities.undo(entities.changes()[-1].id))


def document(work: Work) -> None:
    """Replace a document's text; statements that only the old text contained are invalidated."""
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
    """Recompute all banks' vectors with the engine's embedder."""
    for name in work.hindsight.banks():
        bank = work.hindsight.bank(name)
        work.do([Change()], bank.maintenance.reindex)


def load(work: Work, archive: Path) -> None:
    """Import the archive of the main bank into a new bank."""
    # no name may be a prefix of another, because files are searched for names
    name = f"crash/import {work.number}x{work.made:04}"
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
    """Forget a whole bank."""
    lines = frozenset(line for line in work.state if line[1] == name)
    work.do([Change(removes=lines, erased=(name,))], lambda: work.hindsight.forget_bank(name))


def filled(work: Work) -> None:
    """Fill the main bank."""
    while len(work.of("unit")) < FILLED:
        retain(work)


def trimmed(work: Work) -> None:
    """Replace a large main bank, because the time of a round's checks grows with its size."""
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
    """Create what a kind of operation needs before it is killed."""
    if kind is Kind.REINDEX:  # no other operation works with another embedder
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
    """Repeat operations of one kind forever; yield after each."""
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
    """Open, read every bank and close, forever; delete the indexes each time if the kind requires it."""
    while True:
        if kind is Kind.OPEN_WITHOUT_INDEXES:
            delete_indexes(folder)
        with open_memory(folder, keywords, embedder) as hindsight:
            for name in hindsight.banks():
                hindsight.bank(name).recall("harbor")
