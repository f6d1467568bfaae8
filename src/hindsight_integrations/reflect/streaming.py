"""The text of an answer while it is written, and the line of sources at its end, which is not shown."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.models.protocols import StreamingLanguageModel, TextPrompt
from hindsight_integrations.reflect.answer import WrittenAnswer
from hindsight_integrations.reflect.citations import CitationIndex, references
from hindsight_integrations.reflect.context import ReflectContext

_SOURCES = re.compile(r"[*_#\s]*sources?\s*[*_]*\s*:[*_\s]*(?P<named>.*)", re.IGNORECASE)
_LABELS = ("source:", "sources:")
_NONE = re.compile(r"\W*(none|n/?a)?\W*", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;.\[\]()*_]+|\band\b")


class StreamedAnswer:
    """Takes an answer piece by piece, and gives what may be shown as soon as that is certain.

    Held back are white space at the end, and a line that names sources or may come to do so; it is shown after all if
    something else follows it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """What was shown."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """What a further piece makes certain to be part of the answer; may be empty."""
        self._held += piece
        return self._show(_certain(self._held, continued=bool(self._shown)))

    def end(self) -> tuple[str, tuple[str, ...] | None]:
        """What was held back of the answer, and the sources it names; None if it names none, () if it says there are none."""
        body, line = _last_line(self._held)
        # What is held goes on with the line whose beginning was shown.
        named = None if self._shown and not body else _SOURCES.fullmatch(line)
        rest = body if named else self._held
        said = self._show(len(rest.rstrip()))
        self._held = ""
        if named is None:
            return said, None
        if _NONE.fullmatch(named["named"]):
            return said, ()
        return said, tuple(mark for mark in _BETWEEN.split(named["named"]) if mark)

    def _show(self, characters: int) -> str:
        said, self._held = self._held[:characters], self._held[characters:]
        if not self._shown:
            said = said.lstrip()
        if said:
            self._shown.append(said)
        return said


def _certain(text: str, *, continued: bool) -> int:
    """How much of a text is the answer for certain: up to the line from which on nothing but sources may follow.

    Args:
        text: what is held.
        continued: its first line goes on with one that was shown.
    """
    end, start = 0, 0
    for line in text.splitlines(keepends=True):
        bare, within = line.strip(), continued and not start
        ended = line.endswith("\n")
        if bare and (within or not (_SOURCES.fullmatch(bare) or _may_become_sources(bare, ended=ended))):
            end = start + len(line.rstrip())
        start += len(line)
    return end


def _may_become_sources(line: str, *, ended: bool) -> bool:
    """Whether a line that has not ended may come to name sources."""
    begun = "".join(line.strip("*_# ").split()).lower()
    return not ended and any(label.startswith(begun) for label in _LABELS)


def _last_line(text: str) -> tuple[str, str]:
    """A text without its last line that is not blank, and that line."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    return body[:start], body[start:]


SLACK = 64  # tokens of the line of sources, and of what is held back


@dataclass(slots=True)
class StreamedText:
    """What came of a streamed answer.

    Attributes:
        text: what was shown of it.
        marks: the sources it names; none where it names none.
        named: whether it said what it stands on, be it nothing.
        cut: it was longer than allowed, and was left there.
    """

    text: str = ""
    marks: tuple[str, ...] = ()
    named: bool = False
    cut: bool = False

    def written(self, index: CitationIndex) -> WrittenAnswer:
        """What was streamed, with what is to be said of its sources; those that were not shown are left out."""
        notes = []
        if self.cut:
            notes.append(
                "the answer was longer than max_answer_tokens: it ends where it was cut, and names no sources"
            )
        elif not self.named:
            notes.append("the answer names no sources")
        if unknown := references(self.marks, index).unknown:
            notes.append(f"the answer names sources that were not shown: {', '.join(unknown[:5])}")
        return WrittenAnswer(self.text, self.marks, bool(self.marks), calls=1, notes=tuple(notes))


async def streamed_text(
    model: StreamingLanguageModel,
    prompt: TextPrompt,
    query: ReflectQuery,
    context: ReflectContext,
    *,
    into: StreamedText,
) -> AsyncGenerator[str, None]:
    """The text of an answer while it is written, without the line of its sources.

    Left before its end, the model's call ends. A text over the reflection's limit is left there.

    Args:
        model: who writes.
        prompt: what is asked.
        query: the reflection.
        context: of the reflection.
        into: what came of it, complete at the end.

    Raises:
        MalformedOutput: nothing was written.
        ModelError: as the model's own.
    """
    answer, written, most = StreamedAnswer(), "", query.max_answer_tokens
    async with aclosing(model.stream(prompt)) as pieces:
        async for piece in pieces:
            written += piece
            if said := answer.feed(piece):
                yield said
            # No token is shorter than a character: counted only where it may be over.
            if len(written) > most and context.services.tokens.count([written])[0] > most + SLACK:
                into.cut = True
                break
    said, marks = answer.end()
    if said:
        yield said
    into.text, into.marks, into.named = answer.text, marks or (), marks is not None
    if not into.text:
        raise MalformedOutput(model.name, written, "it wrote no answer")
