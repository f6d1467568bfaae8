"""FileWatch: changes to an open index's files by other programs are detected."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations.indexes.lucene import FileWatch

SOUND = b"an index"


def rewrite(path: Path) -> None:
    """Write other bytes of the same length, a moment later."""
    path.write_bytes(SOUND[::-1])
    later = path.stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(later, later))


@pytest.mark.parametrize("damage", [rewrite, Path.unlink, lambda path: os.truncate(path, 3)])
def test_what_others_do_to_a_file_is_seen(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    """A file that was rewritten, truncated or removed raises with its name; unchanged and new ones do not."""
    watched, other = tmp_path / "_0.doc", tmp_path / "_1.doc"
    watched.write_bytes(SOUND)
    watch = FileWatch([str(watched)])
    other.write_bytes(SOUND)
    watch.check()
    damage(watched)
    with pytest.raises(OSError, match=r"_0\.doc was changed or removed by another program"):
        watch.check()


def test_an_index_in_memory_has_nothing_to_watch() -> None:
    """Without files nothing is checked."""
    FileWatch().check()
