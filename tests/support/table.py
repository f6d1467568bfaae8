"""A table of cases as one test that reports every failing row."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
SHOWN = 200  # characters of a row


def every_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Iterable[object] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Run a test for every row; fail once, with a line for each row that fails.

    Takes what `pytest.mark.parametrize` takes, and can be stacked like it. Fixtures are shared by all rows, so use
    `parametrize` where a row must start from a new one.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(rows)
    cases = [_values(row, len(columns)) for row in listed]
    if isinstance(ids, Iterable):
        labels = [str(each) for each in ids]
    elif ids:
        labels = ["-".join(str(ids(value)) for value in values) for values in cases]
    else:
        labels = [_label(number, row) for number, row in enumerate(listed)]
    assert cases, f"no rows for {names}"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            failures: list[str] = []
            for values, label in zip(cases, labels, strict=True):
                try:
                    test(*args, **fixtures, **dict(zip(columns, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - reported below, every one
                    failures.append(_line(label, error))
            if failures:
                pytest.fail(f"{len(failures)} of {len(cases)} rows:\n" + "\n".join(failures), pytrace=False)

        kept = [each for name, each in signature.parameters.items() if name not in columns]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined] # what pytest reads
        return run

    return decorate


def _label(number: int, row: Any) -> str:
    """The label of a row in a failure: its id, else its values."""
    if isinstance(row, type(pytest.param())) and row.id is not None:
        return str(row.id)
    try:
        text = repr(row)
    except ValueError:  # an integer with more digits than Python converts to text
        text = "?"
    return f"row {number} {text[:SHOWN]}"


def _values(row: Any, width: int) -> tuple[Any, ...]:
    """A row's values; with one column, the row is the value, as in pytest."""
    if isinstance(row, type(pytest.param())):
        return tuple(row.values)
    return (row,) if width == 1 else tuple(row)


def _line(label: str, error: BaseException) -> str:
    """One line of the report: the row, the line of the test, and the error; any characters."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" in f.filename]
    place = f"line {frames[-1].lineno}: " if frames else ""
    text = f"{label}: {place}{type(error).__name__}: {error}"[: 5 * SHOWN]
    return text.encode("utf-8", "backslashreplace").decode()
