"""Sum, mean, count and goal questions over a week of Memora, answered by `bank.records`.

    python benchmarks/memora_records.py --data DIR --facts DIR [--name weekly-software_engineer]

Every session is retained with its extracted facts; then each question, and each sort of expense, is answered by
exhaustive access and compared with the ground truth of the data set, which the memory never sees. Exits with 1 if the
answer to a question is not exact.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from memora.bank import fill
from memora.totals import category_totals, goals_met, question_totals

from hindsight_integrations import Hindsight


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the Memora files")
    parser.add_argument("--facts", type=Path, required=True, help="folder with the extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    options = parser.parse_args()
    week = json.loads((options.data / f"{options.name}.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, Hindsight.open(folder, reranker=None) as hindsight:
        bank = hindsight.bank("week")
        fill(bank, week["sessions"], options.facts / f"{options.name}.jsonl")
        asked = question_totals(bank, week)
        print(*asked, *goals_met(bank, week), sep="\n")
        print("\nby kind and category:", *category_totals(bank, week), sep="\n")
    return 0 if all(total.exact for total in asked) else 1


if __name__ == "__main__":
    sys.exit(main())
