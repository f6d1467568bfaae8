"""Every error message, word for word, so that somebody reads every change to what a user sees.

Run `UPDATE_GOLDEN=1 pytest tests/golden` to accept a change, and read the diff.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import hindsight_integrations
from hindsight_integrations import errors

SOURCE = Path(hindsight_integrations.__file__).parent
GOLDEN = Path(__file__).with_name("errors.txt")
ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type)}


def template(node: ast.expr) -> str:
    """A text with its values as `{expression}`; a name is replaced by its value."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
    if isinstance(node, ast.IfExp):
        return f"({template(node.body)} | {template(node.orelse)})"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return f"{{{ast.unparse(node)}}}"


def without_values(text: str) -> str:
    """A template without its `{expression}` parts, which may contain braces."""
    shorter = re.sub(r"{[^{}]*}", "", text)
    return text if shorter == text else without_values(shorter)


def bound(function: ast.AST) -> dict[str, str]:
    """The texts that a function assigns to names, by name."""
    return {
        target.id: template(node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.IfExp)
    }


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, dict[str, str]]]:
    """Calls that create an error or pass a message to one, with the texts assigned to names around them."""
    names: dict[ast.AST, dict[str, str]] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            texts = bound(function)
            names.update((node, texts) for node in ast.walk(function))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ERRORS or called == "super().__init__":
                yield node, names.get(node, {})


def messages(path: Path) -> list[str]:
    """The messages of a module, one per line: the error and its arguments."""
    lines = []
    for call, texts in calls(ast.parse(path.read_text(encoding="utf-8"))):
        parts = [template(value) for value in (*call.args, *(keyword.value for keyword in call.keywords))]
        parts = [texts.get(part.strip("{}"), part) if part.startswith("{") else part for part in parts]
        if any(" " in without_values(part).strip() for part in parts):
            name = ast.unparse(call.func).replace("super().__init__", "message")
            lines.append(f"  {name}: {' | '.join(parts)}".replace("\n", "\\n"))
    return lines


def test_error_messages_are_these() -> None:
    """One file contains all texts of errors, by module."""
    pages = {path.relative_to(SOURCE).as_posix(): messages(path) for path in sorted(SOURCE.rglob("*.py"))}
    found = "".join("\n".join([name, *lines]) + "\n" for name, lines in pages.items() if lines)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found.count("\n  ") > 200
    assert found == GOLDEN.read_text(encoding="utf-8")
