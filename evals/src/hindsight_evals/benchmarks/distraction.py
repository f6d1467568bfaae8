"""Evidence that recall finds when the bank also contains ten times as much text by people with the same first names.

    hindsight-evals bench distraction --data LOCOMO --foreign MEMORA [--facts FACTS] [--times 10] [--out FOLDER]

All LoCoMo conversations are in one bank, and all their questions are asked with budgets of 512, 1,024 and
2,048 tokens. Then Memora's chats are added until there are ten times as many foreign turns as units: each
chat gets the names of the two speakers of a LoCoMo conversation and one of its dates, so that neither names
nor dates distinguish it. The same questions are asked again. With --facts, the conversations with extracted
facts are also measured with these, in a separate bank; foreign chats are turns there, too. Plain vector
search, BM25 and RRF rank the same units.

--out writes `alone.json` and `foreign.json`, for comparison with `locomo_table`:

    hindsight-evals bench locomo_table FOLDER/foreign.json --against bm25

LoCoMo: see `locomo_retrieval`. Memora is geniesinc/Memora (Apache-2.0).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hindsight_evals.benchmarks.locomo.ablation import Part, configured_without, parts, without
from hindsight_evals.benchmarks.locomo.baselines import Baselines, Corpus
from hindsight_evals.benchmarks.locomo.coverage import Mode, Outcome
from hindsight_evals.benchmarks.locomo.dataset import Conversation, Question, Session, load_conversation
from hindsight_evals.benchmarks.locomo.run import CACHE, Asking, Facts, Setup, retain_all
from hindsight_evals.benchmarks.locomo.table import all_tables
from hindsight_evals.benchmarks.locomo.unanswerable import speakers
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.memora import load_memora
from hindsight_evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RetainItem
from hindsight_integrations.model.requests import Message
from hindsight_integrations.models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.testing.doubles import HashEmbedder

BUDGETS = (512, 1024, 2048)  # tokens
AT_ONCE = 50  # foreign chats in one commit


@dataclass(frozen=True, slots=True)
class Corpora:
    """The contents of one bank: conversations, with their facts in the facts mode."""

    mode: Mode
    conversations: tuple[Conversation, ...]
    facts: Mapping[str, Facts]


SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class ForeignSession:
    """A Memora chat with the speakers' names of a LoCoMo conversation."""

    thread: str
    messages: tuple[Message, ...]


def told_apart(conversation: Conversation) -> Conversation:
    """Return the conversation with its name as a prefix of all turn ids, which makes "D1:1" unique in a bank of many."""
    name = conversation.name
    return replace(
        conversation,
        sessions=tuple(_session_told_apart(name, session) for session in conversation.sessions),
        questions=tuple(_question_told_apart(name, question) for question in conversation.questions),
    )


def facts_told_apart(name: str, facts: Facts) -> Facts:
    """Return the facts of a conversation with the prefixed turn ids of `told_apart`."""
    return {
        number: [
            fact.model_copy(update={"sources": [_turn(name, source) for source in fact.sources]})
            for fact in given
        ]
        for number, given in facts.items()
    }


def foreign_sessions(
    folder: Path, conversations: Sequence[Conversation], *, turns: int
) -> Iterator[ForeignSession]:
    """Yield renamed Memora chats until there are enough turns; the same ones in every run.

    The speakers of a chat get the names of a conversation's speakers, and the chat gets a date of that
    conversation.

    Args:
        folder: Memora's files, `<period>-<persona>.json`.
        conversations: the conversations with the speakers and dates.
        turns: the number of turns; fewer if the files contain fewer.
    """
    chance = Random(SEED)
    chats = [
        (f"{path.stem}/{chat.id}", chat.messages)
        for path in sorted(folder.glob("*.json"))
        for chat in load_memora(path).sessions
    ]
    chance.shuffle(chats)
    for name, messages in chats:
        if turns <= 0:
            return
        conversation = chance.choice(conversations)
        said_on = chance.choice(conversation.sessions)
        names = dict(
            zip(dict.fromkeys(each.speaker for each in messages), _pair(conversation, chance), strict=False)
        )
        revoiced = tuple(
            _revoiced(said, said_on, names, place) for place, said in enumerate(messages[:turns])
        )
        turns -= len(revoiced)
        yield ForeignSession(name, tuple(replace(each, id=f"{name}/{each.id}") for each in revoiced))


def _pair(conversation: Conversation, chance: Random) -> list[str]:
    return chance.sample(speakers(conversation), k=2)


def _revoiced(said: Message, on: Session, names: Mapping[str, str], place: int) -> Message:
    """Return a message under another name, with the time of the place-th turn of another session."""
    moment = on.messages[min(place, len(on.messages) - 1)].timestamp
    return replace(said, speaker=names[said.speaker], timestamp=moment, role=None)


def _session_told_apart(name: str, session: Session) -> Session:
    messages = tuple(replace(message, id=_turn(name, message.id or "")) for message in session.messages)
    return replace(session, messages=messages)


def _question_told_apart(name: str, question: Question) -> Question:
    renamed = frozenset(_turn(name, turn) for turn in question.evidence)
    audited = question.audited and frozenset(_turn(name, turn) for turn in question.audited)
    return replace(question, evidence=renamed, audited=audited)


def _turn(name: str, turn: str) -> str:
    return f"{name}/{turn}"


def main(argv: Sequence[str] | None = None) -> None:
    """Ask the questions without and with foreign turns; print and write the results."""
    options = _parser().parse_args(argv)
    conversations = [told_apart(load_conversation(path)) for path in sorted(options.data.glob("conv-*.json"))]
    if not conversations:
        sys.exit(f"no conv-*.json in {options.data}")
    alone: list[Outcome] = []
    among: list[Outcome] = []
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        setup = _setup(options, cache)
        for corpora in _corpora(conversations, options):
            with without(options.without), _bank(corpora, setup) as (folder, bank):
                corpus = Corpus.read(folder, bank.name)
                alone += _asked(corpora, bank, corpus, setup)
                chats = foreign_sessions(
                    options.foreign,
                    corpora.conversations,
                    turns=round(options.times * len(corpus.units)),
                )
                _retain(bank, list(chats))
                among += _asked(corpora, bank, Corpus.read(folder, bank.name), setup)
    for name, outcomes in (("alone", alone), ("foreign", among)):
        print(f"## {name}\n\n{all_tables(outcomes)}\n")
        if options.out:
            _write(options.out / f"{name}.json", outcomes, setup, options.without)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add("--foreign", type=Path, required=True, help="folder of Memora's <period>-<persona>.json")
    add("--facts", type=Path, help="folder of conv-*.jsonl")
    add("--mode", type=Mode, choices=tuple(Mode), help="turns or facts; both by default")
    add("--without", type=parts, default=(), help=f"parts of ours to silence, of {', '.join(Part)}")
    add("--times", type=float, default=10.0, help="foreign turns for each unit of the bank")
    add("--limit", type=int, help="at most this many questions a conversation")
    add("--rerank", action="store_true", help="rerank ours, without a deadline")
    add("--cache", type=Path, default=CACHE, help="where vectors are kept")
    add("--embedder", choices=("default", "hash"), default="default", help="hash is a bag of words")
    add("--out", type=Path, help="write alone.json and foreign.json into this folder")
    return parser


def _setup(options: argparse.Namespace, cache: DiskCache) -> Setup:
    inner = OnnxEmbedder() if options.embedder == "default" else HashEmbedder()
    config = HindsightConfig()
    config = replace(config, recall=replace(config.recall, rerank_deadline_ms=math.inf))
    config = configured_without(config, options.without)
    reranker = CachedReranker(OnnxCrossEncoder(), cache) if options.rerank else None
    return Setup(CachedEmbedder(inner, cache), reranker, config, options.limit, BUDGETS)


def _corpora(conversations: Sequence[Conversation], options: argparse.Namespace) -> Iterator[Corpora]:
    """Yield the turns of all conversations, then the facts of those that have any."""
    if options.mode is not Mode.FACTS:
        yield Corpora(Mode.TURNS, tuple(conversations), {})
    if options.facts is None or options.mode is Mode.TURNS:
        return
    files = {each.name: options.facts / f"{each.name}.jsonl" for each in conversations}
    facts = {name: facts_told_apart(name, load_facts(file)) for name, file in files.items() if file.is_file()}
    if facts:
        yield Corpora(Mode.FACTS, tuple(each for each in conversations if each.name in facts), facts)


@contextmanager
def _bank(corpora: Corpora, setup: Setup) -> Iterator[tuple[Path, MemoryBank]]:
    """Create a bank with all conversations; yield its folder and the bank."""
    with (
        TemporaryDirectory(prefix="distraction-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            folder, embeddings=setup.embedder, reranker=setup.reranker, config=setup.config
        ) as hindsight,
    ):
        bank = hindsight.bank(f"all/{corpora.mode}")
        for conversation in corpora.conversations:
            retain_all(bank, conversation, corpora.facts.get(conversation.name))
        yield Path(folder), bank


def _retain(bank: MemoryBank, chats: Sequence[ForeignSession]) -> None:
    for start in range(0, len(chats), AT_ONCE):
        some = chats[start : start + AT_ONCE]
        bank.retain_many([RetainItem(chat.messages, thread=chat.thread) for chat in some])


def _asked(corpora: Corpora, bank: MemoryBank, corpus: Corpus, setup: Setup) -> list[Outcome]:
    """Ask every question of every conversation, with our recall and with the baselines over the bank's current units."""
    print(f"{corpora.mode}: {len(corpus.units)} units", file=sys.stderr)
    baselines = Baselines(corpus, depth=setup.depth)
    try:
        return [
            outcome
            for conversation in corpora.conversations
            for outcome in Asking(conversation, corpora.mode, bank, baselines, setup).all()
        ]
    finally:
        baselines.close()


def _write(path: Path, outcomes: Sequence[Outcome], setup: Setup, silenced: Sequence[Part]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    reranker = setup.reranker.name if setup.reranker else None
    rows = [outcome.as_json() for outcome in outcomes]
    written = {"reranker": reranker, "without": list(silenced), "outcomes": rows}
    path.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
