"""Every source that code names can be found: papers by docs/sources.md, decisions and documents by their files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from table import every_row

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "sources.md"
FOLDERS = ("src", "tests", "benchmarks", "examples")

_NUMBERS = r"[0-9]+(?:\.[0-9]+)*(?:(?:,| and| to| or|-) ?[0-9]+(?:\.[0-9]+)*)*"
_SECTIONS = r"[0-9A-E]+(?:\.[0-9]+)*(?:(?:,| and| to) [0-9A-E]+(?:\.[0-9]+)*)*"
CITED = {  # document in docs/sources.md -> how it is cited
    "paper": re.compile(rf"(?<!earlier )paper sections? ({_SECTIONS})"),
    "equation": re.compile(rf"\beqs?\. ({_NUMBERS})"),
    "earlier paper": re.compile(rf"earlier paper(?: sections?)? ({_SECTIONS})"),
    "Memora": re.compile(rf"Memora(?:,)? (?:section|appendix) ({_SECTIONS})"),
    "recall docs": re.compile(r'recall docs, "([^"]+)"'),
    "reference": re.compile(r'\breference, "([^"]+)"'),
}
DECISIONS = re.compile(r"\bdecisions? ([0-9]{3}(?:(?:,| and| to) [0-9]{3})*)")
NAMES_A_PAPER = re.compile(r'paper (?:sections?|eqs?\.)|earlier paper|recall docs, "|\breference, "')
DOCUMENT = re.compile(r"\bdocs/[\w./-]+\.md")
NOT_HERE = re.compile(
    r"design section|\bnotes/[a-z-]+(?:\.md| [0-9])|\bissue [0-9]|\.\./shared"
)  # nobody who reads the code has these


def code() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def citations(pattern: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    """Where a pattern is met and its first group, line breaks and comment signs read as blanks."""
    for path in code():
        if path == Path(__file__):
            continue
        text = re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text(encoding="utf-8"))
        for match in pattern.finditer(text):
            yield path.relative_to(ROOT), match.group(match.lastindex or 0)


@cache
def listed(title: str) -> frozenset[str]:
    """The entries of a document in docs/sources.md: numbers of sections or equations, or headings."""
    heading, label = {
        "paper": ("### The paper", "Sections"),
        "equation": ("### The paper", "Equations"),
        "earlier paper": ("### The earlier paper", "Sections"),
        "Memora": ("### Memora", "Sections"),
        "recall docs": ("### The recall docs", "Headings"),
        "reference": ("### The reference", "Headings"),
    }[title]
    part = SOURCES.read_text(encoding="utf-8").split(heading, 1)[1]
    (line,) = re.findall(rf"^{label}: (.+)\.$", part.split("\n### ", 1)[0], re.MULTILINE)
    entries = line.split("; ")
    return frozenset(entries if label == "Headings" else (entry.split(" ", 1)[0] for entry in entries))


@every_row("title", CITED)
def test_every_citation_of_a_source_is_in_its_outline(title: str) -> None:
    """Whoever follows a citation finds the section, equation or heading it names."""
    cited = list(citations(CITED[title]))
    if title in ("recall docs", "reference"):
        missing = [(str(path), name) for path, name in cited if name not in listed(title)]
    else:
        numbers = ((path, n) for path, found in cited for n in re.split(r",? (?:and|to|or) |, ?|-", found))
        missing = [(str(path), number) for path, number in numbers if number not in listed(title)]
    assert missing == []


def test_every_decision_cited_is_there() -> None:
    """A decision named in code has its page."""
    pages = {page.name[:3] for page in (ROOT / "docs" / "decisions").glob("*.md")}
    cited = [(str(path), n) for path, found in citations(DECISIONS) for n in re.findall(r"[0-9]{3}", found)]
    assert [(path, number) for path, number in cited if number not in pages] == []


def test_every_document_cited_is_there() -> None:
    """A page named in code exists."""
    assert [found for found in citations(DOCUMENT) if not (ROOT / found[1]).is_file()] == []


def test_nothing_is_cited_that_readers_do_not_have() -> None:
    """No comment sends its reader to a page outside the repository."""
    assert list(citations(NOT_HERE)) == []


def rows() -> Iterator[tuple[str, str]]:
    """The (name, module) of each row of the tables of formulas and constants."""
    for line in SOURCES.read_text(encoding="utf-8").splitlines():
        yield from re.findall(r"`([\w.]+)` in `([\w.]+)`", line)


@every_row(("name", "module"), sorted(set(rows())) if SOURCES.is_file() else [])
def test_every_formula_and_constant_listed_is_in_its_module(name: str, module: str) -> None:
    """docs/sources.md says truly where a formula or constant is."""
    found: object = import_module(f"hindsight_integrations.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


def sourced(path: Path) -> Iterator[str]:
    """The public functions and the constants of a module whose docstring or comment names a paper or its docs."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if NAMES_A_PAPER.search(ast.get_docstring(node) or ""):
                yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            beside = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if name.isupper() and not name.startswith("_") and NAMES_A_PAPER.search(beside):
                yield name


def test_every_formula_and_constant_with_a_source_is_listed() -> None:
    """What a comment says comes from a paper can be found from the paper's side too."""
    source = ROOT / "src" / "hindsight_integrations"
    found = {
        (name, path.relative_to(source).with_suffix("").as_posix().replace("/", "."))
        for path in source.rglob("*.py")
        if "testing" not in path.parts
        for name in sourced(path)
    }
    assert found
    assert sorted(found - set(rows())) == []


def test_every_file_named_in_the_architecture_is_there() -> None:
    """Whoever looks for a room or a file by docs/architecture.md finds it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)*\w+\.py|(?:\w+/)+)`", page))
    of_a_data_directory = {"chroma/"}
    places = [f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "src").rglob("*")]
    places += [f"/{folder}/" for folder in ("benchmarks", "tests", "docs")]
    missing = [name for name in named - of_a_data_directory if not any(f"/{name}" in f"{p}/" for p in places)]
    assert named
    assert missing == []
