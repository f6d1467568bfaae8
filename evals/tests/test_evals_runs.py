"""Whole runs from the command line, with a model and judges behind OpenAI's protocol: killed at any point, they can be resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from openai_server import Hang, OpenAIServer, RecordedRequest, ServerReply

from hindsight_evals.results import ResultFiles
from hindsight_integrations import HindsightConfig

TOLD = {
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I painted the old lighthouse."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "I baked rye bread."},
    ],
    "session_2_date_time": "9:05 am on 1 June, 2023",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold my guitar to Carla."}],
}
ASKED = [
    {"question": "What did Ann paint?", "answer": "the lighthouse", "evidence": ["D1:1"], "category": 4},
    {"question": "When did Ben sell his guitar?", "answer": "in June", "evidence": ["D2:1"], "category": 2},
    {"question": "Who flew to Mars?", "adversarial_answer": "Ben", "evidence": [], "category": 5},
]
EVALS = [sys.executable, "-m", "hindsight_evals"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path := tmp_path_factory.mktemp("data") / "conv-1.json").write_text(
        json.dumps({"conversation": TOLD, "qa": ASKED})
    )
    return path


def reply(request: RecordedRequest) -> ServerReply:
    """A scripted model: one fact per message, the best note as answer, and a judge that looks for the reference in it."""
    shown = str(request.body["messages"][-1]["content"])
    system = str(request.body["messages"][0]["content"])
    if "You check an answer" in system:
        parts = {
            name: shown.split(f"<<<{name}\n")[1].split(f"\n{name}>>>", maxsplit=1)[0]
            for name in ("REFERENCE", "ANSWER")
        }
        return {"explanation": "compared", "correct": parts["REFERENCE"] in parts["ANSWER"]}
    if "You answer a question from notes" in system:
        return {"answer": shown.split("[1] ")[1].splitlines()[0] if "[1] " in shown else "I do not know."}
    said = [line for line in TOLD["session_1"] + TOLD["session_2"] if line["text"] in shown]  # type: ignore[operator]
    return {
        "facts": [
            {"what": f"{each['speaker']}: {each['text']}", "sources": [each["dia_id"]]} for each in said
        ]
    }


def command(run: Path, data: Path, *more: str) -> list[str]:
    models = [
        "--memory-model",
        "openai:small",
        "--reader",
        "openai:small",
        "--judge",
        "openai:one",
        "--judge",
        "openai:two",
    ]
    systems = [
        "--systems",
        "hindsight,plain-rrf",
        "--budgets",
        "40,200",
        "--answer-budget",
        "200",
        "--at-once",
        "2",
    ]
    begun = ["run", str(run), "--episodes", f"locomo:{data}", *systems, *models]
    return [*EVALS, *begun, "--vectors", str(run.parent / "vectors.sqlite"), *more]


def started(arguments: list[str], server: OpenAIServer) -> subprocess.Popen[str]:
    environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any", "COLUMNS": "200"}
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment)


def completed(arguments: list[str], server: OpenAIServer) -> str:
    process = started(arguments, server)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    return out


def written(run: Path) -> dict[str, bytes]:
    """The files that must not depend on kills: results and report, whose timings are separate."""
    results = {str(path.relative_to(run)): path.read_bytes() for path in (run / "results").rglob("*.json")}
    return results | {name: (run / name).read_bytes() for name in ("report.md", "report.html")}


def killed_after(calls: int) -> tuple[Callable[[RecordedRequest], ServerReply], list[subprocess.Popen[str]]]:
    """A model that kills its caller at a certain call, and answers all others."""
    caller: list[subprocess.Popen[str]] = []
    taken = 0

    def answer(request: RecordedRequest) -> ServerReply:
        nonlocal taken
        taken += 1
        if taken == calls:
            caller[0].send_signal(signal.SIGKILL)
            return Hang()
        return reply(request)

    return answer, caller


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, data: Path) -> dict[str, bytes]:
    run = tmp_path_factory.mktemp("whole") / "run"
    with OpenAIServer(reply) as server:
        shown = completed(command(run, data), server)
    assert "openai:one" in shown
    return written(run)


@pytest.mark.parametrize("calls", [1, 2, 9, 15])
def test_a_run_killed_at_a_model_call_goes_on_to_the_same_report(
    tmp_path: Path, data: Path, whole: dict[str, bytes], calls: int
) -> None:
    """In extraction, answers and verdicts: after resuming, results and report are the same to the byte."""
    run = tmp_path / "killed"
    answer, caller = killed_after(calls)
    with OpenAIServer(answer) as server:
        caller.append(started(command(run, data), server))
        assert caller[0].wait(timeout=120) == -signal.SIGKILL
        assert not (run / "report.md").exists()
    with OpenAIServer(reply) as server:
        resume = [
            *EVALS,
            "resume",
            str(run),
            "--vectors",
            str(tmp_path / "vectors.sqlite"),
        ]
        completed(resume, server)
    assert written(run) == whole


def test_every_answer_is_judged_by_every_judge(tmp_path: Path, data: Path) -> None:
    """A stored answer of a model is never requested again."""
    run = tmp_path / "run"
    with OpenAIServer(reply) as server:
        completed(command(run, data), server)
        asked = len(server.requests)
        completed(command(run, data), server)
        assert len(server.requests) == asked
    results = list(ResultFiles(run).all())
    assert len(results) == 6
    for result in results:
        assert [judgment.judge for judgment in result.judgments["answer"]] == ["openai:one", "openai:two"]
    ours = {one.question.text: one for one in results if one.system == "hindsight"}
    assert all(judgment.yes for judgment in ours["What did Ann paint?"].judgments["answer"]) is False
    assert "lighthouse" in str(ours["What did Ann paint?"].answer)


def test_a_run_is_not_resumed_as_another(tmp_path: Path, data: Path) -> None:
    """Results with two settings would mix: the error names the first difference."""
    run = tmp_path / "run"
    with OpenAIServer(reply) as server:
        completed(command(run, data), server)
        process = started(command(run, data, "--setting", "week_starts=sunday"), server)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "settings" in out
    assert "Traceback" not in out


def test_the_settings_that_make_passes_exist() -> None:
    """`make evals-public` names settings of the package."""
    makefile = Path(__file__).parents[2] / "Makefile"
    names = set(re.findall(r"--setting (\w+)=", makefile.read_text()))
    assert names
    assert names <= {field.name for field in fields(HindsightConfig)}


def test_people_can_answer_and_judge_in_files(tmp_path: Path, data: Path) -> None:
    """Exported lines are imported with answers, then with verdicts; the report counts them."""
    run, lines = tmp_path / "run", tmp_path / "lines.jsonl"

    def eval_(*arguments: str) -> str:
        done = subprocess.run([*EVALS, *arguments], capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def add(**values: Any) -> None:
        asked = [json.loads(line) | values for line in lines.read_text().splitlines()]
        assert len(asked) == 3
        lines.write_text("".join(json.dumps(line) + "\n" for line in asked))

    vectors = ("--vectors", str(tmp_path / "vectors.sqlite"))
    eval_("run", str(run), "--episodes", f"locomo:{data}", "--systems", "plain-rrf", *vectors)
    assert "3 answers wanted" in eval_("export", str(run), str(lines))
    assert json.loads(lines.read_text().splitlines()[0])["notes"]
    add(answer="Nobody knows.")
    assert "3 imported" in eval_("import", str(run), str(lines), "--by", "Ada")
    assert "3 verdicts wanted" in eval_("export", str(run), str(lines), "--stage", "verdicts", "--by", "Ben")
    add(yes=True)
    assert "3 imported" in eval_("import", str(run), str(lines), "--by", "Ben")
    assert "0 imported" in eval_("import", str(run), str(lines), "--by", "Ben")
    shown = eval_("report", str(run))
    assert "| all | plain-rrf | 3 | 100.0 | 100.0 |" in shown


class Links(HTMLParser):
    """Collects the addresses that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]
        if tag not in {"meta", "br", "path", "use"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def test_the_page_loads_nothing(whole: dict[str, bytes]) -> None:
    """One file contains its plots; every element is closed."""
    page = Links()
    page.feed(whole["report.html"].decode())
    assert not page.open
    assert not [link for link in page.loads if not link.startswith("#")]
    assert whole["report.html"].count(b"<svg") >= 1


def test_systems_are_listed_with_what_is_absent() -> None:
    """The list says which systems can be compared, and what is missing."""
    shown = subprocess.run([*EVALS, "peers"], capture_output=True, text=True, check=True)
    assert "hindsight" in shown.stdout
    assert "chroma" in shown.stdout


def test_the_products_command_line_forwards_here() -> None:
    """`hindsight-memory eval ...` is `hindsight-evals ...`, including options and exit codes."""
    product = [sys.executable, "-c", "from hindsight_integrations.cli import main; main()", "eval"]
    for arguments in (["peers"], ["resume", "nowhere"], ["bench", "crash", "--help"], ["--help"]):
        run = [
            subprocess.run([*start, *arguments], capture_output=True, text=True, check=False)
            for start in (product, EVALS)
        ]
        said = [done.stdout.replace("hindsight-memory eval", "hindsight-evals") for done in run]
        assert said[0].split() == said[1].split(), arguments
        assert run[0].returncode == run[1].returncode == (1 if "nowhere" in arguments else 0)
