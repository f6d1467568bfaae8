"""How far the collections of a Chroma folder have come, read without Chroma."""

from __future__ import annotations

import json
from pathlib import Path

from hindsight_integrations.ports.watermark import IndexMark, Watermark


def chroma_marks(data: Path) -> list[IndexMark]:
    """The watermark of every bank's collection in a data directory."""
    files = sorted((data / "chroma" / "watermarks").glob("*.json"))
    return [IndexMark("vector", file.stem, _mark(file)) for file in files]


def _mark(file: Path) -> Watermark | None:
    try:
        return Watermark.parse(json.loads(file.read_text(encoding="utf-8"))["watermark"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
