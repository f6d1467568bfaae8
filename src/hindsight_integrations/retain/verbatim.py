"""Extraction without a model: every message becomes one fact, word for word, with the time and names it speaks of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from types import MappingProxyType

from hindsight_integrations.language.dates import event_time
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.names import AGENT_NAMES, NameSpotter
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.language.statements import spoken_sentences
from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedEntity, ExtractedFact
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.time import DateOrder, Interval, LocalDates, Weekday, as_utc
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType
from hindsight_integrations.validation.messages import role_of

_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"[.!?][\"')\]]*\s+"), re.compile(r"\s+"))


def chunk_messages(messages: Sequence[Message], limit: int = 3000) -> list[list[Message]]:
    """Messages in groups of at most `limit` characters, cut between turns; only a longer message is itself cut."""
    chunks: list[list[Message]] = []
    size = limit + 1
    for message in messages:
        for piece in chunk_text(message.text, limit):
            if size + len(piece) > limit:
                chunks.append([])
                size = 0
            chunks[-1].append(message if piece == message.text else replace(message, text=piece))
            size += len(piece)
    return chunks


def chunk_text(text: str, limit: int = 3000) -> list[str]:
    """Pieces of at most `limit` characters that concatenate to the text: cut at paragraphs, else sentences, else words."""
    pieces = []
    while len(text) > limit:
        cut = _cut(text, limit)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text] if text else pieces


def _cut(text: str, limit: int) -> int:
    """Where to end the first piece: after the last break of the best kind that leaves at least half a piece."""
    for kind in _BREAKS:
        ends = [match.end() for match in kind.finditer(text, 0, limit) if match.end() <= limit]
        if ends and ends[-1] >= limit // 2:
            return ends[-1]
    return limit


SHORT_ANSWER = 3  # words; a longer answer mostly says what it is about (no source)
NOTHING_ANSWERED: Mapping[str, Message] = MappingProxyType({})
LONGEST_MESSAGE = 4_000  # characters, about 1,000 tokens: a quarter of what a recall returns by default; longer ones are cut
PASSAGE_CHARACTERS = 500  # a few sentences: about what one turn of a conversation holds
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_CHOICES = re.compile(r"(?:^|\s)\(?[1-9A-H][.)]\s")  # "1. Pasta", "B) Crete"
_CLOSING = " *_\"')]\u201d\u2019"
_QUOTED = re.compile(
    r"^(?:>.*|(?:On|Am|El)\b.*\b(?:wrote|schrieb|escribió)\b.*:|(?:Sent|Date|Gesendet|Datum|Enviado|Fecha):.*)$",
    re.MULTILINE,
)  # lines of a quoted mail, whose dates are not those of what its sender tells


@dataclass(frozen=True, slots=True)
class VerbatimExtractor:
    """Turns messages and documents into facts by rules alone; keeps every word.

    Attributes:
        languages: the texts may be in; times are read in each in turn until one finds one.
        date_order: of dates in figures in languages without a grammar.
        week_starts: on which day "this week" begins.
    """

    languages: Sequence[Language] = (ENGLISH,)
    date_order: DateOrder | None = None
    week_starts: Weekday = Weekday.MONDAY

    def extract(
        self,
        messages: Sequence[Message],
        *,
        answered: Mapping[str, Message] = NOTHING_ANSWERED,
        zone: tzinfo = UTC,
        aliases: Iterable[str] = (),
    ) -> list[ExtractedFact]:
        """One fact a message, in order.

        Args:
            messages: with ids and timestamps filled in; one without a timestamp gets no occurrence.
            answered: by id of each short answer the message that asked for it; see `questions_answered`.
            zone: the bank's time zone, in which "yesterday" is read.
            aliases: names the bank already knows, found in any case.
        """
        speakers = {message.speaker for message in messages if role_of(message) is not Role.TOOL}
        texts = [message.text for message in messages]
        spotter = NameSpotter(texts, people=speakers, aliases=aliases, languages=self.languages)
        return [
            _of_message(message, answered.get(message.id or ""), spotter, self._dates(zone), self.languages)
            for message in messages
        ]

    def extract_passages(
        self,
        pieces: Sequence[str],
        *,
        timestamp: datetime | None,
        zone: tzinfo = UTC,
        aliases: Iterable[str] = (),
    ) -> list[ExtractedFact]:
        """One fact for each passage of a document, in order.

        Args:
            pieces: as `passages` cuts them, none of them blank.
            timestamp: when the document was written; None gives no occurrence.
            zone: the bank's time zone.
            aliases: names the bank already knows, found in any case.
        """
        spotter = NameSpotter(pieces, people=(), aliases=aliases, languages=self.languages)
        facts = []
        for passage in map(str.strip, pieces):
            start, end = _occurred(passage, timestamp, self._dates(zone), self.languages)
            entities = spotter.names_in(passage)
            facts.append(
                ExtractedFact(what=passage, occurred_start=start, occurred_end=end, entities=entities)
            )
        return facts

    def _dates(self, zone: tzinfo) -> LocalDates:
        return LocalDates(zone, self.date_order, self.week_starts)


def passages(text: str) -> list[str]:
    """A text in paragraphs, longer ones in passages of at most 500 characters; they concatenate to it."""
    ends = [*(match.end() for match in _PARAGRAPH.finditer(text)), len(text)]
    paragraphs = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [
        piece
        for paragraph in paragraphs
        for piece in (
            [paragraph]
            if len(paragraph.strip()) <= PASSAGE_CHARACTERS
            else chunk_text(paragraph, PASSAGE_CHARACTERS)
        )
        if piece
    ]


def in_pieces(messages: Iterable[Message]) -> list[Message]:
    """The messages, those too long to be recalled whole in pieces of at most 2,000 characters.

    A text of that length was pasted: the times in it are not those of what its sender tells, so its pieces have none.
    """
    return [
        piece
        for message in messages
        for piece in (
            [message]
            if len(message.text) <= LONGEST_MESSAGE
            else [
                replace(message, text=text.strip(), timestamp=None)
                for text in chunk_text(message.text, LONGEST_MESSAGE // 2)
            ]
        )
        if piece.text.strip()
    ]


def questions_answered(messages: Iterable[Message]) -> dict[str, Message]:
    """By id of each short answer of a person the agent's message before it.

    "Rex" says nothing without "What is your dog called?", nor "43" without "Please tell me your shoe size."

    Args:
        messages: of a conversation, in order, with ids.
    """
    found: dict[str, Message] = {}
    asked: Message | None = None
    for message in messages:
        words, text = message.text.split(), message.text.rstrip()
        if asked is not None and role_of(message) is Role.USER and message.id and not text.endswith("?"):
            # Where nothing was asked in so many words, "It leaks." speaks for itself, a number or a single word does not.
            bare = len(words) == 1 or any(map(str.isdigit, text))
            asks = any(map(_is_question, spoken_sentences(asked.text)))
            if len(words) <= SHORT_ANSWER and (asks or bare):
                found[message.id] = asked
        from_agent = role_of(message) is Role.ASSISTANT and message.text.strip()
        asked = message if from_agent and message.id else None
    return found


def _of_message(
    message: Message,
    asked: Message | None,
    spotter: NameSpotter,
    dates: LocalDates,
    languages: Sequence[Language],
) -> ExtractedFact:
    written = message.timestamp if isinstance(message.timestamp, datetime) else None
    start, end = _occurred(message.text, written, dates, languages)
    is_tool = role_of(message) is Role.TOOL
    speaker = [] if is_tool else [ExtractedEntity(text=message.speaker, type=EntityType.PERSON)]
    others = [
        name for name in spotter.names_in(message.text) if name.text.casefold() != message.speaker.casefold()
    ]
    is_agent = message.speaker.casefold() in AGENT_NAMES
    return ExtractedFact(
        what=message.spoken if asked is None else _answer(message, asked),
        fact_type=FactType.EXPERIENCE if is_agent else FactType.WORLD,
        occurred_start=start,
        occurred_end=end,
        entities=[*speaker, *others],
        sources=[each.id for each in (asked, message) if each and each.id],
    )


def _answer(message: Message, asked: Message) -> str:
    """An answer with what it answers: `user: Rex (asked "What is your dog called?")`.

    Quotes the agent's message from its first question on, or its last sentence if it asks nothing. Quotes all of it if the answer picks
    one of numbered choices, or if the question is too short to be understood alone ("Which?").
    """
    sentences = spoken_sentences(asked.text)
    questions = [place for place, sentence in enumerate(sentences) if _is_question(sentence)]
    first = questions[0] if questions else len(sentences) - 1
    answered = " ".join(sentences[first : questions[-1] + 1 if questions else None])
    names_one = any(map(str.isdigit, message.text)) or len(message.text.strip()) == 1
    picked = names_one and _CHOICES.search(asked.text)
    if picked or len(answered.split()) < SHORT_ANSWER:
        answered = " ".join(sentences)
    if len(answered) > PASSAGE_CHARACTERS:
        answered = sentences[questions[-1] if questions else -1][-PASSAGE_CHARACTERS:]
    return f'{message.spoken} ({"asked" if questions else "in answer to"} "{" ".join(answered.split())}")'


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(_CLOSING).endswith(("?", "\uff1f", "\u061f"))


def _occurred(
    text: str, timestamp: datetime | None, dates: LocalDates, languages: Sequence[Language]
) -> tuple[str | None, str | None]:
    if timestamp is None:
        return None, None
    occurred = event_time(_QUOTED.sub("", text), timestamp, dates, languages)
    return iso_bounds(occurred, dates.zone) if occurred else (None, None)


def iso_bounds(interval: Interval, zone: tzinfo) -> tuple[str, str]:
    """The interval as the first and last granule in it, so that `occurrence` reads back exactly the same.

    Whole years, months or days of `zone` are written as such, anything finer in whole seconds of UTC.
    """
    start, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (interval.start, interval.end))
    # A clock change at midnight may repeat or skip one: the local midnights must mean these very instants.
    whole_days = {start.time(), end.time()} == {time.min}
    if not whole_days or (as_utc(start, zone), as_utc(end, zone)) != (interval.start, interval.end):
        last = interval.end - timedelta(seconds=1)
        return f"{interval.start:%Y-%m-%dT%H:%M:%S}Z", f"{last:%Y-%m-%dT%H:%M:%S}Z"
    length = _whole_granule(start, end)
    return start.date().isoformat()[:length], (end - timedelta(days=1)).date().isoformat()[:length]


def _whole_granule(start: datetime, end: datetime) -> int:
    """Characters of an ISO date that tell the bounds apart: a year's four, a month's seven or a day's ten."""
    if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1):
        return len("2025")
    return len("2025-01") if (start.day, end.day) == (1, 1) else len("2025-01-01")
