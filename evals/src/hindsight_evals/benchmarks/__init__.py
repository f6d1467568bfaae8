"""Benchmarks of the engine, one module each: `hindsight-evals bench NAME [options]`. The subpackages contain helpers."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from hindsight_integrations import InvalidRequest


def summaries() -> dict[str, str]:
    """Return the first line of each benchmark's docstring by name, without importing it (it may need missing packages)."""
    modules = (path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem != "__init__")
    parsed = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in modules}
    return {name: (ast.get_docstring(module) or "").partition("\n")[0] for name, module in parsed.items()}


def run_benchmark(name: str, argv: Sequence[str]) -> int:
    """Run one benchmark with its command-line arguments, and return its exit code.

    Raises:
        InvalidRequest: there is no such benchmark.
    """
    if name not in summaries():
        raise InvalidRequest(
            "bench", f"there is no benchmark {name!r}", "List them with `hindsight-evals bench`."
        )
    sys.argv = [f"hindsight-evals bench {name}", *argv]  # argparse prints the first one as the program name
    code: int | None = import_module(f"{__name__}.{name}").main(argv)
    return code or 0
