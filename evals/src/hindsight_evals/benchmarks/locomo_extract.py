"""Extract a LoCoMo conversation with the shipped prompt, and write its facts for `locomo_retrieval --facts`.

    hindsight-evals bench locomo_extract --data DIR/conv-26.json --out FOLDER --answers FOLDER
    hindsight-evals bench locomo_extract --data DIR/conv-26.json --out FOLDER --base-url URL [--model NAME] [--record FOLDER]

The sessions are retained in order, so that the memories shown with each come from earlier ones. The screened
facts go into `FOLDER/conv-26.jsonl`, one line for each session, with causal indexes that count within the
session. A number of a shown memory would mean nothing without the list, so a fact that ends a memory contains
that memory's text (`invalidates`), and a fact that ends part of one names the source turns (`changes`). For
answers from a folder see `memora_model`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hindsight_evals.benchmarks.extraction.model import (
    add_model_arguments,
    model_of,
    named_missing,
    with_model_options,
)
from hindsight_evals.benchmarks.locomo.dataset import Conversation, load_conversation
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, MemoryUnit
from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.retain.extraction import Extraction, LLMExtractor


@contextmanager
def kept_extractions() -> Iterator[list[Extraction]]:
    """Yield a list to which every extraction within the block is added."""
    kept: list[Extraction] = []
    extract = LLMExtractor.extract

    async def keeping(self: LLMExtractor, passages: Sequence[Passage]) -> Extraction:
        extraction = await extract(self, passages)
        kept.append(extraction)
        return extraction

    with patch.object(LLMExtractor, "extract", keeping):
        yield kept


def as_facts(extraction: Extraction, memories: Mapping[str, MemoryUnit]) -> list[dict[str, Any]]:
    """Return one list of facts, with causal indexes that count within it.

    Args:
        extraction: of one conversation.
        memories: the memories shown to the model, by id.
    """
    facts: list[dict[str, Any]] = []
    for chunk, found in enumerate(extraction.chunks):
        shown = extraction.shown[chunk] if extraction.shown else ()
        before = len(facts)
        for fact in found:
            written = fact.model_dump(mode="json", exclude={"changes"})
            named = [(memories[shown[each.memory - 1]], each) for each in fact.changes if each.memory]
            written["invalidates"] += [
                unit.text for unit, each in named if each.change is not MemoryChange.REMOVES
            ]
            written["changes"] = [
                {"sources": list(unit.sources), "change": each.change, "items": each.items}
                for unit, each in named
                if each.change is MemoryChange.REMOVES
            ]
            for claim in written["causal_relations"]:
                claim["target_fact_index"] += before
            facts.append(written)
    return facts


def unusable(extraction: Extraction) -> list[Dropped]:
    """Return the dropped facts and the passages that wait."""
    waiting = (Dropped(f"passage {each.chunk}", each.reason) for each in extraction.waiting)
    return [*extraction.dropped, *waiting]


def main(argv: Sequence[str] | None = None) -> None:
    """Extract one conversation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a conv-*.json")
    parser.add_argument("--out", type=Path, required=True, help="folder for the facts")
    add_model_arguments(parser)
    options = parser.parse_args(argv)
    model = model_of(options, parser)
    conversation = load_conversation(options.data)
    config = with_model_options(HindsightConfig(), options)
    with Hindsight.open(":memory:", model=model, reranker=None, config=config) as engine:
        bank = engine.bank(conversation.name)
        lines = list(extracted(bank, conversation, go_on=options.go_on))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{conversation.name}.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    facts = sum(len(line["facts"]) for line in lines)
    print(f"{facts} facts of {len(lines)} of {len(conversation.sessions)} sessions in {path}")
    print(*model.report(), sep="\n")


def extracted(bank: MemoryBank, conversation: Conversation, *, go_on: bool) -> Iterator[dict[str, Any]]:
    """Yield the line of each session that has an answer."""
    for session in conversation.sessions:
        place = f"session {session.number}"
        with named_missing(place, go_on=go_on), kept_extractions() as kept:
            bank.retain(session.messages, thread=conversation.name)
            memories = {unit: bank.get(unit) for each in kept for units in each.shown for unit in units}
            for dropped in (each for extraction in kept for each in unusable(extraction)):
                print(f"{place}: not kept: {dropped.what!r} ({dropped.reason})", file=sys.stderr)
            yield {
                "conversation": conversation.name,
                "session": session.number,
                "session_date": session.moment.isoformat(),
                "facts": [fact for extraction in kept for fact in as_facts(extraction, memories)],
            }


if __name__ == "__main__":
    main()
