"""A node with a failing memory: which errors the run sees, and how the others are reported."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import (
    BankForgotten,
    BankNotFound,
    EngineClosed,
    HindsightError,
    IndexBehind,
    InvalidRequest,
    LedgerBusy,
    MalformedOutput,
    MissingDependency,
    ModelUnavailable,
    SchemaMismatch,
)
from hindsight_integrations.langgraph.nodes import tolerated
from hindsight_integrations.tolerance import OnError

QUOTED = "the safe opens with 4711"


def _meet(error: HindsightError) -> None:
    raise error


def run_with(error: HindsightError, on_error: OnError) -> list[Any]:
    """The custom events of a graph whose only node raises an error."""

    def failing(state: MessagesState) -> dict[str, Any]:
        with tolerated(on_error, node="retain", bank="ann", missing="this turn is not remembered yet"):
            _meet(error)
        return {}

    graph = StateGraph(MessagesState).add_node("failing", failing).add_edge(START, "failing").compile()
    return list(graph.stream({"messages": []}, stream_mode="custom"))


@every_row(
    "error",
    [
        InvalidRequest("k", "0", "Use 1."),
        BankNotFound("ann"),
        BankForgotten("ann"),
        MissingDependency("chromadb", "Install it."),
        SchemaMismatch(Path("/memory"), 99, 9),
    ],
)
@every_row("on_error", list(OnError))
def test_mistakes_of_the_program_are_always_raised(error: HindsightError, on_error: OnError) -> None:
    """An error that every run would meet again is not hidden behind warnings."""
    with pytest.raises(type(error)):
        run_with(error, on_error)


FAILURES = [
    EngineClosed(),
    LedgerBusy(Path("/memory"), 7),
    IndexBehind("keyword", "ann", "no space left on the disk"),
    ModelUnavailable("m", "it is down"),
]


@pytest.mark.parametrize("error", FAILURES)
@pytest.mark.parametrize("on_error", [OnError.QUEUE, OnError.SKIP])
def test_other_failures_are_one_warning_and_one_line_of_the_log(
    error: HindsightError, on_error: OnError, caplog: pytest.LogCaptureFixture
) -> None:
    """The run continues; its stream shows what is missing and what to do."""
    with caplog.at_level(logging.WARNING):
        (event,) = run_with(error, on_error)
    assert event["remedy"]
    assert (
        event.items()
        >= {
            "type": "hindsight",
            "kind": "warning",
            "bank": "ann",
            "node": "retain",
            "error": type(error).__name__,
            "missing": "this turn is not remembered yet",
        }.items()
    )
    (line,) = caplog.records
    assert line.name == "hindsight_integrations.langgraph"
    assert {"retain", "'ann'", f"({type(error).__name__})"} <= set(line.getMessage().replace(":", "").split())


@every_row("error", FAILURES)
def test_under_raise_every_failure_is_the_runs(error: HindsightError) -> None:
    """With "raise", failures are raised unchanged."""
    with pytest.raises(type(error)):
        run_with(error, OnError.RAISE)


def test_no_words_of_a_model_are_told_of_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    """An answer outside its schema may quote the input; neither the event nor the log repeats it."""
    with caplog.at_level(logging.WARNING):
        events = run_with(MalformedOutput("m", QUOTED, f"not JSON: {QUOTED}"), OnError.QUEUE)
    assert QUOTED not in str(events) + caplog.text
    assert events[0]["error"] == "MalformedOutput"


def test_an_error_that_is_not_ours_is_raised() -> None:
    """A bug of a node is not treated as a memory failure."""
    with pytest.raises(ZeroDivisionError), tolerated(OnError.SKIP, node="n", bank="b", missing="nothing"):
        raise ZeroDivisionError
