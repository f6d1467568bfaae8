"""Errors: their fields, and pickling between processes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

from table import every_row

from hindsight_integrations.errors import HindsightError, InvalidRequest


def error_classes(parent: type[HindsightError] = HindsightError) -> Iterator[type[HindsightError]]:
    """Return every class of the tree that builds its own message."""
    for kind in parent.__subclasses__():
        if "__init__" in vars(kind):
            yield kind
        yield from error_classes(kind)


def example(kind: type[HindsightError]) -> HindsightError:
    """Build an instance, with each argument of its declared type."""
    hints = get_type_hints(kind.__init__)
    given = {}
    for name in list(inspect.signature(kind).parameters):
        wanted = str(hints[name])
        given[name] = next(
            (
                value
                for part, value in {
                    "Path": Path("data"),
                    "tuple": ("a",),
                    "int": 7,
                    "float": 1.5,
                    "bool": True,
                    "str": "words",
                }.items()
                if part in wanted
            ),
        )
    return kind(**given)


@every_row("kind", list(error_classes()), ids=lambda kind: kind.__name__)
def test_an_error_comes_back_whole_from_another_process(kind: type[HindsightError]) -> None:
    """A pickled error keeps its type, message and fields."""
    error = example(kind)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own bytes
        assert type(twin) is kind
        assert (str(twin), twin.args, vars(twin)) == (str(error), error.args, vars(error))


@every_row(
    ("remedy", "words"),
    [
        ("Pass another name.", "Pass another name."),
        ("List them with entities.list().", ""),
        ("Use worker=True.", ""),
    ],
)
def test_a_remedy_in_python_is_not_for_everybody(remedy: str, words: str) -> None:
    """A shell and an agent's model are not told to call Python."""
    assert InvalidRequest("entity", "'Bob' is not known", remedy).remedy_in_words == words
