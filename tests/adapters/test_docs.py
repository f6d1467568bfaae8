"""The examples of the pages in docs/ compile and run, and the tables agree with the code."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from babel import Locale
from documentation import DOCS, blocks, example, text_of
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START
from langgraph.store.memory import InMemoryStore
from openai_server import OpenAIServer
from postgres_server import Databases
from served import served
from table import every_row
from tool_calling import GOLDEN_TOOLS

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message, errors
from hindsight_integrations.config import EmbedderBackend
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.langgraph.agent_server import close_engines
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.testing import MissingAnswer, RecordedModel, unanswered
from hindsight_integrations.testing.contracts import verdict_prompt
from hindsight_integrations.testing.scripted_llm import ScriptedLLM
from hindsight_integrations.testing.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "src/hindsight_integrations/config.py"
PAGES = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in [*DOCS.glob("*.md"), *DOCS.glob("reference/*.md")]
)
SCRIPTS = ("tutorial", "privacy", "environment", "backup", "deployment", "tuning", "backends", "migration")
"""Pages whose examples run one after the other, as a reader pastes them; of other pages each runs alone."""
OPENED = ("ChatOpenAI", "OpenAIEmbedding", "OPENAI_BASE_URL", "SentenceTransformersEmbedder", "holidays")
RUN = {"configurable": {"thread_id": "friday", "user_id": "alice"}}


EXAMPLES = [(page, number, code) for page in PAGES for number, code in enumerate(blocks(page), 1)]


def script(page: str) -> str:
    """All examples of a page, in order."""
    return "\n".join(blocks(page))


def run(code: str, **names: Any) -> dict[str, Any]:
    """Run an example with these names defined, including top-level `await`; return all names."""
    compiled = compile(code, "<docs>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    waiting = eval(compiled, names)  # noqa: S307 - the docs' own
    if waiting is not None:
        asyncio.run(waiting)
    return names


def closed(names: dict[str, Any]) -> bool:
    """Close the engine that an example opened; return whether it opened one."""
    engine = names["hindsight"]
    engine.close()
    return isinstance(engine, Hindsight)


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("alice")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the examples that open "./memory", with light models and indexes."""
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


def test_every_example_runs_in_a_test() -> None:
    """An example runs with its whole page, or a test quotes words that only this example of the page contains."""
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    markers = re.findall(r'example\("([\w-]+)", "((?:[^"\\]|\\.)+)"\)', tests)
    markers = [(page, ast.literal_eval(f'"{words}"')) for page, words in markers]
    markers += [("models", words) for words in OPENED]
    run_alone = {(page, code) for page, words in markers for code in blocks(page) if words in code}
    assert [
        (page, number)
        for page, number, code in EXAMPLES
        if page not in SCRIPTS and (page, code) not in run_alone
    ] == []


@every_row("page", PAGES)
def test_links_lead_to_pages_and_headings(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        name, _, anchor = target.partition("#")
        source = DOCS / f"{page}.md"
        path = source.parent / name if name else source
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The module that generates pages of the site from the code; MkDocs imports it too."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "site/pages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_lists_every_environment_variable(site: ModuleType) -> None:
    """The table contains the variables that `from_env` reads, each with a correct description."""
    rows = {name: (setting, meaning, values) for name, setting, meaning, values, _ in site.environment()}
    assert rows.keys() == set(re.findall(r'"(HINDSIGHT_\w+)"', SETTINGS.read_text(encoding="utf-8")))
    assert all(meaning for _, meaning, _ in rows.values())
    assert rows["HINDSIGHT_VECTORS"][::2] == ("storage.vectors", "`chroma`, `exact`")
    assert rows["HINDSIGHT_OFFLINE"][::2] == ("models.offline", "`1`, `true`, `yes`")


def test_the_site_lists_every_error(site: ModuleType) -> None:
    """Each class has a section with a remedy: its own message, or one for each reason."""
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", site.error_list(), re.DOTALL | re.MULTILINE))
    assert sections.keys() == {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert "or open it here with read_only=True" in sections["LedgerBusy"]
    assert "| Open it without read_only=True. |" in sections["InvalidRequest"]
    assert "| what to do |" in sections["MissingDependency"]


@every_row("package", ["", ".langgraph", ".llamaindex", ".testing"])
def test_the_reference_has_every_public_name(package: str) -> None:
    """Every exported name is on one page of the reference; errors have a separate page."""
    module = importlib.import_module(f"hindsight_integrations{package}")
    described = re.findall(r"^::: (\S+)$", "\n".join(text_of(page) for page in PAGES), re.MULTILINE)
    wanted = {
        name for name in module.__all__ if (not hasattr(errors, name) and name != "OnError") or not package
    }
    wanted = {name for name in wanted if not hasattr(errors, name)}
    names = [path.rpartition(".")[2] for path in described if path.startswith(f"{module.__name__}.")]
    assert wanted - set(names) == set()
    assert len(described) == len(set(described))


def test_the_navigation_has_every_page() -> None:
    listed = set(
        re.findall(
            r"^ +- .*?: ([\w/-]+)\.md$", (ROOT / "site/mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert {*PAGES} - listed == set()


def test_the_table_lists_every_embedder() -> None:
    """The table in docs/models.md contains each `EmbedderBackend` with its model."""
    for backend in EmbedderBackend:
        rows = re.findall(rf"^\| `{backend}`.*? \| (.*) \|", text_of("models"), re.MULTILINE)
        assert any(backend.model.split("/")[1] in row for row in rows)


def test_every_language_and_agent_tool_is_named() -> None:
    """README.md and docs/models.md name the languages that have a pack, and the integrations' pages name their tools."""
    for code in LANGUAGES:
        name = Locale.parse(code).get_display_name("en")
        assert name
        assert name in text_of("models")
        assert name in (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for page in ("langgraph", "llamaindex"):
        for tool in GOLDEN_TOOLS[page]:
            assert f"`{tool}`" in text_of(page)


# pages that run as a whole


def test_tutorial(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step prints what the page shows."""
    assert closed(run(script("tutorial")))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2"
    assert "it contains no statement" in lines[1]
    assert lines[2] == "0"
    assert lines[3].endswith("My sister Ana moved to Lisbon in May 2024.")
    now, then, cited = (line for line in lines if line.startswith("["))
    assert "Porto" in now
    assert "Lisbon" not in now
    assert "Lisbon" in then
    assert "Porto" not in then
    assert "allergic" in cited
    assert lines[-1] == "True"


def test_privacy(light: Hindsight, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bank and an identifier are erased; a redaction function is accepted."""
    bank = light.bank("alice")
    bank.retain("Alice rows.")
    names = run(script("privacy"), hindsight=light, bank=light.bank("bob"))
    assert closed(names)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "1 True False"
    assert out[-1].startswith("True ")
    assert names["config"].retention.days == 365


def test_environment(folder: Path) -> None:
    """A setting is changed, and those of the variables remain."""
    names = run(script("environment"))
    assert closed(names)
    assert names["config"].retention.days == 365
    assert names["config"].storage.vectors == "exact"


def test_backup(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bank is exported, loaded elsewhere, and embedded again."""
    with Hindsight.open("./memory") as hindsight:
        hindsight.bank("alice").retain([Message("My boat is red.", "Alice")])
    run(script("backup"))
    assert capsys.readouterr().out.splitlines() == ["1", "1"]


def test_deployment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server's lifespan opens the engine, a request remembers, and a second process reports it healthy."""
    lifespan, health = blocks("deployment")
    names = run(lifespan)

    async def serve() -> int:
        async with names["lifespan"](None) as state:
            remembered: int = await names["remember"](state["hindsight"], "alice", "My boat is red.")
            return remembered

    assert asyncio.run(serve()) == 1
    run(health)
    assert capsys.readouterr().out == "True\n"


def test_tuning(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    run(script("tuning"), bank=bank)
    assert capsys.readouterr().out.endswith("1 of 1\n")


def test_backends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The embedder and the reranker work in an engine and pass their contracts; the model answers one of our prompts."""
    names = run(script("backends"))
    assert closed(names)
    assert capsys.readouterr().out == "Alice rows on Sundays.\n"
    with Hindsight.open(
        ":memory:", embeddings=names["WordEmbedder"](), model=names["OneAnswerModel"]()
    ) as hindsight:
        assert hindsight.bank("alice").retain("Alice rows.").created == 0
    checks = "from hindsight_integrations.testing.contracts import RerankerContract\n\n\nclass TestReranker(RerankerContract):\n    @pytest.fixture\n    def reranker(self):\n        return OverlapReranker()\n"
    (folder / "test_pasted.py").write_text(
        f"{script('backends')}\nhindsight.close()\n\n\n{checks}", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_pasted.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_migration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Old conversations, langmem's store and mem0's export are imported; the dry run creates nothing."""
    store = InMemoryStore()
    store.put(("memories", "alice"), "1", {"content": "Alice's sister Ana moved to Lisbon."})
    memory = {
        "id": "1",
        "memory": "Bob keeps bees.",
        "user_id": "bob",
        "created_at": "2024-05-03T10:00:00+00:00",
    }
    (folder / "export.json").write_text(json.dumps({"results": [memory]}), encoding="utf-8")
    run(script("migration"), store=store)
    with Hindsight.open("memory") as hindsight:
        assert {name: hindsight.bank(name).count() for name in hindsight.banks()} == {
            "alice": 1,
            "bob": 1,
            "carol": 1,
        }


# docs/users-and-agents.md


def test_users_and_agents(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """Users do not see each other's memories; a team's bank is searched in addition to a user's."""
    run(example("users-and-agents", "def bank_of"), hindsight=light)
    run(example("users-and-agents", "team.retain"), hindsight=light)
    first, alone, shared = capsys.readouterr().out.splitlines()
    assert first == "()"
    assert "price list" not in alone
    assert shared == "['The price list changes in October.']"
    names = run(
        example("users-and-agents", "recall_only"), hindsight=light, HindsightMiddleware=HindsightMiddleware
    )
    assert isinstance(names["recall_only"], HindsightMiddleware)


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
    """The metadata and tag filters return the only mail that is not private."""
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
    run(example("memory", "coffee ="), bank=bank)
    spent = {"kind": "expense", "category": "coffee", "value": 3.5, "unit": "EUR"}
    bank.retain("A coffee.", timestamp="2024-05-03", facts=[{"what": "A coffee.", "records": [spent]}])
    run(example("memory", "bank.records.aggregate"), bank=bank)
    listed, in_may = capsys.readouterr().out.splitlines()
    assert listed == "RecordEntries(2 records)"
    assert "3.5" in in_may


def test_memory_plots(bank: MemoryBank) -> None:
    """The four plots draw memories of Ana and an opinion about her."""
    bank.retain("Ana lives in Lisbon.", entities=["Ana"])
    names = run(example("memory", "plots.memory_graph"), bank=bank)
    assert [row["text"] for row in names["recalled"].to_dicts()] == ["Ana lives in Lisbon."]


def test_memory_items(bank: MemoryBank, capsys: pytest.CaptureFixture[str]) -> None:
    run(example("memory", "bank.items.write"), bank=bank)
    assert capsys.readouterr().out.splitlines()[1].startswith("food ")


# docs/models.md


@pytest.mark.parametrize("marker", OPENED)
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
    """The example records what OpenAI's client returns, replays it, and sends no request twice."""
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
    """Without a model, the answer consists of memories, each cited."""
    bank.retain("The new boat is worth its price.")
    run(example("reflect", "answer.based_on"), bank=bank)
    assert capsys.readouterr().out.count("The new boat is worth its price.") == 2


def test_reflect_profile(bank: MemoryBank) -> None:
    """A profile is set, another one answers once, and only the first is stored; then its background grows."""
    bank.retain("The new boat costs 4,000 euros.", timestamp="2024-11-02")
    run(example("reflect", "bank.with_profile"), bank=bank)
    assert (bank.profile.get().name, len(bank.profile.history())) == ("Iris", 1)
    run(example("reflect", "bank.profile.merge_background"), bank=bank)
    bank.tasks.settle()
    background = bank.profile.get().background
    assert "I live in Turku." in background
    assert "I am 40 years old." in background


def test_reflect_opinions(opener: Callable[..., Hindsight], capsys: pytest.CaptureFixture[str]) -> None:
    """An answer forms an opinion, a later fact changes its confidence, and both are printed."""
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
    """An answer is streamed in steps, with the caller's tool, and returned in the caller's schema."""
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
    """A question is stored with its answer, and a rule is stored."""
    bank.retain("The club owns a red boat, which leaks.")
    run(example("reflect", "bank.mental_models"), bank=bank)
    assert bank.mental_models.get("boats").text == "The club owns a red boat, which leaks."
    assert len(bank.directives.list()) == 1


# docs/langgraph.md


def test_langgraph_nodes(light: Hindsight, capsys: pytest.CaptureFixture[str]) -> None:
    """The nodes form a graph that remembers and resumes; a stream shows the warnings of a failing memory."""
    model = ScriptedModel(lambda _: "A kayak, I see.")
    answer = run(example("langgraph", "with_memories(state"), model=model)["answer"]
    names = run(example("langgraph", "create_retain_node(hindsight))\n"), hindsight=light, answer=answer)
    built = names["graph"].add_edge(START, "recall").add_edge("recall", "answer").add_edge("answer", "retain")
    graph = built.compile(checkpointer=InMemorySaver())
    watched = {"graph": graph, "state": {"messages": [("user", "I own a kayak.")]}, "config": RUN}
    events = example("langgraph", "stream_mode")
    run(events, **watched)
    run(example("users-and-agents", "get_state"), graph=graph)
    run(example("langgraph", "incognito"), graph=graph, HumanMessage=HumanMessage)
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
    """Agents with the middleware and with tools use the memory of the config's user."""
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
    """An engine on a PostgreSQL address with a cache works like any other."""
    code = example("scale", "Hindsight.open")
    here = code.replace("postgresql://memory:secret@db.example.com:5432/memory", databases.address("memory"))
    names = run(here.replace("/var/cache/hindsight", str(folder / "cache")))
    names["hindsight"].bank("alice").retain([Message("My boat is red.", "Alice")])
    assert closed(names)


# docs/server.md


def test_a_served_memory(light: Hindsight) -> None:
    """The client's example retains into the server's memory."""
    with served(light) as url:
        names = run(example("server", "Hindsight.connect").replace("http://127.0.0.1:8888", url))
        assert light.bank("alice").count() == 1
        assert closed(names)


# docs/operations.md


def test_operations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Waiting tasks run, and doctor reports no problems."""
    run(example("operations", "settle("))
    with Hindsight.open("./memory") as hindsight:
        hindsight.bank("alice").retain([Message("My boat is red.", "Alice")])
    run(example("operations", "deep=True"))
    assert capsys.readouterr().out.splitlines()[-1] == "{} {} ()"
