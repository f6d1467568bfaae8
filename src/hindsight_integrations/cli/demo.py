"""The demo: an assistant with memory in seven scenes, with recorded model answers."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TypeVar

from pydantic import BaseModel
from rich.console import Console
from rich.progress import track
from rich.text import Text

from hindsight_integrations.cli.importing import Format, read_source
from hindsight_integrations.cli.show import CHANNEL_NAMES, plain, show_recalled
from hindsight_integrations.config import HindsightConfig, ObservationConfig, RetainConfig
from hindsight_integrations.errors import InvalidRequest, ModelError
from hindsight_integrations.model.display import count
from hindsight_integrations.model.profile import BankProfile, Disposition
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import RecallResult, RetainResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.models.protocols import Completion, LanguageModel, Prompt
from hindsight_integrations.prompts.recalled import demo_prompt, memory_line
from hindsight_integrations.prompts.record_digest import DigestWords
from hindsight_integrations.sync import Hindsight, MemoryBank
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.recordings import MissingAnswer, RecordedModel

TOKENS = 512
QUESTIONS = 5


def run_conversation(path: Path, console: Console) -> None:
    """Retain every session of a LoCoMo file, recall for some of its questions, and show which channels contributed.

    Raises:
        InvalidRequest: the file is not a LoCoMo conversation.
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
    shares = ", ".join(f"{CHANNEL_NAMES[channel]} {tally[channel]}" for channel in Channel)
    console.print(f"\nMemories shown, by channel that found them: {shares}")


def _read(path: Path) -> tuple[list[list[Message]], list[str]]:
    """Return the sessions, one per day, and at most five questions that the conversation answers."""
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


T = TypeVar("T", bound=BaseModel)

WIDTH = 80
LABEL = 16  # width of a line's label in columns
USER = "Mira"
ASSISTANT = BankProfile(name="Nova", disposition=Disposition(skepticism=3, literalism=3, empathy=4))
REPLAY = "The language model's answers are recorded; nothing is sent anywhere."


class DemoOutOfDate(ModelError):
    """A scene's request has no recorded answer.

    Attributes:
        prompt: the prompt's name.
    """

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        super().__init__(
            f"the demo has no recorded answer to its last {prompt!r} request: the prompts or the recalled memories have changed "
            "since the recording. In a checkout, record it again with: python tests/support/demo_recordings.py"
        )


@dataclass
class MeteredModel:
    """A language model wrapper that counts calls and tokens.

    Attributes:
        model: the model that answers.
        prompts: the prompts, in order.
        tokens_in: prompt tokens.
        tokens_out: completion tokens.
        seconds: time spent waiting for the model's answers.
    """

    model: LanguageModel
    prompts: list[Prompt[BaseModel]] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Call the model, and count calls and tokens."""
        self.prompts.append(prompt)  # type: ignore[arg-type] # only read
        started = time.perf_counter()
        completion = await self.model.complete(prompt)
        self.seconds += time.perf_counter() - started
        self.tokens_in += completion.tokens_in
        self.tokens_out += completion.tokens_out
        return completion


def run_demo(console: Console) -> None:
    """Play all scenes on a new memory in a temporary directory.

    Raises:
        DemoOutOfDate: a request has no recorded answer.
    """
    with tempfile.TemporaryDirectory(prefix="hindsight-demo-") as folder:
        # A copy, because the model writes unrecorded requests to the directory.
        recordings = shutil.copytree(_recordings(), Path(folder) / "recordings")
        play(console, MeteredModel(RecordedModel(recordings)), Path(folder) / "memory")


def _recordings() -> Path:
    """Return the directory of the recordings: next to this module in a wheel, and `examples/data` in a checkout."""
    here = Path(__file__).resolve()
    places = (here.parent / "recordings", here.parents[3] / "examples" / "data" / "demo")
    return next(place for place in places if place.is_dir())


def play(console: Console, model: MeteredModel, folder: Path, config: HindsightConfig | None = None) -> None:
    """Play all scenes.

    Raises:
        DemoOutOfDate: a request has no recorded answer.
    """
    chosen = config or HindsightConfig.from_env()
    config = HindsightConfig(
        storage=chosen.storage,
        models=chosen.models,
        retain=RetainConfig(shown_memories=40),
        observations=ObservationConfig("off"),
    )
    clock = FrozenClock(_day("2026-03-02"))
    console.print(Text("Hindsight: long-term memory for AI agents", "bold"))
    console.print(Text(REPLAY, "dim"))
    try:
        with Hindsight.open(folder, model=model, clock=clock, config=config) as hindsight:
            backends = hindsight.doctor().backends
            roles = ("vectors", "keywords", "graph", "embedder")
            names = ", ".join(f"{role} {backends[role].partition(' (')[0]}" for role in roles)
            console.print(Text(f"Backends: {names}", "dim"))
            bank = hindsight.bank(USER.lower())
            bank.profile.set(ASSISTANT)
            _Demo(console, model, clock, bank).play()
    except MissingAnswer as error:
        raise DemoOutOfDate(error.prompt) from error


def demo_console() -> Console:
    """Open standard output, 80 columns wide, with colour on a terminal."""
    terminal = Console(highlight=False)
    width = min(WIDTH, terminal.width) if sys.stdout.isatty() else WIDTH
    return Console(highlight=False, width=width)


@dataclass
class _Demo:
    """The scenes, in order.

    Attributes:
        console: where to print.
        model: the language model.
        clock: the clock, set by each scene.
        bank: the user's bank.
        retained: milliseconds of each retain, without the model.
        recalled: milliseconds of each recall.
    """

    console: Console
    model: MeteredModel
    clock: FrozenClock
    bank: MemoryBank
    retained: list[float] = field(default_factory=list)
    recalled: list[float] = field(default_factory=list)

    def play(self) -> None:
        """Play all scenes."""
        self.remember()
        self.correct()
        self.suggest()
        self.add_up()
        self.form_opinion()
        self.look_back()
        self.show_cost()

    def remember(self) -> None:
        """Show the same question in a new conversation, without and with memory."""
        self.title(1, "A new conversation, without and with memory")
        self.tell(
            "2026-03-02",
            "Hi, I'm Mira. I live in Graz and work as a translator.",
            "I am allergic to hazelnuts. Even a trace sends me to hospital.",
            tag=PERSON,
        )
        self.ask("2026-03-06", BIO, forgetful=True)

    def correct(self) -> None:
        """Show a correction: the answer changes, and the old fact becomes history."""
        self.title(2, "A correction")
        result = self.tell("2026-04-20", "I moved from Graz to Lisbon on Saturday.", tag=PERSON)
        self.ask("2026-04-21", BIO)
        for closed in result.closed:
            unit = self.bank.get(closed.unit_id)
            since = f"valid from {_date(unit.mentioned_at)} to {_date(unit.closed_at or unit.mentioned_at)}"
            self.line("history", plain(unit.text).append(f" ({since})", "dim"), "dim")

    def suggest(self) -> None:
        """Show that an allergy is recalled for a question that does not mention it."""
        self.title(3, "A suggestion that respects an allergy")
        recalled = self.ask("2026-04-27", "Suggest something for dinner.")
        allergy = next(unit for unit in recalled if "hazelnut" in unit.text)
        weeks = (self.clock.now() - allergy.unit.mentioned_at).days // 7
        note = f" (said {weeks} weeks ago; recalled as {allergy.reason.words or allergy.reason})"
        self.line("because", plain(allergy.text).append(note, "dim"), "dim")

    def add_up(self) -> None:
        """Show exact figures, summed by the library instead of the model."""
        self.title(4, "An exact total")
        self.tell_all(PURCHASES, tag=SPENDING)
        recalled = self.ask("2026-05-29", "How much did I spend on coffee this month?", records=True)
        (digest,) = recalled.records
        if digest.asked is None:
            raise ValueError("the digest has no figures for the month asked about")
        figures = DigestWords(self.clock.now().date()).figures([digest.asked])
        self.line("exact figures", plain(f"= {figures}", "dim"), "dim")
        for row in digest.rows:
            self.line("", plain(row.text, "dim"), "dim")

    def form_opinion(self) -> None:
        """Show an opinion whose confidence follows the evidence."""
        self.title(5, "An opinion that changes with evidence")
        self.tell("2026-06-01", EBIKE, tag=TRANSPORT)
        self.clock.set(_day("2026-06-02"))
        question = "Is an e-bike a good idea for me?"
        self.speak(USER, question)
        reflection = self.reflect(question, TRANSPORT)
        self.speak(ASSISTANT.name, reflection.text, "green")
        (opinion,) = self.bank.opinions.list()
        self.line("opinion", plain(f"{opinion.confidence:.2f}  {opinion.text}", "bold"), "dim")
        known = 0
        for moment, speaker, text in NEWS:
            self.tell_all([(moment, text)], tag=TRANSPORT, speaker=speaker)
            self.settle()
            entries = self.bank.opinions.history(opinion.id).entries
            for entry in entries[known:]:
                change = plain(f"{entry.before:.2f} -> {entry.after:.2f}", "bold")
                self.line("confidence", change.append(f"  {entry.evidence.reason}", "not bold"), "dim")
            known = len(entries)

    def look_back(self) -> None:
        """Show a fact that was valid before the correction."""
        self.title(6, "What was believed then")
        self.clock.set(_day("2026-06-22"))
        question = "Where does Mira live?"
        self.speak(USER, question)
        for as_of in ("2026-04-01", None):
            reflection = self.reflect(question, PERSON, as_of)
            self.line("as of 1 April" if as_of else "today", plain(reflection.text, "green"), "dim")
        (opinion,) = self.bank.opinions.list(as_of="2026-06-12")
        (now,) = self.bank.opinions.list()
        self.line("opinion", plain(f"{opinion.confidence:.2f} on 12 June, {now.confidence:.2f} today"), "dim")

    def show_cost(self) -> None:
        """Show what the scenes cost, and where to read more."""
        self.title(7, "What it cost")
        calls, model = len(self.model.prompts), self.model
        self.line(
            "model",
            plain(
                f"{calls} calls (replayed), {model.tokens_in:,} tokens in, {model.tokens_out:,} tokens out"
            ),
        )
        kept = f"{self.bank.count()} memories; recall takes {median(self.recalled):.0f} ms, retain {median(self.retained):.0f} ms"
        self.line("memory", plain(f"{kept} (medians, without the model)"))
        self.console.print()
        for label, text in NEXT:
            self.line(label, plain(text))

    def title(self, number: int, text: str) -> None:
        """Start a scene."""
        self.console.print()
        self.console.print(Text(f"{number}. {text}", "bold cyan"))

    def line(self, label: str, text: Text, style: str = "bold") -> None:
        """Print a label and a text that wraps next to it."""
        for folded in text.wrap(self.console, self.console.width - LABEL):
            self.console.print(Text(f"  {label}".ljust(LABEL), style).append_text(folded))
            label = ""

    def speak(self, speaker: str, text: str, style: str = "") -> None:
        """Print what a speaker says; for people, also the day."""
        now = self.clock.now()
        label = speaker if speaker == ASSISTANT.name else f"{speaker}, {now.day} {now:%b}"
        self.line(label, plain(text, style))

    def tell(self, day: str, *texts: str, tag: str) -> RetainResult:
        """Retain what the user says in a new conversation on this day."""
        return self.tell_all([(day, text) for text in texts], tag=tag)

    def tell_all(self, said: Sequence[tuple[str, str]], *, tag: str, speaker: str = USER) -> RetainResult:
        """Retain (day, text) pairs of a speaker as one conversation."""
        messages = []
        for number, (day, text) in enumerate(said):
            self.clock.set(_day(day))
            self.speak(speaker, text)
            messages.append(Message(text, speaker, self.clock.now(), f"{day}-{number}"))
        with self.timed(self.retained):
            return self.bank.retain(messages, thread=said[0][0], tags=[tag])

    def ask(self, day: str, question: str, *, forgetful: bool = False, records: bool = False) -> RecallResult:
        """Ask the assistant in a new conversation on this day.

        With `forgetful`, the answer without memory is shown too. With `records`, exact totals of records are recalled.
        """
        self.clock.set(_day(day))
        self.speak(USER, question)
        if forgetful:
            self.line("no memory", plain(self.reply(question), "yellow"))
        with self.timed(self.recalled):
            recalled = self.bank.recall(question, include_core=True, include_records=records)
        # By time and id, so that the request does not depend on the embedder or keyword index.
        ordered = sorted(recalled, key=lambda match: (match.unit.began, match.unit.id))
        lines = [digest.text for digest in recalled.records] + [memory_line(match) for match in ordered]
        answer = self.reply(question, lines)
        self.line("with memory" if forgetful else ASSISTANT.name, plain(answer, "green"))
        return recalled

    def reply(self, question: str, memories: Sequence[str] = ()) -> str:
        """Call the model the way an application would."""
        prompt = demo_prompt(question, memories, moment=self.clock.now())
        return asyncio.run(self.model.complete(prompt)).output.text

    def reflect(self, question: str, tag: str, as_of: str | None = None) -> Reflection:
        """Reflect on the memories with this tag."""
        return self.bank.reflect(question, tags=[tag], tags_match="any_strict", as_of=as_of)

    def settle(self) -> None:
        """Run the queued tasks: new facts are assessed as evidence."""
        # The task stores only the error's text, so the prompt's name comes from the model.
        if self.bank.tasks.settle().failed:
            raise DemoOutOfDate(self.model.prompts[-1].name)

    @contextmanager
    def timed(self, milliseconds: list[float]) -> Iterator[None]:
        """Measure the time of a block, without the model's time."""
        started, waited = time.perf_counter(), self.model.seconds
        yield
        milliseconds.append(1000 * (time.perf_counter() - started - (self.model.seconds - waited)))


def _day(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}T09:00").replace(tzinfo=UTC)


def _date(moment: datetime) -> str:
    return f"{moment.day} {moment:%B}"


PERSON, SPENDING, TRANSPORT = "person", "spending", "transport"  # tags
BIO = "Write a one-sentence bio of me for a conference programme."
PURCHASES = (
    ("2026-04-29", "My first galao in Lisbon: 1.85 euros."),
    ("2026-05-04", "Coffee with Jonas, I paid 7.60 euros."),
    ("2026-05-13", "The train to Porto was 34 euros, and an espresso at the station 1.15."),
    ("2026-05-22", "Two flat whites for 6.80 euros and a book for 18.50."),
)
EBIKE = "I am thinking about buying an e-bike. Lisbon is so hilly, and the tram is always full."
NEWS = (
    ("2026-06-10", USER, "I rented an e-bike for a week: 12 minutes to the office instead of 35 by tram."),
    ("2026-06-18", "Rui", "My e-bike was stolen on Sunday, Mira. Our building has nowhere to lock one up."),
)
NEXT = (
    ("next", "README.md: quick start, then LangGraph or LlamaIndex"),
    ("", "examples/ and cookbooks/: all run without a key"),
    ("", "hindsight-memory --help: try it on your own text"),
)
