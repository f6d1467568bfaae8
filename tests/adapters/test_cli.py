"""The command line: each command does its job and errors are one line."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from openai_server import Hang, OpenAIServer, ServerReply, Status

from hindsight_integrations import Hindsight, HindsightConfig, Message, ModelUnavailable
from hindsight_integrations.cli import main
from hindsight_integrations.config import ObservationConfig, RetainConfig
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.scripted_model import ScriptedModel

SCRIPT = "from hindsight_integrations.cli import main; main()"
QUEUE = HindsightConfig(retain=RetainConfig(on_model_failure="queue"), observations=ObservationConfig("off"))
KAYAK = {"facts": [{"what": "Alice bought a red kayak.", "sources": ["m1"]}]}


def run(*arguments: str, typed: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    """What the command line writes and ends with; in this process, which spares the imports of another."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["hindsight-memory", *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def test_what_is_retained_is_recalled_and_counted(tmp_path: Path) -> None:
    """retain, recall and doctor work on one directory, one after the other."""
    assert "created 1 memory" in run("retain", str(tmp_path), "Alice moved to Lisbon in May 2024.").stdout
    assert "Alice moved to Lisbon" in run("recall", str(tmp_path), "Where does Alice live?").stdout
    health = run("doctor", str(tmp_path)).stdout
    assert "bank default" in health
    assert "1 memory" in health


@pytest.mark.promise("Every error says what to do.")
def test_an_error_is_one_line_and_says_what_to_do(tmp_path: Path) -> None:
    """An unknown bank or an unreadable file ends with status 1 and a sentence, not a traceback."""
    run("retain", str(tmp_path), "Alice moved to Lisbon.")
    failed = run("recall", str(tmp_path), "x", "--bank", "nobody")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr == "Error: there is no bank 'nobody' (banks here: 'default'). Pass another --bank.\n"
    assert run("demo", str(tmp_path / "missing.json")).returncode == 1


def test_evaluations_that_are_not_installed_are_named() -> None:
    """They are a distribution of their own: one line says what to install."""
    absent = "import sys; sys.modules['hindsight_evals'] = None; " + SCRIPT
    done = subprocess.run(
        [sys.executable, "-c", absent, "eval", "run", "folder", "--episodes", "forgetting:plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Evaluations are not installed. From this repository: pip install ./evals\n"


def test_the_demo_shows_all_four_channels() -> None:
    """The sample conversation is retained and every channel contributes to the memories shown."""
    done = run("demo")
    assert done.returncode == 0, done.stderr
    tally = done.stdout.replace("\n", " ").split("by channel that found them:")[1]
    counts = [int(word.strip(",")) for word in tally.split() if word.strip(",").isdigit()]
    assert len(counts) == 4
    assert min(counts) > 0


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A memory in which a message waits for the model."""
    with Hindsight.open(
        tmp_path, model=ScriptedModel([ModelUnavailable("test", "down")]), reranker=None, config=QUEUE
    ) as engine:
        engine.bank("alice").retain([Message("I bought a red kayak.", "Alice", "2024-05-03T10:00", id="m1")])
    return tmp_path


def asked(url: str) -> dict[str, str]:
    """The environment in which a command asks a model there, and makes no observations."""
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "HINDSIGHT_OBSERVATIONS": "off"}


def worked(folder: Path, replies: Sequence[ServerReply], *options: str) -> subprocess.CompletedProcess[str]:
    """`work` with a model that gives these answers."""
    with OpenAIServer(replies) as server:
        return run("work", str(folder), "--model", "openai:gpt-test", *options, **asked(server.url))


@pytest.mark.parametrize("options", [[], ["--follow"]], ids=["what is due", "until nothing waits"])
def test_work_does_what_waits(waiting: Path, options: list[str]) -> None:
    """`doctor` says what waits, `work` does it and says what came of it, and then nothing waits."""
    assert "1 wait, for a language model" in run("doctor", str(waiting)).stdout.replace("\n", " ")
    done = worked(waiting, [KAYAK], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 tasks done; 1 new memories" in done.stdout
    assert "wait" not in done.stdout
    assert "red kayak" in run("recall", str(waiting), "kayak", "--bank", "alice").stdout


@pytest.mark.slow
def test_work_says_what_it_cannot_do(waiting: Path) -> None:
    """Without a model the message waits on; with one that fails, the failure is told, and the status is 1."""
    without = run("work", str(waiting))
    assert (without.returncode, "for a language model: none was named" in without.stdout) == (0, True)
    failed = worked(waiting, [Status(401, "no such key")])
    assert failed.returncode == 1
    assert "ModelRefused" in failed.stdout
    assert "1 wait, the next is due in 0:0" in failed.stdout


@pytest.mark.slow
def test_work_leaves_a_memory_alone_that_is_in_use(waiting: Path) -> None:
    """Somebody else's directory, or none at all, is refused with what to do."""
    with Hindsight.open(waiting, reranker=None):
        busy = run("work", str(waiting))
    assert busy.returncode == 1
    assert str(os.getpid()) in busy.stderr
    nothing = run("work", str(waiting / "nowhere"))
    assert (nothing.returncode, "there is no memory" in nothing.stderr) == (1, True)
    assert not (waiting / "nowhere").exists()


@pytest.mark.slow
def test_work_that_is_stopped_gives_back_what_it_had_begun(waiting: Path) -> None:
    """SIGTERM, as a service manager sends it, ends it soon, and the task is as if nobody had begun it."""
    with OpenAIServer([Hang()]) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "work", str(waiting), "--model", "openai:gpt-test"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **asked(server.url)},
        )
        while not server.requests:
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=20)
    assert (process.returncode, "stopped" in printed) == (130, True)
    with Hindsight.open(waiting, reranker=None) as engine:
        (task,) = engine.bank("alice").tasks.list()
        assert (task.state, task.attempts) == (TaskState.PENDING, 0)
