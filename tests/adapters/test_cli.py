"""The command line: each command works, and errors are one line."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openai_server import Hang, OpenAIServer, ServerReply, Status
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, Message, ModelUnavailable
from hindsight_integrations.cli import main
from hindsight_integrations.cli.app import advice
from hindsight_integrations.config import ObservationConfig, RetainConfig
from hindsight_integrations.errors import (
    ArchiveInvalid,
    BankNotFound,
    EmbedderMismatch,
    HindsightError,
    IndexBehind,
    IndexOutOfStep,
    InvalidRequest,
    LedgerBusy,
    LedgerLost,
    MemoryDamaged,
    PromptTooLong,
)
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.scripted_model import ScriptedModel

COMMANDS = ["retain", "recall", "reflect", "banks", "show", "forget", "export", "import", "tasks", "work"]
COMMANDS += ["doctor", "demo", "migrate"]  # not eval, whose help belongs to another package
SCRIPT = "from hindsight_integrations.cli import main; main()"
QUEUE = HindsightConfig(retain=RetainConfig(on_model_failure="queue"), observations=ObservationConfig("off"))
KAYAK = {"facts": [{"what": "Alice bought a red kayak.", "sources": ["m1"]}]}


def run(*arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The output and exit code of a command, run in this process to save imports."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["hindsight-memory", *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
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
    """An unknown bank or an unreadable file ends with status 1 and one sentence instead of a traceback."""
    run("retain", str(tmp_path), "Alice moved to Lisbon.")
    failed = run("recall", str(tmp_path), "x", "--bank", "nobody")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr == "Error: there is no bank 'nobody' (banks here: default). Pass another --bank.\n"
    assert run("demo", str(tmp_path / "missing.json")).returncode == 1


def test_evaluations_that_are_not_installed_are_named() -> None:
    """Evaluations are a separate distribution; one line says what to install."""
    absent = "import sys; sys.modules['hindsight_evals'] = None; " + SCRIPT
    done = subprocess.run(
        [sys.executable, "-c", absent, "eval", "run", "folder", "--episodes", "forgetting:plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Evaluations are not installed. From this repository: pip install ./evals\n"


def test_without_the_extra_one_line_says_what_to_install() -> None:
    """If typer is missing, one line replaces the traceback."""
    absent = "import sys; sys.modules['typer'] = None; " + SCRIPT
    done = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'Error: typer is not installed. Run: pip install "hindsight-integrations[cli]"\n'


def test_the_demo_runs_as_in_an_installed_wheel(tmp_path: Path) -> None:
    """It runs in a separate process, with read-only recordings and a model's name in the environment."""
    environment = {**os.environ, "HINDSIGHT_MODEL": "openai:nobody", "HF_HUB_OFFLINE": "1"}
    environment |= {"COLUMNS": "200", "HINDSIGHT_LANGUAGES": "de", "HINDSIGHT_OBSERVATIONS": "auto"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "demo"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "7. What it cost" in done.stdout
    assert "\x1b" not in done.stdout
    assert not any(tmp_path.iterdir())


def test_the_demo_of_a_locomo_file_shows_all_four_channels(tmp_path: Path) -> None:
    """The conversation is retained and every channel contributes to the memories shown."""
    data = Path(__file__).parents[2] / "evals/src/hindsight_evals/garden_club"
    club, asked = (json.loads((data / f"{name}.json").read_text()) for name in ("garden_club", "questions"))
    conversation: dict[str, Any] = {}
    for number, session in enumerate(club["sessions"], 1):
        moment = datetime.fromisoformat(session["date"])
        conversation[f"session_{number}_date_time"] = f"{moment:%I:%M %p on %d %B, %Y}"
        conversation[f"session_{number}"] = [
            {"dia_id": turn["id"], "speaker": turn["speaker"], "text": turn["text"]}
            for turn in session["messages"]
        ]
    qa = [{"question": item["question"], "evidence": ["D1:1"], "category": 1} for item in asked["questions"]]
    (file := tmp_path / "club.json").write_text(json.dumps({"conversation": conversation, "qa": qa}))
    done = run("demo", str(file))
    assert done.returncode == 0, done.stderr
    tally = done.stdout.replace("\n", " ").split("by channel that found them:")[1]
    counts = [int(word.strip(",")) for word in tally.split() if word.strip(",").isdigit()]
    assert len(counts) == 4
    assert min(counts) > 0


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A memory with a message that waits for the model."""
    with Hindsight.open(
        tmp_path, model=ScriptedModel([ModelUnavailable("test", "down")]), reranker=None, config=QUEUE
    ) as engine:
        engine.bank("alice").retain([Message("I bought a red kayak.", "Alice", "2024-05-03T10:00", id="m1")])
    return tmp_path


def asked(url: str) -> dict[str, str]:
    """The environment in which a command uses a model and makes no observations."""
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "HINDSIGHT_OBSERVATIONS": "off"}


def worked(folder: Path, replies: Sequence[ServerReply], *options: str) -> subprocess.CompletedProcess[str]:
    """The output of `work` with a model that gives these answers."""
    with OpenAIServer(replies) as server:
        return run("work", str(folder), "--model", "openai:gpt-test", *options, **asked(server.url))


@pytest.mark.parametrize("options", [[], ["--follow"]], ids=["what is due", "until nothing waits"])
def test_work_does_what_waits(waiting: Path, options: list[str]) -> None:
    """`doctor` shows the waiting task, `work` runs it and prints the result, and then nothing is waiting."""
    assert "1 waiting, for a language model" in run("doctor", str(waiting)).stdout.replace("\n", " ")
    done = worked(waiting, [KAYAK], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 task done; 1 new memory" in done.stdout
    assert "wait" not in done.stdout
    assert "red kayak" in run("recall", str(waiting), "kayak", "--bank", "alice").stdout


@pytest.mark.slow
def test_work_says_what_it_cannot_do(waiting: Path) -> None:
    """Without a model the message keeps waiting; if the model fails, the failure is printed, and the status is 1."""
    without = run("work", str(waiting))
    assert (without.returncode, "for a language model (none is set)" in without.stdout) == (0, True)
    failed = worked(waiting, [Status(401, "no such key")])
    assert failed.returncode == 1
    assert "ModelRefused" in failed.stdout
    assert "1 task waiting, the next due in 0:0" in failed.stdout


@pytest.mark.slow
def test_work_leaves_a_memory_alone_that_is_in_use(waiting: Path) -> None:
    """A directory that another process has open, or that is missing, is rejected with a remedy."""
    with Hindsight.open(waiting, reranker=None):
        busy = run("work", str(waiting))
    assert busy.returncode == 1
    assert str(os.getpid()) in busy.stderr
    nothing = run("work", str(waiting / "nowhere"))
    assert (nothing.returncode, "there is no memory" in nothing.stderr) == (1, True)
    assert not (waiting / "nowhere").exists()


@pytest.mark.slow
def test_work_that_is_stopped_gives_back_what_it_had_begun(waiting: Path) -> None:
    """SIGTERM, as a service manager sends it, stops the command quickly, and the task can be leased again."""
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


MESSAGES = [
    Message("I bought a red kayak for 300 dollars.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("I sold the kayak.", "Alice", "2024-06-03T10:00", id="m2"),
    Message("Remote work is good.", "assistant", "2024-06-04T10:00", id="m3"),
]
FACTS: list[dict[str, Any]] = [
    {
        "what": "Alice bought a red kayak.",
        "sources": ["m1"],
        "entities": [{"text": "Alice", "type": "PERSON"}],
    },
    {
        "what": "Alice sold her red kayak.",
        "sources": ["m2"],
        "entities": [{"text": "Alice", "type": "PERSON"}],
        "invalidates": ["Alice bought a red kayak."],
        "records": [{"kind": "income", "value": "300", "category": "kayak", "unit": "USD"}],
    },
    {
        "what": "I think remote work is good, because people choose their hours.",
        "fact_type": "opinion",
        "confidence": 0.8,
        "sources": ["m3"],
    },
    {"what": "[red]Bob[/red] \x1b[31mwhistles\x1b[0m " + "la " * 60, "sources": ["m1"]},
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A memory with a record, a closed memory, an opinion, and a text with markup and control characters."""
    folder = tmp_path_factory.mktemp("kept")
    with Hindsight.open(folder, reranker=None) as engine:
        engine.bank("default").retain(MESSAGES, facts=FACTS, thread="chat")
        engine.bank("other").retain("Zoe collects stamps.", tags=["hobby"])
    return str(folder)


def document(*arguments: str) -> Any:
    """The JSON document that a command with `--json` prints."""
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_chat_is_retained_once_and_the_output_says_how(tmp_path: Path) -> None:
    """The output names the format, and what was created, already known and skipped; the thread is named after the file."""
    memory, chat = str(tmp_path / "memory"), tmp_path / "Chat with Ana.txt"
    chat.write_text("13/2/24, 9:05 - Ana: I live in Porto.\n13/2/24, 9:06 - Ana: <Media omitted>\n")
    first = run("retain", memory, "--file", str(chat))
    assert first.stdout.splitlines() == [
        f"{chat}: WhatsApp export, 1 message (left out: media and deleted messages (1))",
        f"created a new memory in {memory}",
        "created 1 memory",
    ]
    assert run("retain", memory, "-f", str(chat)).stdout.endswith("created 0 memories; 1 unchanged\n")
    piped = run("retain", memory, "-", typed='{"role": "user", "content": "I own a boat."}\n')
    assert piped.stdout.startswith("standard input: JSON Lines, 1 message\n")
    (unit, _) = document("show", memory, "units")["units"]
    assert (unit["thread"], unit["mentioned_at"]) == ("Chat with Ana", "2024-02-13T09:05:00Z")


def test_a_file_that_changed_is_brought_up_to_date(tmp_path: Path) -> None:
    """A text file is one document: passages that it no longer contains are closed when it is retained again."""
    memory, note = str(tmp_path / "memory"), tmp_path / "note.txt"
    note.write_text("Zoe lives in Graz.")
    run("retain", memory, "--file", str(note), "--timestamp", "2024-05-01")
    note.write_text("Zoe lives in Linz.")
    assert "created 1 memory" in run("retain", memory, "--file", str(note)).stdout
    texts = [unit["text"] for unit in document("show", memory, "units")["units"]]
    assert texts == ["Zoe lives in Linz."]


def test_recall_gives_programs_and_people_what_they_need(kept: str) -> None:
    """Recall prints JSON with ISO 8601 times and an explanation, and filters by tag and by a past time."""
    found = document("recall", kept, "kayak", "--types", "world")
    assert found["memories"][0]["text"] == "Alice sold her red kayak."
    assert found["memories"][0]["mentioned_at"].startswith("2024-06-03T10:00:00")
    assert "memories (per channel: rank, score)" in run("recall", kept, "kayak", "--explain").stdout
    before = document("recall", kept, "kayak", "--as-of", "2024-05-10")
    assert "Alice bought a red kayak." in [item["text"] for item in before["memories"]]
    assert document("recall", kept, "stamps", "--bank", "other", "--tag", "hobby")["memories"]
    assert run("recall", kept, "stamps", "--bank", "other", "--tag", "work").stdout == "nothing found\n"


def test_reflect_answers_from_memory_without_a_model(kept: str) -> None:
    """The answer consists of the best memories, and the advice is for a shell."""
    done = run("reflect", kept, "What happened to the kayak?")
    assert "Alice sold her red kayak." in done.stdout
    assert "--model openai:NAME" in done.stdout
    assert "Hindsight.open" not in done.stdout
    assert document("reflect", kept, "What happened to the kayak?")["extractive"] is True


def test_what_a_bank_holds_is_listed(kept: str) -> None:
    """Banks, memories, records, entities and opinions are tables that fit 100 columns and say what was omitted."""
    banks = run("banks", kept).stdout
    assert [line.split()[:2] for line in banks.splitlines()] == [
        ["bank", "memories"],
        ["default", "4"],
        ["other", "1"],
    ]
    (unit,) = document("show", kept, "units", "--bank", "other")["units"]
    latest = [
        "memory",
        "2024-06-04",
        unit["mentioned_at"][:10],
    ]  # including content that was said earlier than it was retained
    assert [line.split()[-1] for line in banks.splitlines()] == latest
    units = run("show", kept, "units", "--limit", "2").stdout
    assert "1 more of 3 memories; see them with --limit" in units
    assert max(map(len, run("show", kept, "units").stdout.splitlines())) <= 100
    assert "300 USD" in run("show", kept, "records").stdout
    assert "Alice" in run("show", kept, "entities").stdout
    assert "remote work is good" in run("show", kept, "opinions").stdout
    assert document("show", kept, "records")["records"][0]["value"] == "300"
    assert document("show", kept, "entities", "--limit", "1")["total"] == 1
    assert document("show", kept, "opinions")["opinions"][0]["confidence"] == 0.8
    assert run("show", kept, "records", "--bank", "other").stdout == "no records\n"


def test_texts_cannot_write_to_the_terminal(kept: str) -> None:
    """Markup is printed as text, and control characters are removed."""
    for listing in (run("show", kept, "units"), run("recall", kept, "Who whistles?")):
        assert "[red]Bob[/red] [31mwhistles[0m la" in " ".join(listing.stdout.split())
        assert "\x1b" not in listing.stdout


def test_the_history_of_a_memory_and_of_an_opinion_is_shown(kept: str) -> None:
    """The history shows when and by what a memory was closed, and how an opinion was formed."""
    with Hindsight.open(kept, read_only=True) as engine:
        bank = engine.bank("default", create=False)
        closed = next(unit for unit in bank.iterate_units(include_invalidated=True) if unit.closed_at)
        (opinion,) = bank.opinions.list()
    shown = run("show", kept, "history", closed.id).stdout
    assert "until 2024-06-03" in shown
    assert "Alice sold her red kayak." in shown
    (event,) = document("show", kept, "history", closed.id)["history"]
    assert event["kind"] == "closed"
    assert (
        "formed 2024-06-04 with confidence 0.80; now 0.80" in run("show", kept, "history", opinion.id).stdout
    )


def test_forget_shows_first_and_erases_only_with_consent(tmp_path: Path) -> None:
    """Without --yes nothing is erased; with it the memory is gone."""
    memory = str(tmp_path)
    run("retain", memory, "Zoe lives in Graz.")
    run("retain", memory, "Bob owns a boat.")
    first = run("forget", memory, "--text", "Bob's boat")
    assert "Bob owns a boat." in first.stdout
    assert first.stdout.endswith("nothing was erased; pass --yes to erase\n")
    assert "boat" in run("recall", memory, "boat").stdout
    assert run("forget", memory, "--text", "Bob's boat", "--yes").stdout.endswith("erased 1 memory\n")
    assert [unit["text"] for unit in document("show", memory, "units")["units"]] == ["Zoe lives in Graz."]


def test_a_bank_moves_to_another_memory(kept: str, tmp_path: Path) -> None:
    """Import reads what export wrote; a file that is not an archive creates no memory."""
    archive, copy = str(tmp_path / "bank.jsonl"), str(tmp_path / "copy")
    assert run("export", kept, archive).stdout == f"exported 4 memories to {archive}\n"
    assert "imported 4 memories into bank default" in run("import", copy, archive).stdout
    assert "contains 4 memories" in run("import", copy, archive).stderr
    (tmp_path / "bad.jsonl").write_text("{}\n")
    bad = run("import", str(tmp_path / "new"), str(tmp_path / "bad.jsonl"))
    assert (bad.returncode, bad.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "new").exists()


def test_a_directory_needs_no_migration(kept: str) -> None:
    """`migrate` says that there is nothing to do, after opening the directory to check its version."""
    done = run("migrate", kept)
    assert (done.returncode, done.stdout) == (0, f"{kept} is up to date: directories need no migration\n")


def test_waiting_tasks_are_listed_and_made_due(waiting: Path) -> None:
    """`tasks` shows what is waiting and why; `--retry` makes it due and says how to run it."""
    assert "extract_queued" in run("tasks", str(waiting)).stdout
    assert (
        f"1 task due now; run with: hindsight-memory work {waiting}\n"
        in run("tasks", str(waiting), "--retry").stdout
    )


@every_row(
    "arguments, problem",
    [
        (["recall", "X"], "Missing argument 'QUERY'"),
        (["--nonsense"], "No such option: --nonsense"),
        (["recal", "X", "y"], "No such command 'recal'"),
        (["recall", "X", "y", "--max-tokens", "many"], "Invalid value for '--max-tokens'"),
        (["recall", "X", "y", "--max-tokens", "0"], "Invalid value for '--max-tokens'"),
        (["recall", "X", "y", "--types", "dreams"], "Invalid value for '--types'"),
        (
            ["recall", "X", "y", "--as-of", "soon"],
            "Invalid value for '--as-of': 'soon' cannot be read as a time",
        ),
        (["retain", "X"], "Nothing to retain: pass TEXT, --file, or - for standard input"),
        (["retain", "X", "text", "--file", __file__], "Pass TEXT or --file, not both"),
        (["retain", "X", "--file", "missing.txt"], "Invalid value for '--file'"),
        (["retain", "X", "text", "--format", "word"], "Invalid value for '--format'"),
        (["show", "X", "dreams"], "Invalid value for 'WHAT'"),
        (["show", "X", "history"], "history needs the ID of a memory or opinion"),
        (["show", "X", "units", "id"], "units takes no ID"),
        (["forget", "X"], "Pass one of --text, --entity, --thread, --message, --document and --unit"),
        (["forget", "X", "--text", "a", "--unit", "b"], "Pass one of --text"),
        (["forget", "X", "--text", "a", "--name", "b"], "--name goes with --entity"),
        (["import", "X", "missing.jsonl"], "Invalid value for 'FILE'"),
    ],
)
def test_a_wrong_call_is_one_line_and_a_hint(tmp_path: Path, arguments: list[str], problem: str) -> None:
    """Wrong usage ends with status 2, says what is wrong and where to look, and creates nothing."""
    place = tmp_path / "X"
    done = run(*(str(place) if word == "X" else word for word in arguments))
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert first.startswith(f"Error: {problem}")
    known = arguments[0] in COMMANDS
    assert second == f"Try: hindsight-memory {arguments[0] + ' ' if known else ''}--help"
    assert not place.exists()


@every_row(
    "arguments",
    [
        ["recall", "X", "y"],
        ["reflect", "X", "y"],
        ["banks", "X"],
        ["show", "X", "units"],
        ["forget", "X", "--text", "y", "--yes"],
        ["export", "X", "file"],
        ["tasks", "X"],
        ["tasks", "X", "--retry"],
        ["work", "X"],
        ["doctor", "X"],
    ],
)
def test_a_mistyped_path_is_named_and_not_created(tmp_path: Path, arguments: list[str]) -> None:
    """Every command that does not create a memory says that there is none, and how to create one."""
    place = tmp_path / "X"
    done = run(*(str(place) if word == "X" else word for word in arguments))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: there is no memory in {place}. "
        f"Check the path, or create one with: hindsight-memory retain {place} TEXT\n"
    )
    assert not place.exists()


@every_row(
    "arguments, problem",
    [
        (["show", "units", "--bank", "nobody"], "there is no bank 'nobody' (banks here: default, other)"),
        (["show", "units", "--bank", ""], "bank id: '' is not a name. Pass another --bank."),
        (["show", "history", "x"], "'x' is not in bank 'default'. Check the id."),
        (["forget", "--entity", "Nobody"], "'Nobody' is not known. List the names with"),
        (["forget", "--text", "xyzzy"], "text: "),
        (["reflect", "x", "--model", "gpt"], "model: 'gpt' is not of the form '<provider>:<name>'. Pass"),
    ],
)
def test_an_error_of_the_library_gives_advice_for_a_shell(
    kept: str, arguments: list[str], problem: str
) -> None:
    """The error is one line on standard error, contains no Python, and ends with status 1."""
    command, *rest = arguments
    done = run(command, kept, *rest)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"Error: {problem}")
    assert not re.search(r"\w\(|\w=\w|`", done.stderr)


@every_row(
    "error, told",
    [
        (LedgerBusy(Path("m"), 7), "m is open for writing in process 7. Wait"),
        (LedgerBusy(Path("m"), None), "m is open for writing in process unknown. Wait"),
        (BankNotFound("x"), "there is no bank 'x' (banks here: none). Pass"),
        (BankNotFound("x", tuple("abcdefg")), "there is no bank 'x' (banks here: a, b, c, d, e, ...). Pass"),
        (MemoryDamaged("x", ("u1", "u2")), "memories of bank 'x' are damaged: u1, u2. Restore"),
        (LedgerLost(Path("m"), "2 commits {gone}", 2, {}), "m has lost memory: 2 commits {gone}. Nothing"),
        (EmbedderMismatch("x", "A", "B"), "bank 'x' was embedded with A, not B. Set"),
        (IndexOutOfStep("vector", "x", "why"), "the vector index of bank 'x' is broken: why. Nothing"),
        (IndexBehind("vector", "x", "full"), "the vector index of bank 'x' is behind: full. Nothing"),
        (PromptTooLong("m", "why"), "the prompt exceeds the context of model m: why. Set"),
        (ArchiveInvalid(3, "unit.id", "why"), "line 3 of the archive, unit.id: why. Export"),
        (InvalidRequest("tags", "too many", "Pass tags=[]."), "tags: too many."),
        (InvalidRequest("tags", "too\nmany", "Use fewer."), "tags: too many. Use fewer."),
    ],
)
def test_what_to_do_about_an_error_is_said_for_a_shell(error: HindsightError, told: str) -> None:
    """The fields are those of the error, and no advice refers to Python."""
    line = advice(error)
    assert line.startswith(told)
    assert not re.search(r"\w\(|\w=[\w\[\"']", line.replace("HINDSIGHT_EXTRACTION=concise", ""))


def test_every_command_helps_as_recorded() -> None:
    """Each command runs in a separate process; `UPDATE_GOLDEN=1` records a change."""
    golden = Path(__file__).parents[1] / "golden" / "cli_help.txt"
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    pages = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *command, "--help"],
            capture_output=True,
            encoding="utf-8",
            check=True,
            env=environment,
        ).stdout
        for command in ([], *([each] for each in COMMANDS))
    ]
    text = "\n".join(pages)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_version_and_the_bare_name_are_answered() -> None:
    """`--version` prints one line; without a command the help is printed, which is not an error."""
    assert re.fullmatch(r"hindsight-memory \d+\.\d+\S*\n", run("--version").stdout)
    bare = run()
    assert (bare.returncode, bare.stderr) == (0, "")
    assert "Commands:" in bare.stdout


def test_a_closed_pipe_is_silent(kept: str) -> None:
    """`| head -1` ends the command without an error message."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "show", kept, "units", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=60)
    assert said == ""


@pytest.mark.slow
def test_ctrl_c_ends_a_command_without_a_traceback(kept: str) -> None:
    """While a model call runs, SIGINT ends the command quickly and silently, with status 130."""
    with OpenAIServer([Hang()]) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, "reflect", kept, "kayak", "--model", "openai:gpt-test"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **asked(server.url)},
        )
        while not server.requests:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=20)
    assert (process.returncode, printed, said) == (130, "", "")


@pytest.mark.parametrize("command", ["serve", "inspect"])
def test_a_command_that_needs_the_server_extra_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Without FastAPI both commands end with one line that contains the pip command."""
    run("retain", str(tmp_path), "Alice moved to Lisbon in May 2024.")
    for name in [name for name in sys.modules if name.startswith("hindsight_integrations.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    ended = run(command, str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert 'pip install "hindsight-integrations[server]"' in ended.stderr
