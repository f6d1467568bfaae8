"""A LoCoMo conversation through the shipped extraction prompt, written as a file of facts for `locomo_retrieval.py --facts`.

    python benchmarks/locomo_extract.py --data DIR/conv-26.json --out FOLDER --answers FOLDER
    python benchmarks/locomo_extract.py --data DIR/conv-26.json --out FOLDER --base-url URL [--model NAME] [--record FOLDER]

The sessions are retained one after the other, so that the memories shown with one come from those before it. What the
model answered goes into `FOLDER/conv-26.jsonl`, one line a session: its facts after screening, causal indexes counted
within the session. Where a fact ends a memory it was shown, it says so as a statement (`invalidates`), since the number
means nothing without the list. For answers from a folder see `memora_model.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from extraction.kept import as_facts, kept_extractions, unusable
from extraction.model import add_model_arguments, model_of, named_missing, with_model_options
from locomo.dataset import Conversation, load_conversation

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank


def main(arguments: Sequence[str]) -> None:
    """Extract one conversation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a conv-*.json")
    parser.add_argument("--out", type=Path, required=True, help="folder for the facts")
    add_model_arguments(parser)
    options = parser.parse_args(arguments)
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
    """The line of each session, those without an answer left out."""
    for session in conversation.sessions:
        place = f"session {session.number}"
        with named_missing(place, go_on=go_on), kept_extractions() as kept:
            bank.retain(session.messages, thread=conversation.name)
            texts = {unit: bank.get(unit).text for each in kept for units in each.shown for unit in units}
            for dropped in (each for extraction in kept for each in unusable(extraction)):
                print(f"{place}: not kept: {dropped.what!r} ({dropped.reason})", file=sys.stderr)
            yield {
                "conversation": conversation.name,
                "session": session.number,
                "session_date": session.moment.isoformat(),
                "facts": [fact for extraction in kept for fact in as_facts(extraction, texts)],
            }


if __name__ == "__main__":
    main(sys.argv[1:])
