"""FileWatch: what another program does to an open index's files is seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations.indexes.lucene import FileWatch

SOUND = b"an index"


def rewrite(path: Path) -> None:
    """Other bytes of the same length, a moment later."""
    path.write_bytes(SOUND[::-1])
    later = path.stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(later, later))


@pytest.mark.parametrize("damage", [rewrite, Path.unlink, lambda path: os.truncate(path, 3)])
def test_what_others_do_to_a_file_is_seen(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    """A file rewritten, cut short or removed raises with its name; untouched ones and new ones do not."""
    watched, other = tmp_path / "_0.doc", tmp_path / "_1.doc"
    watched.write_bytes(SOUND)
    watch = FileWatch([str(watched)])
    other.write_bytes(SOUND)
    watch.check()
    damage(watched)
    with pytest.raises(OSError, match=r"_0\.doc was changed or removed by another program"):
        watch.check()


def test_an_index_in_memory_has_nothing_to_watch() -> None:
    """Without files there is nothing to look at, and nothing to complain of."""
    FileWatch().check()
