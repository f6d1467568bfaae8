"""A published exception must exist and must fail as described: otherwise the run of LangGraph's suites fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "langgraph_suites"
CASES = """
from langgraph.store.memory import InMemoryStore

def test_holds():
    assert InMemoryStore().list_namespaces() == []

def test_does_not_hold():
    assert InMemoryStore().no_such_thing

def test_fails_otherwise():
    assert type(InMemoryStore()).__name__ == "InMemoryStore"
"""
ENTRY = '[[case]]\nsuite = "a-suite"\nname = "test_small.py::{}"\nreason = "it is said here"\nfails_by = "AttributeError"\n'


GONE = "no case of the suite, but published as an exception: test_small.py::test_gone"


@pytest.mark.parametrize(
    ("run", "published", "said", "holds"),
    [
        (["test_holds", "test_does_not_hold"], ["test_does_not_hold"], "1 passed, 1 xfailed", True),
        (
            ["test_holds", "test_does_not_hold"],
            ["test_does_not_hold", "test_holds"],
            "1 failed, 1 xfailed",
            False,
        ),
        (["test_fails_otherwise"], ["test_fails_otherwise"], "1 failed", False),
        (["test_holds"], ["test_gone"], GONE, False),
    ],
)
def test_only_a_case_that_fails_as_published_is_let_go(
    tmp_path: Path, run: list[str], published: list[str], said: str, holds: bool
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/__init__.py").touch()
    (tmp_path / "tests/test_small.py").write_text(CASES)
    (tmp_path / "exceptions.toml").write_text("\n".join(map(ENTRY.format, published)))
    options = ["-q", "-c", str(PLUGIN / "suite.ini"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    pytest_of_it = [sys.executable, "-m", "pytest", "-p", "suite_plugin", "--suite", "a-suite", *options]
    paths = os.pathsep.join((str(PLUGIN), str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [
            *pytest_of_it,
            "--exceptions",
            str(tmp_path / "exceptions.toml"),
            *(f"tests/test_small.py::{case}" for case in run),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stdout + done.stderr
    assert (done.returncode == 0) == holds
