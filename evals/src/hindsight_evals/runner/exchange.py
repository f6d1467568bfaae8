"""Export questions or answers to files, and import the answers or judgments of people or other systems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindsight_evals.judging.rules import rule_of
from hindsight_evals.results import ANSWER, Answer, Judgment, QuestionResult, ResultFiles
from hindsight_evals.runner.verdicts import subjects
from hindsight_integrations.errors import InvalidRequest

Stage = Literal["answers", "verdicts"]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    system: str
    episode: str
    question: str
    answer: str | None = None
    subject: str | None = None
    yes: bool | None = None
    confidence: float = Field(default=1.0, ge=0, le=1)
    explanation: str = ""


def waiting(
    files: ResultFiles, stage: Stage, *, budget: int, by: str = "imported"
) -> Iterator[dict[str, Any]]:
    """Yield what waits, one object per line, to which a person adds `answer`, or `yes` (with `confidence`, `explanation`).

    Args:
        files: the results.
        stage: whether to export for answers or for verdicts.
        budget: token budget of the contexts to use.
        by: name of the judge, whose earlier judgments are left out.
    """
    for result in files.all():
        if stage == "answers":
            yield from _unanswered(result, budget)
        else:
            yield from _unjudged(result, by)


def take_in(files: ResultFiles, path: Path, *, by: str = "imported") -> int:
    """Import a file of answers or judgments, without replacing earlier ones by the same author; return the number of new ones.

    Raises:
        InvalidRequest: a line is invalid, or its question is not part of the run.
    """
    taken = 0
    for number, written in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not written.strip():
            continue
        try:
            line = _Line.model_validate_json(written)
            result = files.read(line.system, line.episode, line.question)
        except (ValidationError, FileNotFoundError) as error:
            fix = "Keep system, episode, question and subject of the exported line as they are."
            raise InvalidRequest("file", f"line {number} of {path}: {error}", fix) from error
        if (changed := _with(result, line, by)) != result:
            files.write(changed)
            taken += 1
    return taken


def _unanswered(result: QuestionResult, budget: int) -> Iterator[dict[str, Any]]:
    if result.answer is None:
        given = budget if budget in result.contexts else max(result.contexts)
        notes = [text.text for text in result.contexts[given].served]
        yield {**_names(result), "asked": result.question.text, "moment": result.question.moment.isoformat(), "notes": notes}  # fmt: skip


def _unjudged(result: QuestionResult, by: str) -> Iterator[dict[str, Any]]:
    if result.answer is None:
        return
    criteria = {criterion.id: criterion.text for criterion in result.question.criteria}
    for subject in subjects(result):
        if any(judgment.judge == by for judgment in result.judgments.get(subject, ())):
            continue
        line = {**_names(result), "subject": subject, "answered": result.answer.text}
        if subject == ANSWER:
            rule = rule_of(result.question, result.dataset)
            line |= {"asked": result.question.text, "reference": result.question.answer, "rule": rule}
        else:
            line |= {"criterion": criteria[subject]}
        yield line


def _names(result: QuestionResult) -> dict[str, str]:
    return {"system": result.system, "episode": result.episode, "question": result.question.id}


def _with(result: QuestionResult, line: _Line, by: str) -> QuestionResult:
    if line.answer is not None and result.answer is None:
        return replace(result, answer=Answer(line.answer, by))
    if line.subject is None or line.yes is None or line.subject not in set(subjects(result)):
        return result
    so_far = result.judgments.get(line.subject, ())
    if any(judgment.judge == by for judgment in so_far):
        return result
    judgment = Judgment(by, line.yes, line.confidence, line.explanation)
    return replace(result, judgments={**result.judgments, line.subject: (*so_far, judgment)})


def write_lines(lines: Iterator[dict[str, Any]], path: Path) -> int:
    """Write lines of JSON; return their number."""
    written = [json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    return len(written)
