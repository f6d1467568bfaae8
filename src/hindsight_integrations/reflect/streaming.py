"""Stream the text of an answer without the line at its end that lists the sources."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.results import Usage
from hindsight_integrations.models.protocols import StreamingLanguageModel, TextPrompt
from hindsight_integrations.reflect.answer import WrittenAnswer
from hindsight_integrations.reflect.citations import CitationIndex, references
from hindsight_integrations.reflect.context import ReflectContext

_SOURCES = re.compile(r"[*_#\s]*sources?\s*[*_]*\s*:[*_\s]*(?P<named>.*)", re.IGNORECASE)
_LABELS = ("source:", "sources:")
_NONE = re.compile(r"\W*(none|n/?a)?\W*", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;.\[\]()*_]+|\band\b")


class StreamedAnswer:
    """Incremental parser of a streamed answer that separates the text from its line of sources.

    Trailing white space and a line that is, or may become, the line of sources are buffered. Such a line is part of the text
    if more text follows it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """The text shown so far."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """Add a piece and return the text that can be shown now; may be empty."""
        self._held += piece
        return self._show(_certain(self._held, continued=bool(self._shown)))

    def end(self) -> tuple[str, tuple[str, ...] | None]:
        """Return the rest of the text, and the sources: None without a line of sources, () if the line says "none"."""
        body, line = _last_line(self._held)
        # If text was shown before, the buffer continues its line, which is then not a line of sources.
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
    """Return the number of characters that can be shown: everything before a possible line of sources at the end.

    With `continued`, the first line continues a line already shown.
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
    """Check whether an unfinished line may still become a line of sources."""
    begun = "".join(line.strip("*_# ").split()).lower()
    return not ended and any(label.startswith(begun) for label in _LABELS)


def _last_line(text: str) -> tuple[str, str]:
    """Split a text before the last line that is not blank."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    return body[:start], body[start:]


SLACK = 64  # number of tokens beyond the limit, for the line of sources and buffered text


@dataclass(slots=True)
class StreamedText:
    """The result of streaming an answer.

    Attributes:
        text: the text shown.
        marks: the sources listed in the answer; may be empty.
        named: whether the answer has a line of sources, even one that says "none".
        cut: whether the text was truncated at the reflection's token limit.
    """

    text: str = ""
    marks: tuple[str, ...] = ()
    named: bool = False
    cut: bool = False

    def written(self, index: CitationIndex) -> WrittenAnswer:
        """Return the written answer, with notes about missing or unknown sources."""
        notes = []
        if self.cut:
            notes.append("the answer exceeded max_answer_tokens and was truncated, so it names no sources")
        elif not self.named:
            notes.append("the answer names no sources")
        if unknown := references(self.marks, index).unknown:
            notes.append(f"the answer names sources that were not shown: {', '.join(unknown[:5])}")
        return WrittenAnswer(
            self.text, self.marks, bool(self.marks), usage=Usage(calls=1), notes=tuple(notes)
        )


async def streamed_text(
    model: StreamingLanguageModel,
    prompt: TextPrompt,
    query: ReflectQuery,
    context: ReflectContext,
    *,
    into: StreamedText,
) -> AsyncGenerator[str, None]:
    """Stream the text of an answer without its line of sources.

    Closing the generator early ends the model call. A text over the token limit of the reflection is cut. `into` is
    complete when the generator ends.

    Raises:
        MalformedOutput: the model wrote no text.
        ModelError: the model failed.
    """
    answer, written, most = StreamedAnswer(), "", query.max_answer_tokens
    async with aclosing(model.stream(prompt)) as pieces:
        async for piece in pieces:
            written += piece
            if said := answer.feed(piece):
                yield said
            # A token has at least one character, so tokens need not be counted below the limit.
            if len(written) > most and context.services.tokens.count([written])[0] > most + SLACK:
                into.cut = True
                break
    said, marks = answer.end()
    if said:
        yield said
    into.text, into.marks, into.named = answer.text, marks or (), marks is not None
    if not into.text:
        raise MalformedOutput(model.name, written, "the answer is empty")
