"""Build the memory on which the inspector's figures are measured: 10,000 memories from LoCoMo's conversations.

    python tests/inspector/locomo_memory.py LOCOMO EXTRACTED PATH

LOCOMO is a folder of LoCoMo's conversations, EXTRACTED a folder of the facts extracted from them (`docs/evals.md`). The facts are
retained once; the turns are retained verbatim, retold in other years under other names until there are 10,000 memories. Opinions
are formed early, so that the facts told later are evidence.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))

from opinionated_banks import Agent, assessing

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RetainItem
from hindsight_integrations.config import ObservationConfig, OpinionConfig

WANTED = 10_000
NAMES = [
    "Ada",
    "Bela",
    "Cleo",
    "Dora",
    "Edda",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Karla",
    "Leo",
    "Mara",
    "Nils",
    "Olga",
    "Paul",
    "Rosa",
    "Sven",
    "Tilda",
    "Uma",
]
OPINIONS = {
    "Caroline": "Caroline will be a good counselor, because she listens with empathy.",
    "Melanie": "Melanie is at her best when she paints, because it calms her.",
    "Jon": "Jon's dance studio will succeed, because he does not give up.",
    "Gina": "Gina has an eye for fashion, because customers come back to her store.",
    "Maria": "Maria is happiest when she volunteers, because she says so herself.",
    "Nate": "Nate could live from gaming, because he keeps winning tournaments.",
}
FOR, AGAINST = (
    re.compile(r"proud|love|great|win|won|success|happy|calm|support"),
    re.compile(r"lost|lose|sad|hard|setback|fail|stress|tired"),
)


def verdict(_: str, fact: str) -> tuple[str, str]:
    """Assess a fact by its words, as a model would by its meaning."""
    strength = "strong" if len(fact) > 250 else "mild"
    if AGAINST.search(fact):
        return ("weaken" if strength == "mild" else "contradict"), strength
    return ("reinforce", strength) if FOR.search(fact) else ("neutral", strength)


def sessions(file: Path) -> Iterator[tuple[int, datetime, list[dict[str, Any]]]]:
    conversation = json.loads(file.read_text())["conversation"]
    for number in count(1):
        if f"session_{number}_date_time" not in conversation:
            return
        written = conversation[f"session_{number}_date_time"]
        at = datetime.strptime(f"{written} +0000", "%I:%M %p on %d %B, %Y %z")
        turns = conversation.get(f"session_{number}") or []
        yield number, at, [{"id": t["dia_id"], "speaker": t["speaker"], "text": t["text"]} for t in turns]


def messages(
    turns: list[dict[str, Any]], at: datetime, names: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    renamed = names or {}

    def said(text: str) -> str:
        return re.sub(r"\b(" + "|".join(renamed) + r")\b", lambda m: renamed[m[1]], text) if renamed else text

    return [
        {
            "id": turn["id"],
            "name": said(turn["speaker"]),
            "content": said(turn["text"]),
            "timestamp": at + timedelta(seconds=20 * place),
        }
        for place, turn in enumerate(turns)
    ]


def told_facts(locomo: Path, extracted: Path) -> Iterator[RetainItem]:
    for file in sorted(extracted.glob("conv-*.jsonl")):
        by_session = {row["session"]: row["facts"] for row in map(json.loads, file.open())}
        for number, at, turns in sessions(locomo / f"{file.stem}.json"):
            facts = [
                {key: value for key, value in fact.items() if key != "changes"}
                for fact in by_session.get(number, ())
            ]
            if facts and turns:
                # Without tags, because tagged facts are not evidence for an untagged opinion.
                yield RetainItem(messages(turns, at), file.stem, facts=facts)


def expenses(extracted: Path) -> Iterator[RetainItem]:
    """Records: the extracted ones, and daily expenses over a year, since LoCoMo has few figures."""
    for row in map(json.loads, (extracted / "weekly-software_engineer.jsonl").open()):
        sources = sorted({source for fact in row["facts"] for source in fact["sources"]})
        told = [
            {"id": source, "content": f"(turn {source})", "timestamp": row["session_date"]}
            for source in sources
        ]
        facts = [{key: value for key, value in fact.items() if key != "changes"} for fact in row["facts"]]
        if told and facts:
            yield RetainItem(told, "assistant", facts=facts, tags=("work",))
    begin = datetime.fromisoformat("2023-01-02T08:00+00:00")
    kinds = [
        ("coffee", 3.4, 1),
        ("groceries", 41.2, 4),
        ("books", 18.0, 11),
        ("train", 27.5, 6),
        ("rent", 940.0, 30),
    ]
    for day in range(364):
        at = begin + timedelta(days=day)
        facts = [
            {
                "what": f"User spent {price + (day * 7 % 5) / 2:.2f} EUR on {what}.",
                "occurred_start": f"{at:%Y-%m-%d}", "occurred_end": f"{at:%Y-%m-%d}", "sources": [f"e{day}"],
                "entities": [{"text": "User", "type": "PERSON"}],
                "records": [{"kind": "expense", "value": f"{price + (day * 7 % 5) / 2:.2f}", "unit": "EUR", "category": what}],
            }
            for what, price, every in kinds
            if day % every == 0
        ]  # fmt: skip
        yield RetainItem(
            [{"id": f"e{day}", "content": "Paid again.", "timestamp": at}],
            "expenses",
            facts=facts,
            tags=("money",),
        )


def retold(locomo: Path) -> Iterator[RetainItem]:
    for years in count(0):
        for place, file in enumerate(sorted(locomo.glob("conv-*.json"))):
            speakers = list(dict.fromkeys(t["speaker"] for _, _, turns in sessions(file) for t in turns))
            new = [NAMES[(10 * years + 2 * place + at) % len(NAMES)] for at in range(2)]
            names = dict(zip(speakers, new, strict=True)) if years else {}
            for _, at, turns in sessions(file):
                if turns:
                    shifted = at - timedelta(days=371 * years)
                    yield RetainItem(
                        messages(turns, shifted, names), f"{file.stem}-{years}", tags=("verbatim",)
                    )


def tell(bank: MemoryBank, locomo: Path, extracted: Path) -> None:
    """Retain opinions and then facts, which are evidence for and against them."""
    for name, opinion in OPINIONS.items():
        bank.retain(
            [{"id": f"o-{name}", "role": "assistant", "content": opinion, "timestamp": "2022-01-15T12:00:00Z"}],
            thread="opinions",
            facts=[{"what": opinion, "fact_type": "opinion", "confidence": 0.6, "sources": [f"o-{name}"],
                    "entities": [{"text": name, "type": "PERSON"}]}],
        )  # fmt: skip
    bank.tasks.settle()
    bank.retain_many(list(told_facts(locomo, extracted)))
    bank.tasks.settle()
    bank.retain_many(list(expenses(extracted)))


def main() -> None:
    locomo, extracted, path = map(Path, sys.argv[1:4])
    config = HindsightConfig(observations=ObservationConfig("off"), opinions=OpinionConfig(delay_s=0.0))
    agent = Agent({"assess_evidence": assessing(verdict)})
    with Hindsight.open(path, model=agent, config=config) as hindsight:
        tell(hindsight.bank("locomo"), locomo, extracted)
    with Hindsight.open(path, config=config) as hindsight:  # without a model, messages are stored verbatim
        bank = hindsight.bank("locomo")
        for item in retold(locomo):
            if bank.count() >= WANTED:
                break
            bank.retain_many([item])
        print(f"{bank.count():,} memories, {len(bank.records.list())} records")  # noqa: T201


if __name__ == "__main__":
    main()
