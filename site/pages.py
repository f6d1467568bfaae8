"""Build pages of the site from the repository, and check the built site (MkDocs hooks, see mkdocs.yml).

README, CHANGELOG and similar files become pages, and notebooks become text. Errors are listed from their docstrings and
messages, and environment variables from the code that reads them. A link to a file of the repository becomes a link to
its page.
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/hindsight_integrations"

COPIES = {  # file of the repository -> page
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples.md",
    "site/site.css": "site.css",
}
NOTEBOOKS = {path: f"cookbooks/{path.stem}.md" for path in sorted((ROOT / "cookbooks").glob("*.ipynb"))}
SENTENCE = 20  # minimum characters of a message; shorter texts are parts of one
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")


def on_config(config: MkDocsConfig) -> None:
    """Add the decisions and the cookbooks to the navigation, where mkdocs.yml names their folders."""
    numbered = sorted(path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    folders = {
        "decisions/": [f"decisions/{name}" for name in ("README.md", *numbered)],
        "cookbooks/": [*NOTEBOOKS.values()],
    }
    config.nav = _listed(config.nav, folders)


def _listed(nav: Any, folders: dict[str, list[str]]) -> Any:  # noqa: ANN401 - YAML
    if isinstance(nav, list):
        return [_listed(item, folders) for item in nav]
    if isinstance(nav, dict):
        return {name: _listed(item, folders) for name, item in nav.items()}
    return folders.get(nav, nav)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files in docs/."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {
        page: (ROOT / name).read_text(encoding="utf-8") for name, page in COPIES.items()
    }
    for path, page in NOTEBOOKS.items():
        made |= notebook_page(path, page)
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


on_files.mkdocs_priority = 100  # type: ignore[attr-defined] # before llmstxt, which looks for the pages of llms.txt


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace links to files by links to pages, and insert the lists that are generated from the code."""
    for mark, listed in LISTS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, listed())
    markdown = re.sub(r"\[docs/([\w-]+)\.md\]\(", r"[\1](", markdown)  # the README's link texts are paths
    home = {page: name for name, page in COPIES.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return LINK.sub(lambda link: page_of(link[1], Path(home).parent, page.file.src_uri), markdown)


def page_of(link: str, folder: Path, page: str) -> str:
    """Return the link to the page of a file; other links are returned unchanged.

    Args:
        link: the link, relative to the folder.
        folder: the folder, in the repository, of the file that contains the link.
        page: that file's page, relative to docs/.
    """
    if "://" in link:
        return link
    target = (ROOT / folder / link).resolve()
    if not target.is_relative_to(ROOT):
        return link
    name = target.relative_to(ROOT).as_posix()
    if name == "cookbooks":
        goal = next(iter(NOTEBOOKS.values()))
    else:
        goal = COPIES.get(name) or NOTEBOOKS.get(target) or name.removeprefix("docs/")
    return "../" * page.count("/") + goal


def on_post_build(config: MkDocsConfig) -> None:
    """Fail if a page would load something from another host.

    Raises:
        PluginError: names the pages and what they load.
    """
    from mkdocs.exceptions import PluginError

    loads = {
        f"{path.name}: {address}"
        for path in Path(config.site_dir).rglob("*.html")
        for address in loaded(path.read_text(encoding="utf-8"))
    }
    if loads:
        raise PluginError(f"pages load from other hosts: {', '.join(sorted(loads))}")


def loaded(html: str) -> list[str]:
    """Return the addresses on other hosts that a browser would load with the page."""
    addresses: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            values = dict(attrs)
            address = values.get("src") or ""
            if tag == "link" and values.get("rel") not in {"canonical", "next", "prev"}:
                address = values.get("href") or ""
            if re.match(r"(https?:)?//", address):
                addresses.append(address)

    Parser().feed(html)
    return addresses


def notebook_page(path: Path, page: str) -> dict[str, str | bytes]:
    """Convert a notebook to Markdown with its stored outputs and pictures; return the contents by path on the site."""
    parts, pictures = [], dict[str, str | bytes]()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if picture := "".join(data.get("image/png", "")):
                name = f"{path.stem}_{len(pictures) + 1}.png"
                pictures[f"cookbooks/{name}"] = base64.b64decode(picture)
                parts.append(f"![Plot {len(pictures)}]({name})")
            elif "text/markdown" in data:
                parts.append("".join(data["text/markdown"]))
            else:
                parts.append(
                    f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"
                )
    return {page: "\n\n".join(parts) + "\n", **pictures}


def error_list() -> str:
    """List each class of errors.py with its message, and each message with which the package raises it."""
    from hindsight_integrations import errors

    tree = ast.parse((SOURCE / "errors.py").read_text(encoding="utf-8"))
    reasons = messages()
    parts = ["```text\n" + _tree(inspect.getdoc(errors) or "") + "\n```"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            parts += [f"## {node.name}", _described(getattr(errors, node.name))]
            parts += [f"> {text}" for text in _own_messages(node)]
            if node.name in reasons:
                rows = [f"| {reason} | {remedy} |" for reason, remedy in reasons[node.name]]
                parts.append("\n".join(["| reason | what to do |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def _own_messages(node: ast.ClassDef) -> list[str]:
    """Return the sentences that an error class composes itself, without values."""
    texts = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in text.values)
        for text in ast.walk(node)
        if isinstance(text, ast.JoinedStr)
    ]
    return [_readable(text) for text in texts if len(text) > SENTENCE]


def _tree(text: str) -> str:
    """Return the indented tree of a docstring."""
    return "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))


def _described(kind: type) -> str:
    """Return a class's docstring as Markdown, with its bases and its message."""
    text, _, fields = (inspect.getdoc(kind) or "").partition("Attributes:")
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__ if base is not Exception)
    listed = "\n".join(f"- `{name}`: {meaning}" for name, meaning in docstring_fields(fields))
    return "\n\n".join(filter(None, [text.strip(), f"Base: {bases}." if bases else "", listed]))


def docstring_fields(text: str) -> list[tuple[str, str]]:
    """Return the names and meanings of an "Attributes:" section."""
    entries = re.findall(r"^\s{0,8}(\w+): (.*(?:\n\s{8,}(?!\w+: ).*)*)", text, re.MULTILINE)
    return [(name, " ".join(meaning.split())) for name, meaning in entries]


def messages() -> dict[str, list[tuple[str, str]]]:
    """Return reasons and remedies by class of error, from the list that a test compares with the code."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (ROOT / "tests/golden/errors.txt").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.strip().partition(": ")
        if line.startswith("  ") and name != "message":
            first, *parts = [_readable(part) for part in rest.split(" | ")]
            remedy = parts.pop() if len(parts) > 1 else ""
            row = (": ".join(filter(None, [first, *parts])), remedy)
            if any(re.search(r"\w", cell) for cell in row) and row not in found.setdefault(name, []):
                found[name].append(row)
    return found


def _readable(text: str) -> str:
    """Replace the values in a message template by an ellipsis, and escape characters that would be read as a table or a tag."""
    shorter = re.sub(r"{[^{}]*}", "…", text)
    if shorter != text:
        return _readable(shorter)
    return text.replace("\\n", " ").replace("|", "\\|").replace("<", "&lt;").strip()


def environment_table() -> str:
    """Return a table of the environment variables that `HindsightConfig.from_env` reads."""
    rows = [
        f"| `{name}` | `{setting}` | {rest} |"
        for name, setting, *columns in environment()
        for rest in [" | ".join(columns)]
    ]
    return "\n".join(["| variable | setting | meaning | values | default |", "|---|---|---|---|---|", *rows])


def environment() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the name, setting, meaning, values and default of each environment variable.

    Raises:
        LookupError: a variable is read in a way that this function does not recognise.
    """
    from hindsight_integrations import config

    tree = ast.parse((SOURCE / "config.py").read_text(encoding="utf-8"))
    (reader,) = [node for node in ast.walk(tree) if getattr(node, "name", "") == "from_env"]
    for path, value in _settings(reader, ()):
        (name,) = re.findall(r"'(HINDSIGHT_\w+)'", ast.unparse(value))[:1]
        holder: Any = config.HindsightConfig()
        for part in path[:-1]:
            holder = getattr(holder, part)
        fields = dict(docstring_fields((inspect.getdoc(type(holder)) or "").partition("Attributes:")[2]))
        default = getattr(holder, path[-1])
        yield name, ".".join(path), fields[path[-1]].rstrip("."), _values(value, config), _default(default)


def _settings(node: ast.AST, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ast.expr]]:
    """Yield the path of each setting that is read from a variable, and the expression that reads it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.keyword) or child.arg is None:
            yield from _settings(child, path)
        elif any(
            isinstance(inner, ast.keyword) and "HINDSIGHT_" in ast.unparse(inner)
            for inner in ast.walk(child.value)
        ):
            yield from _settings(child.value, (*path, child.arg))
        elif "HINDSIGHT_" in ast.unparse(child.value):
            yield (*path, child.arg), child.value


def _values(value: ast.expr, config: object) -> str:
    """Return the values that a variable may have, if there are few: the members of an enum, or words for "yes"."""
    kinds = [getattr(config, node.id, None) for node in ast.walk(value) if isinstance(node, ast.Name)]
    members = [
        str(choice)
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, StrEnum)
        for choice in kind
    ]
    words = [text for node in ast.walk(value) if isinstance(node, ast.Set) for text in ast.literal_eval(node)]
    return ", ".join(f"`{text}`" for text in members or sorted(words))


def _default(value: object) -> str:
    if value is None or value is False:
        return ""
    return f"`{','.join(value) if isinstance(value, tuple) else value}`"


LISTS = {"<!-- every error -->": error_list, "<!-- every environment variable -->": environment_table}
