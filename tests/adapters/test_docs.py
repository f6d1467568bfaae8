"""The examples of the guide pages in docs/ compile and run, and the tables agree with the code."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from babel import Locale
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START
from openai_server import OpenAIServer
from postgres_server import Databases
from served import served
from table import every_row
from tool_calling import GOLDEN_TOOLS

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import EmbedderBackend
from hindsight_integrations.langgraph.agent_server import close_engines
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.testing import MissingAnswer, RecordedModel, unanswered
from hindsight_integrations.testing.contracts import verdict_prompt
from hindsight_integrations.testing.scripted_llm import ScriptedLLM
from hindsight_integrations.testing.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SETTINGS = ROOT / "src/hindsight_integrations/config.py"
PAGES = ("memory", "models", "reflect", "langgraph", "llamaindex", "operations", "promises", "integrations")
RUN = {"configurable": {"thread_id": "friday", "user_id": "alice"}}


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    """The Python examples of a page, in order."""
    return re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)


EXAMPLES = [(page, number, code) for page in PAGES for number, code in enumerate(blocks(page), 1)]


def example(page: str, marker: str) -> str:
    """The one example of a page that contains the marker."""
    (code,) = [code for code in blocks(page) if marker in code]
    return code


def run(code: str, **names: Any) -> dict[str, Any]:
    """Run an example with these names defined, `await` at top level included; return all names."""
    compiled = compile(code, "<docs>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    waiting = eval(compiled, names)  # noqa: S307 - the docs' own
    if waiting is not None:
        asyncio.run(waiting)
    return names


def closed(names: dict[str, Any]) -> bool:
    """Close the engine that an example opened; whether it had opened one."""
    engine = names["hindsight"]
    engine.close()
    return isinstance(engine, Hindsight)


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("alice")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for the examples that open "./memory", with light models and indexes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HINDSIGHT_VECTORS", "exact")
    monkeypatch.setenv("HINDSIGHT_KEYWORDS", "fts5")
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    return tmp_path


@every_row("page, number, code", EXAMPLES, ids=str)
def test_every_example_compiles_and_imports_what_there_is(page: str, number: int, code: str) -> None:
    """Every name that an example imports from the package exists."""
    tree = compile(code, f"{page} {number}", "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hindsight_integrations"):
            module = importlib.import_module(node.module or "")
            names = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert [name for name in names if not importlib.util.find_spec(f"{node.module}.{name}")] == []


@every_row("page", PAGES)
def test_links_lead_to_pages_and_headings(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        name, _, anchor = target.partition("#")
        path = DOCS / name if name else DOCS / f"{page}.md"
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


def test_the_table_lists_every_environment_variable() -> None:
    """The table of docs/models.md has the variables that `from_env` reads, and no other."""
    read = set(re.findall(r'"(HINDSIGHT_\w+)"', SETTINGS.read_text(encoding="utf-8")))
    listed = re.findall(r"^\| `(HINDSIGHT_\w+)` \| `", text_of("models"), re.MULTILINE)
    assert sorted(listed) == sorted(read)


def test_the_tables_list_every_embedder() -> None:
    """Both tables of docs/models.md have each `EmbedderBackend`, and the first names its model."""
    models = text_of("models")
    (setting,) = re.findall(r"^\| `HINDSIGHT_EMBEDDER` \| `models.embedder`(.*)$", models, re.MULTILINE)
    for backend in EmbedderBackend:
        assert f"`{backend}`" in setting
        rows = re.findall(rf"^\| `{backend}`.*? \| (.*) \|", models, re.MULTILINE)
        assert any(backend.model.split("/")[1] in row for row in rows)


def test_every_language_and_agent_tool_is_named() -> None:
    """README.md and docs/models.md name the languages that have a pack, the pages of the integrations their tools."""
    for code in LANGUAGES:
        name = Locale.parse(code).get_display_name("en")
        assert name
        assert name in text_of("models")
        assert name in (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for page in ("langgraph", "llamaindex"):
        for tool in GOLDEN_TOOLS[page]:
            assert f"`{tool}`" in text_of(page)


# docs/memory.md


def test_memory_async(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A memory is stored and found, with the default models."""
    names = run(example("memory", "AsyncHindsight"))
    asyncio.run(names["main"]())
    assert "Alice moved to Lisbon in May 2024." in capsys.readouterr().out


def test_memory_retain_many(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    run(example("memory", "retain_many"), bank=bank)
    assert capsys.readouterr().out.splitlines() == ["2/2", "2 ()"]


def test_memory_recall(bank: MemoryBank) -> None:
    """The metadata and tag filters let through the one mail that is not private."""
    kept: dict[str, Any] = {"metadata": {"channel": "mail", "year": 2024}}
    bank.retain("Ines wrote that the boat leaks.", tags=["club"], **kept)
    bank.retain("Ines wrote that the boat is hers.", tags=["club", "private"], **kept)
    bank.retain("Ines wrote about the boat.", tags=["club"], metadata={"channel": "mail", "year": 2019})
    result = run(example("memory", "MetadataFilter("), bank=bank)["result"]
    assert [match.unit.text for match in result.units] == ["Ines wrote that the boat leaks."]


def test_memory_list(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    """The list is returned without the removed item and with the added one."""
    run(example("memory", "document_item"), bank=bank)
    assert capsys.readouterr().out.splitlines() == ["Packing list for Lisbon", "- shirts", "- a hat"]


def test_memory_changes(bank: MemoryBank) -> None:
    """A memory is edited, invalidated and made valid again."""
    bank.retain("Ines bought a red kayak.", timestamp="2024-05-03", entities=["Ines"])
    names = run(example("memory", "bank.withdraw"), bank=bank)
    unit = bank.get(names["unit"].id)
    assert (unit.text, unit.closed_at, len(bank.history(unit.id))) == ("Ines bought a green kayak.", None, 2)


def test_memory_forget(bank: MemoryBank) -> None:
    bank.retain("Ines bought a red kayak.", entities=["Ines"])
    bank.retain("The sea was calm.")
    receipt = run(example("memory", "bank.forget("), bank=bank)["receipt"]
    assert (len(receipt.unit_ids), receipt.files_clean, bank.count()) == (1, True, 1)


def test_memory_entities(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.retain("Robert Miller sails.", entities=["Robert Miller"])
    bank.retain("Bob rows.", entities=["Bob"])
    run(example("memory", "bank.entities.merge"), bank=bank)
    assert capsys.readouterr().out.startswith("Robert Miller")
    assert {entity.name for entity in bank.entities.list()} >= {"Robert Miller", "Bob"}


def test_memory_records(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    spent = {"kind": "expense", "category": "coffee", "value": 3.5, "unit": "EUR"}
    bank.retain("A coffee.", timestamp="2024-05-03", facts=[{"what": "A coffee.", "records": [spent]}])
    run(example("memory", "bank.records.aggregate"), bank=bank)
    assert "3.5" in capsys.readouterr().out.splitlines()[1]


def test_memory_items(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    run(example("memory", "bank.items.write"), bank=bank)
    assert capsys.readouterr().out.splitlines()[1].startswith("food ")


# docs/models.md


@pytest.mark.parametrize(
    "marker", ["ChatOpenAI", "OpenAIEmbedding", "OPENAI_BASE_URL", "SentenceTransformersEmbedder", "holidays"]
)
def test_models_open(folder: Path, marker: str) -> None:
    """An engine opens with each kind of model without calling it."""
    before = dict(os.environ)
    try:
        assert closed(run(example("models", marker)))
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.slow
def test_models_record_and_replay(tmp_path: Path) -> None:
    """The example records what OpenAI's own client returns, replays it, and asks nothing twice."""
    code = example("models", "import RecordedModel")
    sold = {"facts": [{"what": "The user sold the red kayak to Ines."}]}
    with OpenAIServer([sold, {"text": "Ines has it.", "based_on": ["1"]}]) as server:
        environment = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": server.url}
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert len(server.requests) == 2


def test_models_answer_by_hand(tmp_path: Path) -> None:
    """The example shows a request without an answer, and answers it."""
    model = RecordedModel(tmp_path / "recordings")
    with pytest.raises(MissingAnswer):
        asyncio.run(model.complete(verdict_prompt("Is the kayak sold?")))
    code = example("models", "import unanswered")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Is the kayak sold?\n"
    assert unanswered(tmp_path / "recordings") == {}


# docs/reflect.md; its last example runs in test_langgraph_reflect_again.py


def test_reflect(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a model the answer is memories, each cited."""
    bank.retain("The new boat is worth its price.")
    run(example("reflect", "answer.based_on"), bank=bank)
    assert capsys.readouterr().out.count("The new boat is worth its price.") == 2


def test_reflect_profile(bank: MemoryBank) -> None:
    """A profile is set, another answers once, and only the first is stored; then its background grows."""
    bank.retain("The new boat costs 4,000 euros.", timestamp="2024-11-02")
    run(example("reflect", "bank.with_profile"), bank=bank)
    assert (bank.profile.get().name, len(bank.profile.history())) == ("Iris", 1)
    run(example("reflect", "bank.profile.merge_background"), bank=bank)
    bank.tasks.settle()
    background = bank.profile.get().background
    assert "I live in Turku." in background
    assert "I am 40 years old." in background


def test_reflect_opinions(opener: Callable[..., Hindsight], capsys: pytest.CaptureFixture[str]) -> None:
    """An answer forms an opinion, a fact retained later moves it, and both are printed."""
    code = example("reflect", "bank.opinions")
    belief = {
        "opinion": "I think the new boat is worth its price because it is fast.",
        "confidence": 0.6,
        "reasoning": "It is fast.",
        "based_on": ["1"],
        "entities": ["boat"],
    }
    answer = {"text": "Yes.", "based_on": ["1"], "sufficient": True, "opinions": [belief]}
    assessed = {"opinion": 1, "fact": 1, "assessment": "weaken", "strength": "strong", "reason": "It leaks."}
    with opener(":memory:", model=ScriptedModel([answer, {"assessments": [assessed]}, answer])) as hindsight:
        bank = hindsight.bank("club")
        bank.retain("The new boat is fast.", facts=[{"what": "The new boat is fast."}])
        run(code, bank=bank)
        bank.retain("The new boat leaks.", facts=[{"what": "The new boat leaks."}])
        bank.tasks.settle()
        run(code, bank=bank)
    assert "0.6 0.45" in capsys.readouterr().out


def test_reflect_observations(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.retain("Alice rows a red boat.", facts=[{"what": "Alice rows a red boat.", "entities": ["Alice"]}])
    bank.tasks.settle()
    run(example("reflect", "entities.observations"), bank=bank)
    assert "Alice rows a red boat." in capsys.readouterr().out


def test_reflect_agentic(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> None:
    """An answer is streamed in steps, with the caller's tool, and returned in the caller's form."""
    replies: list[Any] = [
        {"tool": "tide", "arguments": {"harbour": "Brenna"}},
        {"tool": "answer"},
        "To Brenna, for two days.\nSOURCES: 1",
        {"where": "Brenna", "days": 2},
        {"opinions": []},
    ]
    bank = opener(config=light_config, model=ScriptedModel(replies)).bank("club")
    bank.retain("Rowed.", facts=[{"what": "The club rowed to Brenna for two days in May."}])
    answer = run(example("reflect", "reflect_stream"), bank=bank)["answer"]
    assert (answer.text, answer.structured.days) == ("To Brenna, for two days.", 2)
    assert [step.tool for step in answer.steps] == ["tide"]
    assert len(answer.based_on) == 1


def test_reflect_mental_models(bank: MemoryBank) -> None:
    """A question is kept with its answer, and a rule."""
    bank.retain("The club owns a red boat, which leaks.")
    run(example("reflect", "bank.mental_models"), bank=bank)
    assert bank.mental_models.get("boats").text == "The club owns a red boat, which leaks."
    assert len(bank.directives.list()) == 1


# docs/langgraph.md


def test_langgraph_nodes(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """The nodes form a graph that remembers and resumes; a stream shows the warnings of a memory that fails."""
    model = ScriptedModel(lambda _: "A kayak, I see.")
    answer = run(example("langgraph", "with_memories(state"), model=model)["answer"]
    names = run(example("langgraph", "create_retain_node(hindsight))\n"), hindsight=light, answer=answer)
    built = names["graph"].add_edge(START, "recall").add_edge("recall", "answer").add_edge("answer", "retain")
    graph = built.compile(checkpointer=InMemorySaver())
    watched = {"graph": graph, "state": {"messages": [("user", "I own a kayak.")]}, "config": RUN}
    events = example("langgraph", "stream_mode")
    run(events, **watched)
    run(example("langgraph", "get_state"), graph=graph)
    assert (capsys.readouterr().out, light.bank("alice").count()) == ("", 2)
    light.close()
    run(events, **watched)
    shown = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert shown == [["recall", "EngineClosed"], ["retain", "EngineClosed"]]


def test_langgraph_retriever(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.retain("Alice lives in Lisbon.", timestamp="2024-05-01")
    run(example("langgraph", "HindsightRetriever"), bank=bank)
    assert "Alice lives in Lisbon." in capsys.readouterr().out


def test_langgraph_agents(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """Agents with the middleware and with tools run for the user of the config."""
    light.bank("alice").retain("My sister lives in Lisbon, at the address Rua Nova 1.")
    names: dict[str, Any] = {"hindsight": light, "checkpointer": InMemorySaver()}
    names["model"] = ScriptedModel(lambda _: AIMessage("In Lisbon."))
    run(example("langgraph", "middleware=[HindsightMiddleware"), **names, tools=[])
    assert light.bank("alice").count() == 2
    tools = run(example("langgraph", "create_memory_tools"), **names)["tools"]
    assert "Rua Nova 1" in tools[1].invoke({"query": "address"}, {"configurable": {"user_id": "alice"}})


def test_langgraph_store(light: Hindsight) -> None:
    store = run(example("langgraph", "HindsightStore("), hindsight=light)["store"]
    assert [item.key for item in store.search(("memories",), query="food")] == ["food"]


def test_langgraph_agent_server(folder: Path) -> None:
    try:
        run(example("langgraph", "server_engine()"))
        assert (folder / ".hindsight").is_dir()
    finally:
        close_engines()


# docs/llamaindex.md


def test_llamaindex_classes(bank: MemoryBank) -> None:
    """The agent answers, and the turn is remembered."""
    names = run(example("llamaindex", "agent.run"), bank=bank, llm=ScriptedLLM(lambda _: "In the garden."))
    assert str(names["answer"]) == "In the garden."
    assert any("garden" in unit.text for unit in bank.units().units)


def test_llamaindex_retriever(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    bank.retain("The bees are in the garden.", metadata={"channel": "mail"})
    bank.retain("The bees are on the roof.", metadata={"channel": "chat"})
    run(example("llamaindex", "MetadataFilters("), bank=bank)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("The bees are in the garden.")


def test_llamaindex_block(bank: MemoryBank) -> None:
    memory = run(example("llamaindex", "HindsightMemoryBlock("), bank=bank)["memory"]
    assert [block.name for block in memory.memory_blocks] == ["hindsight"]


# docs/scale.md


@pytest.mark.slow
def test_many_processes(databases: Databases, folder: Path) -> None:
    """An engine on a PostgreSQL address with a cache is an engine like any other."""
    code = example("scale", "Hindsight.open")
    here = code.replace("postgresql://memory:secret@db.example.com:5432/memory", databases.address("memory"))
    names = run(here.replace("/var/cache/hindsight", str(folder / "cache")))
    names["hindsight"].bank("alice").retain([Message("My boat is red.", "Alice")])
    assert closed(names)


# docs/server.md


def test_a_served_memory(light: Hindsight) -> None:
    """The client's example retains into the memory of the server."""
    with served(light) as url:
        names = run(example("server", "Hindsight.connect").replace("http://127.0.0.1:8888", url))
        assert light.bank("alice").count() == 1
        assert closed(names)


# docs/operations.md


def test_operations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Waiting work is done, a bank is archived and loaded elsewhere, and doctor finds nothing wrong."""
    run(example("operations", "settle("))
    with Hindsight.open("./memory") as hindsight:
        hindsight.bank("alice").retain([Message("My boat is red.", "Alice")])
    run(example("operations", "archive.export"))
    assert capsys.readouterr().out.splitlines()[-1] == "1"
    run(example("operations", "deep=True"))
    assert capsys.readouterr().out.splitlines()[-1] == "{} {} ()"
