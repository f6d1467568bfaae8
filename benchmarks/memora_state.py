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
from typing import Any

from memora.bank import Held, all_units, fill, held
from memora.truth import Value, contains, final_state

from hindsight_integrations import FactType, Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)


def present(value: Value, units: Sequence[Held], *, keep_titles: bool) -> bool:
    """Whether the bank holds a value as true."""
    return any(
        unit.sessions & value.sessions
        and contains(unit.text, value)
        and (
            (keep_titles and value.names_document)
            or not any(contains(statement, value) for statement in unit.withdrawn)
        )
        for unit in units
    )


def report(values: Sequence[Value], units: Sequence[Held], *, keep_titles: bool) -> None:
    """Print presence, absence and every miss."""
    for name, wanted in (("presence", True), ("absence", False)):
        asked = [value for value in values if value.held is wanted]
        misses = [value for value in asked if present(value, units, keep_titles=keep_titles) is not wanted]
        right = len(asked) - len(misses)
        sys.stdout.write(f"{name}: {right}/{len(asked)} = {100 * right / max(len(asked), 1):.1f} %\n")
        for value in misses:
            sys.stdout.write(f"  miss: {' / '.join(value.key)}  (sessions {sorted(value.sessions)})\n")


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
        texts = {unit.id: unit.text for unit in all_units(bank)}
        for number, result in zip((session["session_id"] for session in sessions), results, strict=True):
            for kind in ("closed", "amended"):
                for done in getattr(result, kind):
                    sys.stdout.write(
                        f"S{number} {kind} {done.score:.2f} «{done.statement}»\n     {texts[done.unit_id][:150]}\n"
                    )
            for doubt in result.ambiguous:
                sys.stdout.write(f"S{number} ambiguous {doubt.score:.2f} «{doubt.statement}»\n")
                for unit in doubt.candidates:
                    sys.stdout.write(f"     {texts[unit][:150]}\n")
        _report_all(sessions, held(bank), verbatim=given.verbatim)


def _report_all(sessions: list[dict[str, Any]], units: Sequence[Held], *, verbatim: bool) -> None:
    """Every word of the ground truth counted, then without what no conversation said; in verbatim mode also the user alone."""
    for name, said_only in (("all tokens of the details", False), ("tokens the conversations say", True)):
        values = final_state(sessions, said_only=said_only)
        sys.stdout.write(f"\n{name}\n")
        report(values, units, keep_titles=said_only)
        if verbatim:
            sys.stdout.write(f"{name}, the user's own messages only (the assistant echoes the same words)\n")
            own = [unit for unit in units if unit.fact_type is FactType.WORLD]
            report(values, own, keep_titles=said_only)


if __name__ == "__main__":
    main(sys.argv[1:])
