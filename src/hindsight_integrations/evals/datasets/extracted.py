"""Facts that somebody extracted from a dataset's sessions beforehand, from a file."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from hindsight_integrations import ExtractedFact
from hindsight_integrations.evals.datasets.fields import Published
from hindsight_integrations.evals.errors import DatasetInvalid


class _Line(Published):
    session: int
    facts: list[ExtractedFact]


def load_facts(path: Path) -> dict[int, tuple[ExtractedFact, ...]]:
    """Facts by session, from a file of one JSON object a line: `{"session": 3, "facts": [...]}`.

    Raises:
        DatasetInvalid: a line is none.
    """
    facts: dict[int, tuple[ExtractedFact, ...]] = {}
    for number, written in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not written.strip():
            continue
        try:
            line = _Line.model_validate_json(written)
        except ValidationError as error:
            raise DatasetInvalid(
                path, f"line {number}", str(error.errors(include_url=False)[0]["msg"])
            ) from error
        facts[line.session] = tuple(line.facts)
    return facts
