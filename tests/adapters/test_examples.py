"""The examples run unchanged, offline and quickly; the adapter packages can be imported without their frameworks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(*arguments: str) -> str:
    """The output of a Python process, which must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_langgraph_example_remembers_across_threads_and_keeps_users_apart() -> None:
    """On Friday the chatbot still knows what Alice said on Monday, with its date, and nothing about Bob's sister."""
    turns = [line for line in output_of(str(EXAMPLES / "langgraph_chat.py")).splitlines() if "agent:" in line]
    assert [line.split("agent: ")[1] for line in turns] == [
        "Lovely! What does she do there?",
        "Your sister Ana lives in Lisbon; she moved there in May.",
        "I don't know yet.",
    ]


@pytest.mark.slow
def test_the_agent_of_create_agent_uses_what_it_remembers_and_keeps_it_out_of_the_thread() -> None:
    """On Friday its tool is called with the city that Alice named on Monday; Bob's agent knows no city."""
    printed = output_of(str(EXAMPLES / "create_agent_memory.py")).splitlines()
    assert [line.split("agent: ")[1] for line in printed if "agent:" in line] == [
        "Noted.",
        "It is 13:00 in Lisbon.",
        "I don't know yet where your sister lives.",
    ]
    assert printed[6:] == [
        "messages in Friday's thread: ['human', 'ai', 'tool', 'ai']",
        "its user messages contain Lisbon: False",
        "alice: ['user: My sister Ana moved to Lisbon.']",
        "bob: []",
    ]


@pytest.mark.slow
def test_the_llamaindex_example_gives_the_model_dated_memories_and_no_noise() -> None:
    """The right memory comes first, and the prompt shows its date but no internal data."""
    printed = output_of(str(EXAMPLES / "llamaindex_query_engine.py"))
    sources, prompt = printed.split("the model's prompt:")
    assert "retained 3 memories" in sources  # the assistant's questions are not memories
    best = sources.split("get her cat?")[1].splitlines()[1]
    assert "I adopted a cat named Miso yesterday.  [happened on Sunday, June 9, 2024]" in best
    assert "date: happened on Sunday, June 9, 2024" in prompt
    assert "I adopted a cat named Miso yesterday." in prompt
    assert not any(noise in prompt for noise in ("fact_type", "channels", "mentioned_at", "thread"))
    assert [line for line in printed.splitlines() if line.startswith("since 2025")] == [
        "since 2025: The vet charged 65 euros for the yearly check of Miso."
    ]
    assert printed.splitlines()[-1] == "reflect: Alice: Miso eats nothing but tuna."


@pytest.mark.slow
def test_the_llamaindex_agent_remembers_over_a_restart() -> None:
    """On Friday the agent knows what was said on Monday, and what it noted itself with a tool."""
    turns = [
        line for line in output_of(str(EXAMPLES / "llamaindex_agent.py")).splitlines() if "agent:" in line
    ]
    assert [line.split("agent: ")[1] for line in turns] == [
        "Nice to meet you, Alice!",
        "Noted.",
        "Your hive by the river is called Thunder.",
        "You keep your bees in Porto.",
    ]


@pytest.mark.parametrize(("package", "vendor"), [("langgraph", "langgraph"), ("llamaindex", "llama_index")])
def test_the_adapter_packages_import_without_their_framework(package: str, vendor: str) -> None:
    """Importing the package loads no framework; without the framework, its names tell which extra to install."""
    home = f"hindsight_integrations.{package}"
    script = (
        f"import sys, {home} as adapter; assert {vendor!r} not in sys.modules; sys.modules[{vendor!r}] = None\n"
        f"from hindsight_integrations import MissingDependency\n"
        f"name = next(n for n in adapter.__all__ if n != 'Memory' and n != 'format_memories')\n"
        f"try:\n    getattr(adapter, name)\nexcept MissingDependency as error:\n    print(error)\n"
    )
    assert f'pip install "hindsight-integrations[{package}]"' in output_of("-c", script)


@pytest.mark.slow
def test_the_example_of_opinions_shows_two_characters_a_trajectory_and_what_forgetting_leaves() -> None:
    """Two characters draw opposite conclusions from the same facts; an opinion changes as in the paper, explains why, and changes back."""
    printed = output_of(str(EXAMPLES / "opinions.py"))
    characters, evidence, forgotten = printed.split("\n== ")
    assert "(0.80, strong): I think remote work is a gain" in characters
    assert "(0.75, strong): I think remote work puts steady results at risk" in characters
    assert characters.count("from 4 memories of Ada Ben Eve Joe") == 2
    trajectory = [
        line.split(": ")[1] for line in evidence.splitlines() if line.startswith("  ") and "->" not in line
    ]
    assert trajectory == ["0.70", "0.85", "0.55"]  # paper section 5.7.1
    assert "0.70 -> 0.85: reinforce, strong, says ada" in evidence
    assert "0.85 -> 0.55: contradict, strong, says ben" in evidence
    assert "Julia" in evidence
    assert forgotten.splitlines()[1:] == [
        "0.85: I believe Python is the best language for data science, because its libraries cover everything we do."
    ]


def killed_at(line: str, folder: Path) -> list[str]:
    """The output of the checkpointed agent until it prints `line`; then it is killed."""
    command = [
        sys.executable,
        str(EXAMPLES / "langgraph_checkpointed_agent.py"),
        str(folder),
        "--pause",
        "0.2",
    ]
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as agent:
        assert agent.stdout is not None
        for said in agent.stdout:
            printed.append(said.strip())
            if said.startswith(line):
                agent.kill()
                break
    assert agent.returncode == -signal.SIGKILL, printed
    return printed


@pytest.mark.slow
def test_the_checkpointed_agent_goes_on_after_each_kill_and_remembers_each_finding_once(
    tmp_path: Path,
) -> None:
    """Killed twice, it repeats only the boat that it was inspecting, and its report is that of an uninterrupted run."""
    first = killed_at("inspect: The hull of Thunder", tmp_path)
    second = killed_at("inspect: The rudder cable of Marten", tmp_path)
    script = str(EXAMPLES / "langgraph_checkpointed_agent.py")
    third = output_of(script, str(tmp_path), "--pause", "0").splitlines()
    assert second[0].startswith("continuing with ")
    assert second[0].endswith("Heron, Marten, Curlew, Otter, Swift")
    assert third[0].startswith("continuing with ")
    assert third[0].endswith("Curlew, Otter, Swift")
    assert third[-2] == "report: These need a repair: Thunder, Marten, Otter."
    found = {
        line.removeprefix("inspect: ") for line in first + second + third if line.startswith("inspect: ")
    }
    assert len(found) == 6
    with Hindsight.open(tmp_path / "memory") as hindsight:
        texts = [unit.text for unit in hindsight.bank("rowing club").iterate_units()]
    assert sorted(text.partition(": ")[2] for text in texts if "assistant: " in text) == sorted(found)


@pytest.mark.slow
def test_the_example_of_reflecting_asks_a_person_before_an_opinion_changes() -> None:
    """Each kind of change is a node; refused changes are not stored, and approved ones change the confidence."""
    turns = output_of(str(EXAMPLES / "langgraph_reflect.py"))
    assert "reflect.answer -> reflect.assess -> reflect.form" in turns
    assert "form? None -> 0.7" in turns
    assert turns.count("contradict? 0.7 -> 0.4") == 2  # refused at first, and asked again after a resume
    believed = turns.rpartition("\n\n")[2].splitlines()
    assert believed == [
        "0.40 (weak): I think the club should keep Heron only with new planks, because rot has made Heron unsafe.",
        "   0.70 -> 0.40: Joe: A surveyor found rot in half of the planks of Heron.",
    ]


@pytest.mark.slow
def test_the_checkpointed_agent_begins_again_where_it_was_killed_before_its_first_step(
    tmp_path: Path,
) -> None:
    """The task is checkpointed although LangGraph reports no next node; the boats are still inspected once."""
    script = str(EXAMPLES / "langgraph_checkpointed_agent.py")
    cut_short = (
        "import runpy, sys; from pathlib import Path\n"
        f"example, folder = runpy.run_path({script!r}), Path({str(tmp_path)!r})\n"
        "with example['Hindsight'].open(folder / 'memory') as hindsight, "
        "example['SqliteSaver'].from_conn_string(str(folder / 'checkpoints.sqlite')) as saver:\n"
        "    agent = example['build'](hindsight, saver, None, 0)\n"
        "    graph_input = example['next_input'](agent)\n"
        "    agent.update_state(example['THREAD'], graph_input, as_node='report')\n"
        "    assert agent.get_state(example['THREAD']).next == ()\n"
    )
    output_of("-c", cut_short)
    printed = output_of(script, str(tmp_path), "--pause", "0").splitlines()
    assert len([line for line in printed if line.startswith("inspect: ")]) == 6
    assert printed[-2] == "report: These need a repair: Thunder, Marten, Otter."
