"""The demo on a LoCoMo conversation: retain it in a fresh memory and answer five of its questions by recall."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.progress import track

from hindsight_integrations import Channel, Hindsight, InvalidRequest, MemoryBank, Message
from hindsight_integrations.cli.importing import Format, read_source
from hindsight_integrations.cli.show import LETTERS, plain, show_recalled
from hindsight_integrations.model.display import count

TOKENS = 512
QUESTIONS = 5


def run_conversation(path: Path, console: Console) -> None:
    """Retain every session of a LoCoMo file, ask questions, and show which channels contributed.

    Raises:
        InvalidRequest: the file cannot be read as one.
    """
    sessions, questions = _read(path)
    asked_at = max(message.timestamp for session in sessions for message in session)  # type: ignore[type-var] # datetimes
    with (
        tempfile.TemporaryDirectory(prefix="hindsight-demo-") as folder,
        Hindsight.open(Path(folder)) as hindsight,
    ):
        bank = hindsight.bank("demo")
        console.print(plain(path.stem, "bold"), count(len(sessions), "session"))
        started, created = time.perf_counter(), 0
        for session in track(sessions, description="retaining", console=console):
            created += bank.retain(session, thread=path.stem).created
        console.print(f"{count(created, 'memory', 'memories')} in {time.perf_counter() - started:.1f} s")
        for role, name in hindsight.doctor().backends.items():
            console.print(plain(f"  {role}: {name}", "dim"))
        tally = _ask(questions, asked_at, bank, console)  # type: ignore[arg-type] # a datetime
    shares = ", ".join(f"{LETTERS[channel]} {tally[channel]}" for channel in Channel)
    console.print(f"\nMemories shown, by channel that found them: {shares}")


def _read(path: Path) -> tuple[list[list[Message]], list[str]]:
    """The sessions, each of the turns of a day, and at most five questions that the conversation answers."""
    try:
        data = path.read_bytes()
        (thread,) = read_source(data, str(path), forced=Format.LOCOMO).threads
        asked = json.loads(data)["qa"]
        questions = [item["question"] for item in asked if item.get("evidence") and item["category"] != 5]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{path} cannot be read ({error})"
        raise InvalidRequest("data", problem, "Pass a LoCoMo conversation file.") from error
    days = groupby(thread.messages, lambda message: str(message.timestamp)[:10])
    step = max(1, len(questions) // QUESTIONS)
    return [list(session) for _, session in days], questions[::step][:QUESTIONS]


def _ask(
    questions: Sequence[str], asked_at: datetime, bank: MemoryBank, console: Console
) -> Counter[Channel]:
    tally: Counter[Channel] = Counter()
    for question in questions:
        started = time.perf_counter()
        found = bank.recall(question, max_tokens=TOKENS, query_timestamp=asked_at)
        spent = (time.perf_counter() - started) * 1000
        console.print(
            plain(f"\n{question}", "bold").append(f"  ({spent:.0f} ms, {found.tokens} tokens)", "not bold")
        )
        show_recalled(found, console)
        tally.update(channel for item in found for channel in item.channels)
    return tally
