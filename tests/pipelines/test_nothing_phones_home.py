"""No data leaves the machine without the user's request: no telemetry, no model, no request to a hub."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import socket, sys

tried = []

def note(self, address):
    if self.family not in (socket.AF_UNIX,) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        tried.append(address)
    raise OSError("no network in this test")

def look_up(host, *rest, **more):
    tried.append(host)
    raise socket.gaierror("no network in this test")

socket.socket.connect = socket.socket.connect_ex = note
socket.getaddrinfo = look_up

from hindsight_integrations import Hindsight, HindsightConfig

assert HindsightConfig.from_env().model is None
with Hindsight.open(sys.argv[1]) as engine:
    bank = engine.bank("alice")
    bank.retain("Alice bought a red kayak.")
    assert bank.recall("What did Alice buy?").units
    bank.reflect("What did Alice buy?")
    bank.forget(everything=True)
    backends = engine.doctor().backends
print(tried, backends["vectors"], backends["model"])
"""


@pytest.mark.promise("Nothing phones home.")
def test_no_connection_is_tried_and_a_key_in_the_environment_names_no_model(tmp_path: Path) -> None:
    """With installed models, Chroma, Lucene and a key in the environment, no address is looked up or connected to."""
    environment = {**os.environ, "OPENAI_API_KEY": "sk-nobody"}
    for offline in ("HF_HUB_OFFLINE", "HINDSIGHT_MODEL"):
        environment.pop(offline, None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[] chroma none"
