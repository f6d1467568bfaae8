"""A published exception must fail and must be there: else the run of LangGraph's suites fails."""

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
    assert type(InMemoryStore()).__name__ == "InMemoryStore"
"""
ENTRY = '[[case]]\nsuite = "a-suite"\nname = "test_small.py::{}"\nreason = "it is said here"\n'


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (["test_does_not_hold"], "1 passed, 1 xfailed"),
        (["test_does_not_hold", "test_holds"], "1 failed, 1 xfailed"),
        (
            ["test_does_not_hold", "test_gone"],
            "no case of the suite, but published as an exception: test_small.py::test_gone",
        ),
    ],
)
def test_only_a_case_that_fails_may_be_published(tmp_path: Path, published: list[str], said: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/__init__.py").touch()
    (tmp_path / "tests/test_small.py").write_text(CASES)
    (tmp_path / "exceptions.toml").write_text("\n".join(map(ENTRY.format, published)))
    options = ["-q", "-c", str(PLUGIN / "suite.ini"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    run = [sys.executable, "-m", "pytest", "-p", "suite_plugin", "--suite", "a-suite", *options]
    paths = os.pathsep.join((str(PLUGIN), str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [*run, "--exceptions", str(tmp_path / "exceptions.toml"), "tests/test_small.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stdout + done.stderr
    assert (done.returncode == 0) == (published == ["test_does_not_hold"])
