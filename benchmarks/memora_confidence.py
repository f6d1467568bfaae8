"""Whether recall trusts itself on Memora weeks: `RecallResult.confidence` of their questions, and of questions nobody can answer.

    python benchmarks/memora_confidence.py --data DIR [--facts DIR] [--names weekly-content_writer,...] [--reranked]

Every session is retained, with extracted facts where there are some, else word for word. All questions of a week have an
answer in it; they are asked as an agent's node asks them, but for everything. The others are every fifth of
locomo/never_mentioned.txt. Printed are the quartiles of confidence, and the share from 0.5 on, by kind of question.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
from memora.bank import LIGHT, fill

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.verb_options import SHOWN

NODE = {"budget": "low", **SHOWN, "relevance": "all"}  # as a recall node, but that nothing is held back
UNHEARD = Path(__file__).parent / "locomo" / "never_mentioned.txt"
NAMES = "weekly-academic_researcher,weekly-business_executive,weekly-content_writer,weekly-creative_designer"


def confidences(week: dict[str, Any], facts: Path | None, *, reranked: bool) -> Iterator[tuple[str, float]]:
    """The kind of each question and the confidence of what was recalled for it."""
    options: dict[str, Any] = {} if reranked else {"reranker": None}
    config = HindsightConfig(storage=LIGHT, week_starts="sunday")
    last = max(session["date"] for session in week["sessions"])[:10]
    asked = [
        (kind, question["question"], question.get("question_date", last)[:10])
        for kind, questions in week["evaluation"]["questions"].items()
        for question in questions
    ]
    asked += [("unheard of", text, last) for text in UNHEARD.read_text(encoding="utf-8").splitlines()[::5]]
    with Hindsight.open(":memory:", config=config, **options) as engine:
        bank = engine.bank("week")
        fill(bank, week["sessions"], facts)
        for kind, text, day in asked:
            evening = datetime.combine(date.fromisoformat(day), time(23, 59), UTC)
            yield kind, bank.recall(text, query_timestamp=evening, **NODE).confidence


def main() -> None:
    """Print a line for each kind of question."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the Memora files")
    parser.add_argument(
        "--facts", type=Path, help="folder with extracted facts; other weeks are kept word for word"
    )
    parser.add_argument("--names", default=NAMES, help="comma-separated")
    parser.add_argument("--reranked", action="store_true", help="with the default reranker")
    options = parser.parse_args()
    found: dict[str, list[float]] = {}
    for name in options.names.split(","):
        facts = options.facts / f"{name}.jsonl" if options.facts else None
        week = json.loads((options.data / f"{name}.json").read_text(encoding="utf-8"))
        given = facts if facts and facts.is_file() else None
        for kind, confidence in confidences(week, given, reranked=options.reranked):
            found.setdefault(kind, []).append(confidence)
    print(f"{'questions':16}    n   25 %  50 %  75 %   from 0.5 on")
    for kind, values in found.items():
        quartiles = "  ".join(f"{value:.2f}" for value in np.quantile(values, (0.25, 0.5, 0.75)))
        print(f"{kind:16} {len(values):4}   {quartiles}   {sum(value >= 0.5 for value in values)}")


if __name__ == "__main__":
    main()
