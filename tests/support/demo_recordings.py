"""Record the demo's answers again after a prompt has changed.

    python tests/support/demo_recordings.py            play the demo; print the first request without an answer
    python tests/support/demo_recordings.py FILE       answer that request with the JSON object on standard input
    python tests/support/demo_recordings.py --prune    delete recordings that the demo no longer asks for

A request depends on the answers before it, so they come one at a time. Whoever answers, a person or a model, uses what the
request says and nothing else. With HINDSIGHT_MODEL set, that model answers all of them at once.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from hindsight_integrations import HindsightConfig
from hindsight_integrations.cli.demo import WIDTH, DemoOutOfDate, MeteredModel, play
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.testing import RecordedModel, RecordingModel, unanswered
from hindsight_integrations.testing.recordings import (
    SCHEMAS,
    read_recording,
    recording_path,
    write_recording,
)

FOLDER = Path(__file__).parents[2] / "examples" / "data" / "demo"


def play_demo(
    console: Console, model: LanguageModel, config: HindsightConfig | None = None
) -> frozenset[str]:
    """Play the demo and return the names of the requested recordings."""
    metered = MeteredModel(model)
    with tempfile.TemporaryDirectory() as folder:
        play(console, metered, Path(folder) / "memory", config)
    return frozenset(recording_path(FOLDER, prompt).name for prompt in metered.prompts)


def write_counted_answer(path: Path, answer: Mapping[str, Any]) -> None:
    """Answer a request; the token counts are those of its texts in cl100k."""
    from hindsight_integrations.models.tokens import default_token_counter

    request = read_recording(path)
    assert request is not None, f"{path} is not there"
    count = default_token_counter().count
    fields = {
        "answer": dict(answer),
        "model": "a language model, by hand",
        "tokens_in": sum(count([message.text for message in request.messages])),
        "tokens_out": sum(count([json.dumps(answer)])),
    }
    write_recording(path, request.model_copy(update=fields))


def main() -> None:
    """Run the command in the module's docstring."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] != "--prune":
        write_counted_answer(Path(arguments[0]), json.load(sys.stdin))
    name = os.environ.get("HINDSIGHT_MODEL")
    model = RecordingModel(name, FOLDER) if name else RecordedModel(FOLDER)
    console = Console(highlight=False, width=WIDTH)
    try:
        asked = play_demo(console, model)
    except DemoOutOfDate:
        for path, request in unanswered(FOLDER).items():
            console.print(f"\n{path}\nschema: {FOLDER / SCHEMAS}/{request.schema_name}-*.json", markup=False)
            for message in request.messages:
                console.print(f"\n--- {message.role}\n{message.text}", markup=False)
        raise SystemExit(1) from None
    stale = sorted(path for path in FOLDER.glob("*.json") if path.name not in asked)
    for path in stale:
        console.print(f"no longer asked for: {path}", markup=False)
    if "--prune" in arguments:
        for path in stale:
            path.unlink()
        shutil.rmtree(FOLDER / SCHEMAS, ignore_errors=True)


if __name__ == "__main__":
    main()
