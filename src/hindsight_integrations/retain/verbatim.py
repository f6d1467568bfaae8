"""Verbatim extraction, without a model: each message becomes one fact, with the times and names it mentions. Pure."""

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
    """Group messages into chunks of at most `limit` characters; only a message longer than that is split."""
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
    """Split a text into pieces of at most `limit` characters, at paragraphs, else sentences, else words; no character is lost."""
    pieces = []
    while len(text) > limit:
        cut = _cut(text, limit)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text] if text else pieces


def _cut(text: str, limit: int) -> int:
    """Return the end of the first piece: the last break that makes the piece at least half of `limit` long.

    Paragraph breaks are preferred to ends of sentences, and these to spaces; without any, the piece has `limit` characters.
    """
    for kind in _BREAKS:
        ends = [match.end() for match in kind.finditer(text, 0, limit) if match.end() <= limit]
        if ends and ends[-1] >= limit // 2:
            return ends[-1]
    return limit


# maximum number of words of a short answer; a longer one is usually clear without the question (chosen by hand)
SHORT_ANSWER = 3
NOTHING_ANSWERED: Mapping[str, Message] = MappingProxyType({})
# characters: about 1,000 tokens, a quarter of recall's default budget; longer messages are split
LONGEST_MESSAGE = 4_000
PASSAGE_CHARACTERS = 500  # maximum characters of a passage: a few sentences, about one turn of a conversation
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_CHOICES = re.compile(r"(?:^|\s)\(?[1-9A-H][.)]\s")  # "1. Pasta", "B) Crete"
_CLOSING = " *_\"')]\u201d\u2019"
_QUOTED = re.compile(
    r"^(?:>.*|(?:On|Am|El)\b.*\b(?:wrote|schrieb|escribió)\b.*:|(?:Sent|Date|Gesendet|Datum|Enviado|Fecha):.*)$",
    re.MULTILINE,
)  # lines that introduce a quoted mail; their dates are not the dates of the sender's own events


@dataclass(frozen=True, slots=True)
class VerbatimExtractor:
    """A rule-based extractor that stores messages and document passages verbatim as facts.

    Attributes:
        languages: the possible languages of the texts; time expressions are parsed in each in turn until one matches.
        date_order: the order of day and month in numeric dates, for languages without a grammar.
        week_starts: the first day of the week, for expressions such as "this week".
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
        """Extract one fact per message, in order.

        Args:
            messages: messages with ids and timestamps; without a timestamp, the fact gets no occurrence.
            answered: maps the id of each short answer to the question that it answers; see `questions_answered`.
            zone: the bank's time zone, for expressions such as "yesterday".
            aliases: names of the bank's entities, matched case-insensitively.
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
        """Extract one fact per passage of a document, in order.

        Args:
            pieces: passages as returned by `passages`; none is blank.
            timestamp: the time of the document; with None, facts get no time of occurrence.
            zone: the bank's time zone.
            aliases: names of the bank's entities, matched case-insensitively.
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
    """Split a text into paragraphs, and long paragraphs into passages of at most 500 characters; no character is lost."""
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
    """Split messages that are too long to be recalled whole into pieces of at most 2,000 characters.

    A text of this length was probably pasted, and its dates are not those of the sender's events, so its pieces get no
    timestamp.
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
    """Map the id of each short answer by the user to the agent's message before it.

    "Rex" means nothing without "What is your dog called?", nor "43" without "Please tell me your shoe size."

    Args:
        messages: messages of one conversation, in order, with ids.
    """
    questions: dict[str, Message] = {}
    asked: Message | None = None
    for message in messages:
        words, text = message.text.split(), message.text.rstrip()
        if asked is not None and role_of(message) is Role.USER and message.id and not text.endswith("?"):
            # "It leaks." is clear without its question; a single word or a number is not.
            bare = len(words) == 1 or any(map(str.isdigit, text))
            asks = any(map(_is_question, spoken_sentences(asked.text)))
            if len(words) <= SHORT_ANSWER and (asks or bare):
                questions[message.id] = asked
        from_agent = role_of(message) is Role.ASSISTANT and message.text.strip()
        asked = message if from_agent and message.id else None
    return questions


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
    """Format an answer with its question: `user: Rex (asked "What is your dog called?")`.

    It quotes the agent's questions, from the first to the last; if the message asks nothing, its last sentence. It
    quotes the whole message if the answer picks a numbered choice, or if the question is too short to be understood
    alone ("Which?").
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
    """Format an interval as its first and last granule, so that `occurrence` parses back the same interval.

    Whole years, months or days in `zone` are written as such, anything finer as whole seconds in UTC.
    """
    start, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (interval.start, interval.end))
    # A clock change may skip or repeat midnight, so check that the local midnights give the same instants.
    whole_days = {start.time(), end.time()} == {time.min}
    if not whole_days or (as_utc(start, zone), as_utc(end, zone)) != (interval.start, interval.end):
        last = interval.end - timedelta(seconds=1)
        return f"{interval.start:%Y-%m-%dT%H:%M:%S}Z", f"{last:%Y-%m-%dT%H:%M:%S}Z"
    length = _whole_granule(start, end)
    return start.date().isoformat()[:length], (end - timedelta(days=1)).date().isoformat()[:length]


def _whole_granule(start: datetime, end: datetime) -> int:
    """Return the length of the shortest ISO date that expresses both bounds: 4 for years, 7 for months, 10 for days."""
    if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1):
        return len("2025")
    return len("2025-01") if (start.day, end.day) == (1, 1) else len("2025-01-01")
