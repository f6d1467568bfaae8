"""Answers computed from records, without a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """The answer to a question for a list, a sum or a count over records.

    Attributes:
        text: the answer, in a sentence.
        entries: ids of the memories whose records entered.
    """

    text: str
    entries: tuple[str, ...]
