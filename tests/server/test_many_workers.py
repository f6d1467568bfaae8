"""The example of many workers: uvicorn, task workers and clients on one PostgreSQL server: `make test-server`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from postgres_server import Databases

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "many_workers" / "run.py"
LIGHT = {"HINDSIGHT_KEYWORDS": "fts5", "HINDSIGHT_VECTORS": "exact"}  # seven processes share the machine


@pytest.mark.timeout(600)
def test_every_worker_answers_from_what_another_one_stored(databases: Databases) -> None:
    """Also after one was killed in the middle of a turn; each message is one memory, and SIGTERM ends every program cleanly."""
    address = databases.address("example", empty=True).replace("+psycopg", "")
    with subprocess.Popen(
        [sys.executable, str(EXAMPLE), address],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **LIGHT},
        start_new_session=True,
    ) as example:
        try:
            printed, _ = example.communicate(timeout=570)
        finally:
            with suppress(ProcessLookupError):  # it left no process behind
                os.killpg(example.pid, signal.SIGKILL)
    assert example.returncode == 0, printed
    assert printed.count("each of 4 workers answered from what another one stored") == 2
    assert "the task workers made observations of them" in printed
    for program in ("service", "task worker 1", "task worker 2"):
        assert f"{program}: ended by SIGTERM, exit code 0" in printed
