"""The pytest plugin of a run of LangGraph's store tests: our store under their names, and the published exceptions.

A case in exceptions.toml must fail as described there: if it passes, fails otherwise or does not exist, the
run fails.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
import pytest
import stand_ins

FAILURES: dict[str, type[BaseException]] = {
    "AttributeError": AttributeError,
    "Failed": pytest.fail.Exception,
}  # as exceptions.toml names them
EXCEPTIONS = Path(__file__).with_name("exceptions.toml")

for module, name, stand_in in (
    (langgraph.store.memory, "InMemoryStore", stand_ins.InMemoryStandIn),
    (langgraph.store.sqlite, "SqliteStore", stand_ins.SqliteStandIn),
    (langgraph.store.sqlite, "AsyncSqliteStore", stand_ins.AsyncSqliteStandIn),
    (langgraph.store.sqlite.aio, "AsyncSqliteStore", stand_ins.AsyncSqliteStandIn),
):
    setattr(module, name, stand_in)  # before a test module imports them

OPENING = pytest.StashKey[list[str]]()  # the cases that opened a stand-in


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite", required=True, help="the distribution whose tests these are")
    parser.addoption("--exceptions", type=Path, default=EXCEPTIONS, help="which of them do not hold")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the published exceptions to fail, and reject those that name no case."""
    published = exceptions(config.getoption("--exceptions"), config.getoption("--suite"))
    unknown = set(published)
    for item in items:
        case = item.nodeid.removeprefix("tests/").partition("[")[0]
        unknown.discard(case)
        if case in published:
            reason, failure = published[case]
            item.add_marker(pytest.mark.xfail(reason=reason, raises=failure, strict=True))
    if unknown:
        raise pytest.UsageError(
            f"no case of the suite, but published as an exception: {', '.join(sorted(unknown))}"
        )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OPENING] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record whether a case opened our store, and close it, because tests of InMemoryStore do not."""
    stand_ins.IN_USE.clear()
    try:
        return (yield)
    finally:
        if stand_ins.IN_USE:
            item.config.stash[OPENING].append(item.nodeid)
        for store in stand_ins.IN_USE:
            if isinstance(store, stand_ins.InMemoryStandIn):
                store.memory.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report how many cases of a suite test functions of LangGraph and open no store."""
    opening = config.stash[OPENING]
    terminalreporter.write_line(f"{len(set(opening))} cases opened HindsightStore")


def exceptions(page: Path, suite: str) -> dict[str, tuple[str, type[BaseException]]]:
    """The cases of a suite that our store does not pass: the reason, and the error with which they fail."""
    cases = tomllib.loads(page.read_text(encoding="utf-8"))["case"]
    return {
        case["name"]: (case["reason"], FAILURES[case["fails_by"]]) for case in cases if case["suite"] == suite
    }
