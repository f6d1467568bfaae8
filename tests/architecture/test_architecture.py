"""Rules of the code that tools do not check: import cost, equal sync and async APIs, vendor packages, prompts in one place."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from table import every_row

import hindsight_integrations
from hindsight_integrations import AsyncHindsight, AsyncMemoryBank, Hindsight, MemoryBank
from hindsight_integrations.bank.context import BankVerbs

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hindsight_integrations"
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = [
    "numpy",
    "chromadb",
    "jnius",
    "onnxruntime",
    "torch",
    "langgraph",
    "llama_index",
    "langchain_core",
    "dateparser",
    "sqlalchemy",
]

VENDOR_HOMES = {  # each vendor package is imported in exactly one place [CONTRIBUTING.md]
    "chromadb": {"indexes/chroma.py"},
    "jnius": {"indexes/lucene.py"},
    "jnius_config": {"indexes/lucene.py"},
    "rustworkx": {"indexes/graph.py"},
    "onnxruntime": {"models/onnx.py"},
    "langchain_openai": {"models/named_models.py"},
    "sentence_transformers": {"models/sentence_transformers.py"},
    "torch": {"models/sentence_transformers.py"},
    "snowballstemmer": {"language/stems.py"},
    "safetensors": {"models/sentence_transformers.py"},
    "dateparser": {"language/times/written.py"},
    "psycopg": {"ledger/postgresql.py"},
    "alembic": {"ledger/migrations/"},
    "pandas": {"model/rows.py"},
    "matplotlib": {"plots.py"},
    "fastapi": {"server/"},
    "uvicorn": {"server/"},
    "httpx": {"engine/remote.py"},
    "sqlalchemy": {"ledger/", "validation/archive.py", "llamaindex/chat_store.py"},
}

# Only in one of the two APIs: conversion to the other one, and internal members of an engine.
ONLY_SYNC, ONLY_ASYNC = {"over"}, {"check_open", "close_now", "bank_now", "place", "read_only"}

# SQL, lists of words, and messages for people: none of it is sent to a language model.
NOT_FOR_MODELS = (
    "language/",
    "testing/",
    "cli/",
    "errors.py",
    "ledger/",
    "indexes/fts5.py",
    "models/",
)
PROMPT_WORDS = 20  # words in the texts of one statement; statements that are not prompts have at most 16


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_import_loads_nothing_heavy() -> None:
    """Importing the package loads only the standard library and pydantic."""
    script = f"import hindsight_integrations, sys, json; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_public_names_resolve() -> None:
    """Every name in __all__ exists, and star imports give what type checkers see."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(hindsight_integrations.__all__) == typed
    for name in hindsight_integrations.__all__:
        assert getattr(hindsight_integrations, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hindsight_integrations.nonsense  # type: ignore[attr-defined] # raises, and is no name to a type checker either


def faces(sync: type, asynchronous: type) -> Iterator[tuple[str, type, type]]:
    """The sync class and the async class of an object and of its namespaces, each with the attributes that lead there."""
    yield "", sync, asynchronous
    for name, member in inspect.getmembers(asynchronous, lambda each: isinstance(each, property)):
        kinds = [returned(getattr(face, name, None)) for face in (sync, asynchronous)]
        if inspect.isclass(kinds[1]) and issubclass(kinds[1], BankVerbs):
            assert inspect.getdoc(getattr(sync, name)) == inspect.getdoc(member), name
            yield from ((f"{name}.{path}", ours, theirs) for path, ours, theirs in faces(*kinds))


def returned(member: Any) -> Any:
    """The type of a property, by its annotation."""
    return get_type_hints(member.fget)["return"] if isinstance(member, property) else None


def verbs(face: type) -> set[str]:
    """Names of the public methods of a class, without properties."""
    members = inspect.getmembers(
        face, lambda each: inspect.isroutine(each) or inspect.iscoroutinefunction(each)
    )
    return {name for name, _ in members if not name.startswith("_")}


def shape(verb: Any) -> list[tuple[str, Any, Any, Any]]:
    """Parameters with kind, default and annotation."""
    parameters = inspect.signature(verb).parameters.values()
    return [(p.name, p.kind, p.default, p.annotation) for p in parameters if p.name not in ("self", "cls")]


PAIRS = [
    pytest.param(ours, theirs, id=f"{theirs.__name__}")
    for top in ((Hindsight, AsyncHindsight), (MemoryBank, AsyncMemoryBank))
    for _, ours, theirs in faces(*top)
]


@pytest.mark.promise("The sync and async APIs do the same.")
@every_row(("sync", "asynchronous"), PAIRS)
def test_both_apis_have_the_same_methods(sync: type, asynchronous: type) -> None:
    """Methods, parameters, defaults, annotations and docstrings of the sync and async APIs are equal, including namespaces."""
    assert verbs(sync) - ONLY_SYNC == verbs(asynchronous) - ONLY_ASYNC
    for name in verbs(sync) - ONLY_SYNC:
        ours, theirs = getattr(sync, name), getattr(asynchronous, name)
        assert shape(ours) == shape(theirs), name
        assert inspect.getdoc(ours), name
        assert inspect.getdoc(ours) == inspect.getdoc(theirs), name


def test_the_namespaces_of_a_bank_are_found() -> None:
    """The test above covers every namespace: each attribute of a bank that is a namespace exists in both APIs."""
    names = {path.rstrip(".") for path, *_ in faces(MemoryBank, AsyncMemoryBank)}
    here = {
        "entities",
        "records",
        "opinions",
        "reflect_stages",
        "profile",
        "mental_models",
        "directives",
        "tasks",
        "threads",
        "items",
        "archive",
        "maintenance",
    }
    assert names == {"", *here}


def test_each_vendor_package_has_one_home() -> None:
    """A vendor package is imported only by its backend."""
    for path in MODULES:
        home = path.relative_to(SOURCE).as_posix()
        for vendor in imported(path) & VENDOR_HOMES.keys():
            assert any(home.startswith(allowed) for allowed in VENDOR_HOMES[vendor]), (
                f"{home} imports {vendor}"
            )


def test_sql_is_written_by_sqlalchemy() -> None:
    """Only the files about databases contain SQL and import the driver; conditions of indexes are in the tables."""
    homes = {f"ledger/{name}.py" for name in ("databases", "postgresql", "sql", "tables", "opening")}
    beyond = re.compile(r"exec_driver_sql|sa\.text\(|import text\b|\braw\(|driver_connection")
    named = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "ledger").glob("*.py")
        if beyond.search(path.read_text(encoding="utf-8"))
    }
    assert named <= homes


def test_no_exception_is_caught_broadly() -> None:
    """`except Exception` hides bugs and is not used."""
    broad = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    ]
    assert broad == []


def test_only_configuration_reads_the_environment() -> None:
    """`HindsightConfig.from_env` is the only reader of the user's settings; backends may set what a vendor needs."""
    readers = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if re.search(r"os\.(environ|getenv)", path.read_text(encoding="utf-8"))
    }
    assert readers <= {"config.py", "models/weights.py", "models/tokens.py"}


def words(node: ast.AST) -> int:
    """The number of words in the texts of a statement, without those of statements inside it."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return (len(text.split()) if " " in text else 0) + sum(map(words, inner))


def instructing(source: str) -> list[int]:
    """Lines of a module that contain more text than code needs, except errors and docstrings."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.Raise)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and words(node) > PROMPT_WORDS
    ]


def built_prompts(source: str) -> list[int]:
    """Lines of a module that build a prompt or a message of one."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    made = r"(\w+\.)*(Prompt|PromptMessage|SystemMessage)(\[.*\])?"
    return [call.lineno for call in calls if re.fullmatch(made, ast.unparse(call.func))]


@pytest.mark.promise("Memory text is data, never an instruction.")
def test_prompts_are_built_in_one_place() -> None:
    """Everything that is sent to a model is in prompts/."""
    outside = [path for path in MODULES if path.relative_to(SOURCE).parts[0] not in ("prompts", "testing")]
    built = {path.relative_to(SOURCE).as_posix(): built_prompts(path.read_text("utf-8")) for path in outside}
    assert {name: lines for name, lines in built.items() if lines} == {}


def test_prompt_text_lives_in_templates() -> None:
    """No module contains enough text to instruct a model, not even those of prompts/, whose text is in templates."""
    homes = {path: path.relative_to(SOURCE).as_posix() for path in MODULES}
    found = {
        home: instructing(path.read_text("utf-8"))
        for path, home in homes.items()
        if not home.startswith(NOT_FOR_MODELS)
    }
    assert {home: lines for home, lines in found.items() if lines} == {}


INSTRUCTION = "Answer from the memories below alone. " * 4


@every_row(
    "source",
    [
        f"SYSTEM = {INSTRUCTION!r}",
        f"def ask(query):\n    return {INSTRUCTION!r} + query",
        f"def ask(query):\n    return f'{INSTRUCTION}{{query}}'",
        f"def ask(query, system={INSTRUCTION!r}): ...",
        f"PARTS = {INSTRUCTION.split('. ')}",
        f"class Asking:\n    if True:\n        system = '\\n'.join({INSTRUCTION.split('. ')})",
    ],
)
def test_prompt_text_is_noticed_however_it_is_written(source: str) -> None:
    """The check above finds a constant, a sum, an f-string, a default and a list of lines, but no docstring or error."""
    assert instructing(source)
    assert not instructing(f"def ask():\n    {INSTRUCTION!r}\n    raise ValueError({INSTRUCTION!r})")


@pytest.mark.parametrize(
    "call", ["PromptMessage(role, text)", "ports.Prompt(name, [])", "Prompt[Answer](name, [])"]
)
def test_a_prompt_is_noticed_however_it_is_built(call: str) -> None:
    """The check above finds a name, an attribute and a class with its type, but no other object with the same name."""
    assert built_prompts(call)
    assert not built_prompts("answer_prompt(query); PromptFailed()")


NUMBERED_PLACEHOLDER = re.compile(r"\?\d")


def numbered_placeholders(source: str) -> list[int]:
    """Lines of a module with a text that contains `?1`: sqlite3 takes it for a name and binds no sequence to it (3.14)."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and NUMBERED_PLACEHOLDER.search(node.value)
    ]


def test_sql_binds_by_name_or_by_plain_question_marks() -> None:
    """No statement uses `?1`, for which Python 3.12 warns and 3.14 raises if the values are a sequence."""
    found = {
        path.relative_to(SOURCE).as_posix(): numbered_placeholders(path.read_text("utf-8"))
        for path in MODULES
        if not path.relative_to(SOURCE).as_posix().startswith(("text/", "prompts/"))
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert numbered_placeholders('x = f"a = ?1 AND {b}"')
