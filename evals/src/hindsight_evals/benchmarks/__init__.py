"""Benchmarks of the engine, a module each: `hindsight-evals bench NAME [options]`. The packages beside them are their helpers."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from hindsight_integrations import InvalidRequest


def summaries() -> dict[str, str]:
    """The first line of each benchmark's docstring, by name. None is imported: some need what may not be installed."""
    modules = (path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem != "__init__")
    parsed = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in modules}
    return {name: (ast.get_docstring(module) or "").partition("\n")[0] for name, module in parsed.items()}


def run_benchmark(name: str, argv: Sequence[str]) -> int:
    """Run one benchmark with the arguments of its command line; its exit code.

    Raises:
        InvalidRequest: there is no such benchmark.
    """
    if name not in summaries():
        raise InvalidRequest(
            "bench", f"there is no benchmark {name!r}", "List them with `hindsight-evals bench`."
        )
    sys.argv = [
        f"hindsight-evals bench {name}",
        *argv,
    ]  # the usage that argparse prints names the program by it
    code: int | None = import_module(f"{__name__}.{name}").main(argv)
    return code or 0
