"""The demo on your own conversation: retain it in a fresh memory and answer five of its questions by recall."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from hindsight_integrations import Channel, Hindsight, MemoryBank
from hindsight_integrations.cli.conversations import Conversation
from hindsight_integrations.cli.show import LETTERS, show_recalled

TOKENS = 512


def run_conversation(conversation: Conversation, console: Console) -> None:
    """Retain every session, ask every question, and show which channels contributed."""
    with (
        tempfile.TemporaryDirectory(prefix="hindsight-demo-") as folder,
        Hindsight.open(Path(folder)) as hindsight,
    ):
        bank = hindsight.bank("demo")
        console.print(f"[bold]{escape(conversation.name)}[/bold], {len(conversation.sessions)} sessions")
        _retain(conversation, bank, console)
        for role, name in hindsight.doctor().backends.items():
            console.print(f"  {role}: {escape(name)}", style="dim")
        tally = _ask(conversation, bank, console)
    shares = ", ".join(f"{LETTERS[channel]} {tally[channel]}" for channel in Channel)
    console.print(f"\nMemories shown, by channel that found them: {shares}")


def _retain(conversation: Conversation, bank: MemoryBank, console: Console) -> None:
    started = time.perf_counter()
    created = 0
    for session in track(conversation.sessions, description="retaining", console=console):
        created += bank.retain(session.messages, facts=session.facts, thread=conversation.name).created
    console.print(f"{created} memories in {time.perf_counter() - started:.1f} s")


def _ask(conversation: Conversation, bank: MemoryBank, console: Console) -> Counter[Channel]:
    tally: Counter[Channel] = Counter()
    for question in conversation.questions:
        started = time.perf_counter()
        found = bank.recall(question, max_tokens=TOKENS, query_timestamp=conversation.query_time)
        spent = (time.perf_counter() - started) * 1000
        console.print(f"\n[bold]{escape(question)}[/bold]  ({spent:.0f} ms, {found.tokens} tokens)")
        show_recalled(found, console)
        tally.update(channel for item in found.units for channel in item.channels)
    return tally
