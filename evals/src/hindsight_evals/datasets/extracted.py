"""Facts that were extracted from a dataset's sessions beforehand, read from a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ValidationError

from hindsight_evals.datasets.fields import Published
from hindsight_evals.errors import DatasetInvalid
from hindsight_integrations import ExtractedFact

PART = "part"
"""A change used by files from before documents had items. It describes in words which part of a memory ended, and is
ignored.
"""


def _without_parts(facts: object) -> object:
    """Return the facts, as read from JSON, without changes of a part."""
    if not isinstance(facts, list):
        return facts
    return [
        {**fact, "changes": [each for each in fact.get("changes") or [] if each.get("change") != PART]}
        if isinstance(fact, dict)
        else fact
        for fact in facts
    ]


def _said_once(facts: list[ExtractedFact]) -> list[ExtractedFact]:
    """Return the facts without statements about what their `changes` name; the files contain the same endings in both forms."""
    return [
        fact.model_copy(update={"invalidates": []}) if len(fact.changes) >= len(fact.invalidates) else fact
        for fact in facts
    ]


class ExtractedSession(Published):
    """The facts extracted from one session, with its number and its date as written."""

    session: int
    session_date: str | None = None
    facts: Annotated[list[ExtractedFact], BeforeValidator(_without_parts), AfterValidator(_said_once)]


def load_facts(path: Path) -> dict[int, tuple[ExtractedFact, ...]]:
    """Return the facts by session, from a file that `read_extracted` reads."""
    return {line.session: tuple(line.facts) for line in read_extracted(path)}


def read_extracted(path: Path) -> Iterator[ExtractedSession]:
    """Yield the sessions of a file with one JSON object per line: `{"session": 3, "facts": [...]}`.

    Raises:
        DatasetInvalid: a line is not such an object.
    """
    for number, written in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not written.strip():
            continue
        try:
            yield ExtractedSession.model_validate_json(written)
        except ValidationError as error:
            raise DatasetInvalid(
                path, f"line {number}", str(error.errors(include_url=False)[0]["msg"])
            ) from error
