"""`hindsight-memory demo`: each scene shows what it claims, and the recordings fit all installed backends."""

from __future__ import annotations

import io
import json
import re
import shutil
from functools import partial
from pathlib import Path

import demo_recordings
import pytest
from rich.console import Console

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.cli import demo
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing import RecordedModel, unanswered
from hindsight_integrations.testing.doubles import HashEmbedder

RECORDINGS = frozenset(path.name for path in demo_recordings.FOLDER.glob("*.json"))


def console() -> Console:
    """A console whose output can be read."""
    return Console(file=io.StringIO(), width=demo.WIDTH, highlight=False)


def text_of(shown: Console) -> str:
    """The output of a console."""
    assert isinstance(shown.file, io.StringIO)
    return shown.file.getvalue()


@pytest.fixture(scope="module")
def scenes() -> list[str]:
    """The demo's text: the part before the scenes, then each scene."""
    shown = console()
    demo.run_demo(shown)
    return re.split(r"^\d\. ", text_of(shown), flags=re.MULTILINE)


def lines(scene: str) -> list[tuple[str, str]]:
    """The unwrapped lines of a scene, as (label, text)."""
    unfolded: list[tuple[str, str]] = []
    for line in scene.splitlines()[1:]:
        label, text = line[: demo.LABEL].strip(), line[demo.LABEL :].strip()
        if label or not unfolded:
            unfolded.append((label, text))
        else:
            unfolded[-1] = (unfolded[-1][0], f"{unfolded[-1][1]} {text}")
    return unfolded


def test_it_says_that_answers_are_recorded_and_on_what_it_runs(scenes: list[str]) -> None:
    assert demo.REPLAY in scenes[0]
    assert re.search(r"Backends: vectors chroma, keywords (Lucene|FTS5)", scenes[0])
    assert len(scenes) == 8
    assert max(len(line) for scene in scenes for line in scene.splitlines()) <= demo.WIDTH


def test_memory_reaches_a_new_conversation(scenes: list[str]) -> None:
    answers = dict(lines(scenes[1]))
    assert "Graz" not in answers["no memory"]
    assert "translator" not in answers["no memory"]
    assert "Graz" in answers["with memory"]
    assert "translator" in answers["with memory"]


def test_a_correction_changes_the_answer_and_keeps_history(scenes: list[str]) -> None:
    answers = dict(lines(scenes[2]))
    assert "Lisbon" in answers["Nova"]
    assert "Graz" not in answers["Nova"]
    assert "Graz" in answers["history"]
    assert "to 20 April" in answers["history"]


def test_the_suggestion_respects_the_allergy(scenes: list[str]) -> None:
    said = dict(lines(scenes[3]))
    assert "no nuts" in said["Nova"]
    assert "allergic to hazelnuts" in said["because"]
    assert "7 weeks ago" in said["because"]


def test_the_total_is_the_exact_sum(scenes: list[str]) -> None:
    said = lines(scenes[4])
    prices = {"7.60", "1.15", "6.80"}  # of the coffees of a month, in cents below
    total = sum(int(price.replace(".", "")) for price in prices)
    assert all(any(price in text for label, text in said if label.startswith("Mira")) for price in prices)
    assert f"sum {total // 100}.{total % 100} EUR, 3 records" in dict(said)["exact figures"]
    assert f"{total // 100}.{total % 100} euros" in dict(said)["Nova"]


def test_confidence_follows_the_evidence(scenes: list[str]) -> None:
    said = lines(scenes[5])
    (formed,) = [float(text[:4]) for label, text in said if label == "opinion"]
    moves = [
        re.fullmatch(r"(0\.\d\d) -> (0\.\d\d)  ?(\w.+)", text)
        for label, text in said
        if label == "confidence"
    ]
    assert all(moves)
    steps = [(float(move[1]), float(move[2])) for move in moves if move]
    assert steps[0][0] == formed
    assert steps[0][1] > formed
    assert steps[1][0] == steps[0][1]
    assert steps[1][1] < steps[1][0]
    assert len(steps) == 2


def test_as_of_shows_what_was_believed(scenes: list[str]) -> None:
    said = dict(lines(scenes[6]))
    assert "Graz" in said["as of 1 April"]
    assert "Lisbon" not in said["as of 1 April"]
    assert "Lisbon" in said["today"]
    assert "Graz" not in said["today"]


def test_the_cost_is_that_of_the_recordings(scenes: list[str]) -> None:
    said = dict(lines(scenes[7]))
    answers = [json.loads((demo_recordings.FOLDER / name).read_bytes()) for name in RECORDINGS]
    tokens = [sum(answer[field] for answer in answers) for field in ("tokens_in", "tokens_out")]
    assert (
        f"{len(answers)} calls (replayed), {tokens[0]:,} tokens in, {tokens[1]:,} tokens out" in said["model"]
    )
    assert "--help" in said["next"]


def test_every_recording_is_answered() -> None:
    assert not unanswered(demo_recordings.FOLDER)
    assert len(RECORDINGS) <= 25
    assert not (demo_recordings.FOLDER / "schemas").exists()


@pytest.mark.parametrize("keywords", [KeywordBackend.FTS5, KeywordBackend.LUCENE])
@pytest.mark.parametrize("double", [False, True], ids=["real embedder", "bag of words"])
def test_requests_are_the_same_on_all_backends(
    keywords: KeywordBackend, double: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No request depends on a ranking, so other weights or another processor change nothing."""
    if double:
        opened = partial(Hindsight.open, embeddings=HashEmbedder(), reranker=None)
        monkeypatch.setattr(Hindsight, "open", opened)
    config = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=keywords))
    folder = shutil.copytree(demo_recordings.FOLDER, tmp_path / "demo")
    asked = demo_recordings.play_demo(console(), RecordedModel(folder), config)
    assert asked == RECORDINGS


@pytest.mark.parametrize("prompt", ["extract_facts", "demo", "answer", "assess_evidence"])
def test_a_missing_recording_is_named(prompt: str, tmp_path: Path) -> None:
    """Whichever recording is missing, the error names the prompt and how to record it again."""
    folder = shutil.copytree(demo_recordings.FOLDER, tmp_path / "demo")
    for path in folder.glob(f"{prompt}-*.json"):
        path.unlink()
    with pytest.raises(demo.DemoOutOfDate, match=rf"{prompt}.*tests/support/demo_recordings\.py"):
        demo_recordings.play_demo(console(), RecordedModel(folder))
