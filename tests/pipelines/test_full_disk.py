"""A full disk blocks nothing and loses nothing, and the engine catches up when there is space."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fill_disk.py")
SIZE = "30m"


@pytest.fixture
def scarce(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder on a disk of 30 MB or, if no disk can be mounted, one in which files cannot grow; and which of the two."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if mount and unmount:
        command = [mount, "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        yield folder, "disk" if mounted else "limit"
        if mounted:
            subprocess.run([unmount, "--lazy", str(folder)], check=True)
    else:
        yield folder, "limit"


def course(folder: Path, keywords: str, way: str, look: str) -> str:
    """The script's output; the script ends itself if it hangs."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), keywords, way, look],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.stdout or done.stderr[-2000:]


@pytest.mark.promise(
    "An index that could not be written is named in `result.behind`, and recall answers without it."
)
@pytest.mark.parametrize(
    ("look", "keywords"),
    [
        ("looking", "lucene"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("looking", "fts5"), ("blind", "fts5"), ("blind", "lucene"))
        ),
    ],
)
def test_a_full_disk_holds_nothing_up_and_loses_nothing(
    scarce: tuple[Path, str], keywords: str, look: str
) -> None:
    """Every call returns, and everything acknowledged is found by meaning and words when there is space, also after a restart."""
    folder, way = scarce
    assert course(folder, keywords, way, look) == "sound"


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    """If every file is at its size limit, the same holds."""
    assert course(tmp_path, "fts5", "limit", "looking") == "sound"
