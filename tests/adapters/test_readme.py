"""README's examples run as printed: the first one, and record and replay."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START
from openai_server import OpenAIServer

from hindsight_integrations import Hindsight, HindsightConfig, Message
from hindsight_integrations.testing import MissingAnswer, RecordedModel, unanswered
from hindsight_integrations.testing.language_model_contract import verdict_prompt
from hindsight_integrations.testing.scripted_model import ScriptedModel

README = Path(__file__).resolve().parents[2] / "README.md"


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_example_runs(tmp_path: Path) -> None:
    """Copied into a file, it retains and recalls what it says, with the default models."""
    code = examples()[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "red kayak" in done.stdout.splitlines()[0]


def test_the_example_of_a_server_of_ones_own_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a model behind OPENAI_BASE_URL, and opens without asking it."""
    code = next(code for code in examples() if "OPENAI_BASE_URL" in code)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    exec(code.replace("\nHindsight.open", "\nengine = Hindsight.open"), found)  # noqa: S102 - the README's own
    engine = found["engine"]
    assert isinstance(engine, Hindsight)
    engine.close()


def test_the_example_of_a_list_runs(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """It serves the list without what was taken off it, and with what came to it."""
    code = next(code for code in examples() if "document_item" in code)
    exec(code, {"bank": light.bank("alice"), "Message": Message})  # noqa: S102 - the README's own
    assert capsys.readouterr().out.splitlines() == ["Packing list for Lisbon", "- shirts", "- a hat"]


def test_the_example_of_a_profile_runs(light: Hindsight) -> None:
    """It sets a profile of three dimensions, lends one of five traits, and stores the first alone."""
    code = next(code for code in examples() if "bank.with_profile" in code)
    bank = light.bank("club")
    bank.retain("The new boat costs 4,000 euros.", timestamp="2024-11-02")
    exec(code, {"bank": bank})  # noqa: S102 - the README's own
    assert (bank.profile.get().name, len(bank.profile.history())) == ("Iris", 1)


def test_the_example_of_opinions_runs(
    opener: Callable[..., Hindsight], capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer forms an opinion, a fact retained later moves it, and both are printed."""
    code = next(code for code in examples() if "bank.opinions" in code)
    text = "I think the new boat is worth its price because it is fast."
    belief = {
        "opinion": text,
        "confidence": 0.6,
        "reasoning": "It is fast.",
        "based_on": ["1"],
        "entities": ["boat"],
    }
    answer = {"text": "Yes.", "based_on": ["1"], "sufficient": True, "opinions": [belief]}
    weighed = {"opinion": 1, "fact": 1, "assessment": "weaken", "strength": "strong", "reason": "It leaks."}
    with opener(":memory:", model=ScriptedModel([answer, {"assessments": [weighed]}, answer])) as hindsight:
        bank = hindsight.bank("club")
        bank.retain("The new boat is fast.", facts=[{"what": "The new boat is fast."}])
        exec(code, {"bank": bank})  # noqa: S102 - the README's own
        bank.retain("The new boat leaks.", facts=[{"what": "The new boat leaks."}])
        bank.tasks.settle()
        exec(code, {"bank": bank})  # noqa: S102 - the README's own
    assert "0.6 0.45" in capsys.readouterr().out


def test_the_example_of_standing_questions_runs(light: Hindsight) -> None:
    """It keeps a question with its answer, and a rule."""
    code = next(code for code in examples() if "bank.mental_models" in code)
    bank = light.bank("club")
    bank.retain("The club owns a red boat, which leaks.")
    exec(code, {"bank": bank})  # noqa: S102 - the README's own
    assert bank.mental_models.get("boats").text == "The club owns a red boat, which leaks."
    assert len(bank.directives.list()) == 1


def test_the_example_of_steps_runs(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> None:
    """It streams an answer in steps, with a tool of its own, and gives it in its own form."""
    code = next(code for code in examples() if "reflect_stream" in code)
    replies: list[Any] = [
        {"tool": "tide", "arguments": {"harbour": "Brenna"}},
        {"tool": "answer"},
        "To Brenna, for two days.\nSOURCES: 1",
        {"where": "Brenna", "days": 2},
        {"opinions": []},
    ]
    bank = opener(config=light_config, model=ScriptedModel(replies)).bank("club")
    bank.retain("Rowed.", facts=[{"what": "The club rowed to Brenna for two days in May."}])
    found: dict[str, Any] = {"bank": bank}
    exec(code, found)  # noqa: S102 - the README's own
    answer = found["answer"]
    assert (answer.text, answer.structured.days) == ("To Brenna, for two days.", 2)
    assert [each.tool for each in answer.steps] == ["tide"]
    assert len(answer.based_on) == 1


@pytest.mark.slow
def test_record_and_replay_runs(tmp_path: Path) -> None:
    """The example records what OpenAI's own client brings, replays it, and asks nothing twice."""
    code = next(code for code in examples() if "import RecordedModel" in code)
    sold = {"facts": [{"what": "The user sold the red kayak to Ines."}]}
    with OpenAIServer([sold, {"text": "Ines has it.", "based_on": ["1"]}]) as server:
        environment = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": server.url}
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert len(server.requests) == 2


def test_answering_by_hand_runs(tmp_path: Path) -> None:
    """The example shows a request that waits, and answers it."""
    code = next(code for code in examples() if "import unanswered" in code)
    model = RecordedModel(tmp_path / "recordings")
    with pytest.raises(MissingAnswer):
        asyncio.run(model.complete(verdict_prompt("Is the kayak sold?")))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Is the kayak sold?\n"
    assert unanswered(tmp_path / "recordings") == {}


def test_the_examples_of_a_graph_run(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """Its three nodes are a graph that remembers, and whoever watches it sees the warning of a memory that fails."""
    found: dict[str, Any] = {"hindsight": light, "answer": lambda _: {}}
    exec(next(code for code in examples() if "create_retain_node" in code), found)  # noqa: S102 - the README's own
    graph = found["graph"].add_edge(START, "recall").add_edge("recall", "answer").add_edge("answer", "retain")
    state = {"messages": [("user", "I own a kayak.")]}
    watched = {"graph": graph.compile(), "given": state, "config": {"configurable": {"user_id": "alice"}}}
    watching = next(code for code in examples() if "stream_mode" in code)
    exec(watching, watched)  # noqa: S102 - the README's own
    assert (capsys.readouterr().out, light.bank("alice").count()) == ("", 1)
    light.close()
    exec(watching, watched)  # noqa: S102 - the README's own
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in shown] == [["recall", "EngineClosed"], ["retain", "EngineClosed"]]
