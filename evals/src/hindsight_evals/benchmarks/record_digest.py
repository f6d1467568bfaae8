"""Whether the record digest contains the figure that a question asks for, and nothing if it asks for none.

    hindsight-evals bench record_digest [--set worked_on] [--show]

Each set (`hindsight_evals/digest/`) contains one person's records, and 60 or 120 questions by an author who had not
seen the code; half of the questions have no answer in the records. All records are retained with their sentences, and
each question is asked with `bank.recall(include_records=True)`. A figure is right if the digest contains it, for its
category, unit and time, within the first 150 tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from typing import Any

from hindsight_evals.benchmarks.memora.bank import LIGHT
from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.config import HindsightConfig
from hindsight_integrations.language.units import canonical_unit
from hindsight_integrations.model.record_digest import DayValue, Figures, RecordDigest
from hindsight_integrations.models.tokens import TiktokenCounter

LIMIT = 150  # number of tokens within which the figure must appear
ZONE = "Europe/Vienna"
Row = dict[str, Any]


def fill(bank: MemoryBank, records: Sequence[Row]) -> None:
    """Retain each record's sentence, on its own day."""
    for number, row in enumerate(records):
        fact: Row = {"what": row["text"], "fact_type": "world", "sources": [f"m{number}"]}
        if row["kind"] not in ("goal", "preference", "task"):
            fact |= {"occurred_start": row["date"], "occurred_end": row["date"]}
        if row["category"] or row["kind"] != "quantity":
            given = row["value"] is not None
            fact["record"] = {
                "kind": row["kind"],
                "value": row["value"] if given else row["text"],
                "unit": row["unit"] or "",
                "category": row["category"] or "",
            }
        said = {"role": "user", "content": row["text"], "id": f"m{number}"}
        bank.retain([said], timestamp=f"{row['date']}T12:00", thread=row["date"], facts=[fact])


def verdict(row: Row, digests: Sequence[RecordDigest], today: date, counter: Words) -> str:
    """Return right, missed, elsewhere (other figures only), quiet (rightly none) or unasked (wrongly some)."""
    if row.get("figure") is None:
        return "unasked" if digests else "quiet"
    for digest in digests:
        if row["category"] not in digest.categories:
            continue
        for figures in digest.figures:
            if _of_time(figures, row, today) and _written(row, figures, digest, counter):
                return "right"
    return "elsewhere" if digests else "missed"


def _of_time(figures: Figures, row: Row, today: date) -> bool:
    if "from" not in row or figures.days is None:
        return "from" not in row and figures.days is None
    first, last = date.fromisoformat(row["from"]), date.fromisoformat(row["to"])
    return figures.days[0] == first and (figures.days[1] == last or figures.days[1] > last == today)


def _written(row: Row, figures: Figures, digest: RecordDigest, counter: Words) -> bool:
    wanted = Decimal(row["figure"])
    if row["unit"] == "times":
        return figures.count == wanted
    if canonical_unit(row["unit"]) != figures.unit:
        return False
    cents = Decimal("0.01")
    same = [
        value for value in _values(figures) if value.quantize(cents, ROUND_HALF_UP) == wanted.quantize(cents)
    ]
    text = counter.truncate(digest.heading, LIMIT)
    plain = f"{wanted.normalize():f}"
    return bool(same) and (plain in text or row["figure"] in text)


def _values(figures: Figures) -> Iterator[Decimal]:
    for found in (figures.total, figures.mean, figures.per_day):
        if found is not None:
            yield found
    for dated in (figures.smallest, figures.largest, figures.latest, figures.most):
        if isinstance(dated, DayValue) and isinstance(dated.value, Decimal):
            yield dated.value


def measured(name: str) -> list[tuple[Row, str, Sequence[RecordDigest]]]:
    """Return every question of a set with its verdict and its digests."""
    given = json.loads(files("hindsight_evals.digest").joinpath(f"{name}.json").read_text(encoding="utf-8"))
    config = HindsightConfig(storage=LIGHT, languages=("en", "de", "es"), time_zone=ZONE)
    today = date.fromisoformat(given["today"][:10])
    found: list[tuple[Row, str, Sequence[RecordDigest]]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, reranker=None, config=config) as hindsight,
    ):
        bank = hindsight.bank("records")
        fill(bank, given["records"])
        counter = Words()
        for row in given["questions"]:
            digests = bank.recall(
                row["question"], include_records=True, query_timestamp=given["today"]
            ).records
            found.append((row, verdict(row, digests, today, counter), digests))
    return found


class Words:
    """Truncates a text to a number of tokens."""

    def __init__(self) -> None:
        self._counter = TiktokenCounter()

    def truncate(self, text: str, most: int) -> str:
        """Return the longest prefix of a text, in whole characters, with at most this many tokens."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self._counter.count([text[:middle]])[0] <= most else (low, middle - 1)
            )
        return text[:low]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set", default="worked_on", choices=("worked_on", "worked_on_too", "worked_on_last", "held_out")
    )
    parser.add_argument("--show", action="store_true", help="print what did not come out as it should")
    options = parser.parse_args(argv)
    found = measured(options.set)
    counts = Counter(outcome for _, outcome, _ in found)
    for row, outcome, digests in found:
        if options.show and outcome not in ("right", "quiet"):
            wanted = {key: row[key] for key in ("figure", "unit", "category", "from", "to") if row.get(key)}
            print(f"{outcome:10} {row['language']} {row['question']}  {wanted or ''}")
            for digest in digests:
                print("           " + digest.heading.replace("\n", "\n           "))
    wants = sum(row.get("figure") is not None for row, _, _ in found)
    print(f"{options.set}: figures {counts['right']}/{wants}, nothing {counts['quiet']}/{len(found) - wants}")
    print(dict(sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
