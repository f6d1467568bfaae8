"""Print the hash of everything the inspector's page is built from, and of what was built."""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
BUILT = HERE.parent / "src" / "hindsight_integrations" / "server" / "assets"
SOURCES = [
    "index.html",
    "package.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.js",
]


def digest(files: list[Path], folder: Path) -> str:
    """Return the SHA-256 of the names and contents of some files of a folder."""
    whole = hashlib.sha256()
    for file in sorted(files):
        content = file.read_bytes()
        whole.update(f"{file.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def hashes() -> str:
    """Return the two hashes, each on a line."""
    sources = [HERE / name for name in SOURCES]
    sources += [file for part in ("src", "public") for file in (HERE / part).rglob("*") if file.is_file()]
    built = [file for file in BUILT.iterdir() if file.is_file()]
    return f"sources {digest(sources, HERE)}\nassets {digest(built, BUILT)}\n"


if __name__ == "__main__":
    print(hashes(), end="")  # noqa: T201
