"""What a bank holds as true after a Memora week, against the week's ground truth (Memora section 3.5).

    python benchmarks/memora_state.py --data DIR --facts DIR

A value is present if a valid unit whose sources lie in its add or update session contains its tokens (all numbers, two
thirds of the words: extraction paraphrases), and nothing beside that unit takes just this value back. It is absent
otherwise. Documents are scored per field and list element. Every miss is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from memora.bank import LIGHT, all_units, fill, held
from memora.state import report_state, report_withdrawals

from hindsight_integrations import Hindsight, HindsightConfig


def main(arguments: Sequence[str]) -> None:
    """Run one week."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of Memora weeks")
    parser.add_argument("--facts", type=Path, help="folder of extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    parser.add_argument("--verbatim", action="store_true", help="no extracted facts: messages as they stand")
    parser.add_argument("--light", action="store_true", help="numpy and FTS5 instead of Chroma and Lucene")
    given = parser.parse_args(arguments)
    if not given.verbatim and given.facts is None:
        parser.error("name --facts, or ask for --verbatim")
    sessions = json.loads((given.data / f"{given.name}.json").read_text(encoding="utf-8"))["sessions"]
    config = HindsightConfig(storage=LIGHT) if given.light else HindsightConfig()
    with Hindsight.open(":memory:", reranker=None, config=config) as engine:
        bank = engine.bank("memora")
        results = fill(bank, sessions, None if given.verbatim else given.facts / f"{given.name}.jsonl")
        numbers = [session["session_id"] for session in sessions]
        texts = {unit.id: unit.text for unit in all_units(bank)}
        report_withdrawals(zip(numbers, results, strict=True), texts)
        report_state(sessions, held(bank), verbatim=given.verbatim)


if __name__ == "__main__":
    main(sys.argv[1:])
