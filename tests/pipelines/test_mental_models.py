"""Mental models: questions with stored answers, which end with their grounds."""

from __future__ import annotations

import asyncio
import io
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builders import make_unit
from standing_questions import REAL, Answering, config, told

from hindsight_integrations import (
    Hindsight,
    InvalidRequest,
    MemoryBank,
    MentalModel,
    ModelState,
    RefreshTrigger,
)
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.model.writes import UnitWrite, WriteSet
from hindsight_integrations.reflect import mental_models
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel


def test_questions_are_kept_on_both_apis(light: Hindsight) -> None:
    """Created, found by name, listed and deleted; until it is refreshed it has no text."""
    bank = light.bank("alice")
    made = bank.mental_models.create("tea", "Who likes tea?", tags=["b", "a"], trigger="auto", max_tokens=50)
    face = bank.asynchronous.mental_models

    async def on_the_other_face() -> MentalModel:
        """The same method, awaited."""
        return await face.create(" figs ", "Who likes figs?")

    other = asyncio.run(on_the_other_face())
    assert (made.tags, made.trigger, made.max_tokens) == (("a", "b"), RefreshTrigger.AUTO, 50)
    assert (made.text, made.state, other.name) == ("", ModelState.NEW, "figs")
    assert bank.mental_models.get("tea") == made
    assert bank.mental_models.list() == (other, made) == asyncio.run(face.list())
    bank.mental_models.delete("tea")
    assert bank.mental_models.list() == (other,)


def test_what_is_no_model_is_refused(light: Hindsight) -> None:
    """Each error names a remedy."""
    bank = light.bank("alice")
    bank.mental_models.create("tea", "Who likes tea?")
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"name": "tea", "question": "And now?"}, "Delete it first, or choose another name"),
        ({"name": "two\nlines", "question": "What?"}, "Pass a name of one line"),
        ({"name": "figs", "question": " "}, "Pass some text"),
        ({"name": "figs", "question": "What?", "max_tokens": 8_193}, "a whole number from 1 to 8,192"),
        ({"name": "figs", "question": "What?", "trigger": "daily"}, "manual"),
    )
    for arguments, reason in wrong:
        with pytest.raises(InvalidRequest, match=reason):
            bank.mental_models.create(**arguments)
    for verb in (bank.mental_models.get, bank.mental_models.delete):
        with pytest.raises(InvalidRequest, match=r"Pass a name from mental_models\.list\(\)"):
            verb("figs")
    assert [model.name for model in bank.mental_models.list()] == ["tea"]


NOW = datetime(2024, 6, 12, 9, tzinfo=UTC)
TEA, FIGS, BOAT = "Bea Lund likes green tea.", "Bea Lund likes ripe figs.", "The harbour closes at nine."


def engine_of(
    opener: Callable[..., Hindsight],
    model: Answering | None = None,
    path: Path | str = ":memory:",
    **options: Any,
) -> Hindsight:
    """An engine with the answering model."""
    return opener(
        path, config=options.pop("config", config()), model=ScriptedModel(model) if model else None, **options
    )


def test_a_refresh_keeps_the_answer(opener: Callable[..., Hindsight]) -> None:
    """The text, its grounds and its time are stored; nothing else is, and one call was made."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    tea, boat = told(bank, TEA, BOAT)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    before = bank.count()
    made = bank.mental_models.refresh("Bea")
    assert (made.text, made.based_on, made.state) == (TEA, (tea,), ModelState.CURRENT)
    assert made.refreshed_at == NOW
    assert made == bank.mental_models.get("Bea") == asyncio.run(bank.asynchronous.mental_models.get("Bea"))
    assert (len(model.prompts), bank.count(), made.extractive) == (1, before, False)
    assert boat not in made.based_on


def test_without_a_model_the_text_is_memories(opener: Callable[..., Hindsight]) -> None:
    """It is labelled as such, and within its size limit."""
    bank = engine_of(opener).bank("b")
    told(bank, TEA, FIGS)
    bank.mental_models.create("Bea", "What does Bea Lund like?", max_tokens=9)
    made = bank.mental_models.refresh("Bea")
    assert made.extractive
    assert made.text in {TEA, FIGS}
    assert len(made.based_on) == 1


def test_nothing_known_is_said_without_a_call(opener: Callable[..., Hindsight]) -> None:
    """If the bank, or its scope, is empty, there is no text and no call. When a memory is added, it is out of date."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    assert bank.mental_models.refresh("Bea").state is ModelState.NOTHING_KNOWN
    told(bank, TEA, tags=["private"])
    assert bank.mental_models.refresh("Bea").text == ""
    assert model.prompts == []
    told(bank, FIGS)
    assert bank.mental_models.get("Bea").state is ModelState.STALE
    assert bank.mental_models.refresh("Bea").text == FIGS


def test_an_answer_that_does_not_suffice_is_none(opener: Callable[..., Hindsight]) -> None:
    """The previous answer is removed too, because memory no longer supports it."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    assert bank.mental_models.refresh("Bea").text == TEA
    model.verdict = False
    made = bank.mental_models.refresh("Bea")
    assert (made.text, made.based_on, made.state) == ("", (), ModelState.NOTHING_KNOWN)


def test_a_model_is_answered_from_its_own_tags(opener: Callable[..., Hindsight]) -> None:
    """Memories with the same tags or none are used; the prompt contains nothing of others, even if they share some tags."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    told(bank, "Bea Lund likes pears.")
    told(bank, TEA, tags=["anna"])
    told(bank, FIGS, tags=["anna", "ben"])
    told(bank, "Bea Lund likes quinces.", tags=["ben"])
    bank.mental_models.create("for anna", "What does Bea Lund like?", tags=["anna"])
    bank.mental_models.create("for all", "What does Bea Lund like?")
    assert set(bank.mental_models.refresh("for anna").text.split(" / ")) == {TEA, "Bea Lund likes pears."}
    assert bank.mental_models.refresh("for all").text == "Bea Lund likes pears."
    for prompt in model.prompts:
        assert "figs" not in prompt
        assert "quinces" not in prompt
    told(bank, "Bea Lund likes quince jelly.", tags=["ben"])
    assert {each.state for each in bank.mental_models.list()} == {ModelState.CURRENT}
    told(bank, "Bea Lund likes green plums.", tags=["anna"])
    states = {each.name: each.state for each in bank.mental_models.list()}
    assert states == {"for anna": ModelState.STALE, "for all": ModelState.CURRENT}


@pytest.mark.promise("A stored answer that may be out of date is marked, and never hides a fact.")
@pytest.mark.parametrize(
    ("text", "about", "state"),
    [
        ("What Bea likes, she likes with honey.", "", ModelState.STALE),  # near the question
        ("Rowed to Turku in May.", "Bea Lund", ModelState.STALE),  # about a person that it names
        ("Cyril repaired two clocks.", "Cyril Moss", ModelState.CURRENT),
    ],
)
def test_changes_in_scope_make_it_stale(
    opener: Callable[..., Hindsight], text: str, about: str, state: ModelState
) -> None:
    """A fact near the question, or about a person it names, makes it stale; others do not."""
    bank = engine_of(opener, Answering()).bank("b")
    told(bank, TEA, about="Bea Lund")
    told(bank, *(f"Number {number} of the quay is painted." for number in range(60)))
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    assert bank.mental_models.refresh("Bea").state is ModelState.CURRENT
    told(bank, text, about=about)
    made = bank.mental_models.get("Bea")
    assert (made.state, made.text) == (state, TEA)


def test_what_is_everywhere_makes_nothing_stale(opener: Callable[..., Hindsight]) -> None:
    """An entity that most memories mention does not count."""
    bank = engine_of(opener, Answering()).bank("b")
    told(bank, TEA, *(f"Quay {number} was painted." for number in range(20)), about="Bea Lund")
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    bank.mental_models.refresh("Bea")
    told(bank, "Cyril repaired two clocks.", about="Bea Lund")
    assert bank.mental_models.get("Bea").state is ModelState.CURRENT


@pytest.mark.promise(
    "Everything derived from a fact becomes invalid with it: no summary repeats what was withdrawn, corrected or forgotten."
)
@pytest.mark.parametrize("what", ["withdrawn", "corrected", "forgotten"])
def test_a_text_ends_with_what_it_stands_on(opener: Callable[..., Hindsight], what: str) -> None:
    """A withdrawn, edited or forgotten fact removes the text until the refresh; the question stays."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    tea, _ = told(bank, TEA, FIGS)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    assert bank.mental_models.refresh("Bea").text.count("likes") == 2
    if what == "withdrawn":
        told(bank, "Bea Lund gave green tea up.", invalidates=[TEA])
    elif what == "corrected":
        bank.edit(tea, text="Bea Lund likes black tea.")
    else:
        assert bank.forget(unit=tea).counts["mental_models"] == 1
    made = bank.mental_models.get("Bea")
    assert (made.state, made.text, made.question) == (ModelState.WITHDRAWN, "", "What does Bea Lund like?")
    model.prompts.clear()
    again = bank.mental_models.refresh("Bea")
    assert FIGS in again.text
    assert TEA not in again.text
    assert not any(TEA in prompt for prompt in model.prompts)


@pytest.mark.directory
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_a_forgotten_fact_is_in_no_file(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """This includes texts by a model that was shown the fact, whether it cited the fact or not."""
    model = Answering(wording=lambda texts: f"Xylotea for {len(texts)}")
    engine = engine_of(opener, model, tmp_path / "memory", config=config(REAL))
    bank = engine.bank("b")
    told(bank, TEA)
    (boat,) = told(bank, "Bea Lund rowed past the xyloboat.")
    bank.mental_models.create("Bea", "What does Bea Lund like?", trigger="auto")
    assert bank.mental_models.refresh("Bea").text == "Xylotea for 1"
    engine.close()
    engine = engine_of(opener, model, tmp_path / "memory", config=config(REAL))
    bank = engine.bank("b")
    assert files_with(tmp_path, "xylotea")
    receipt = bank.forget(unit=boat)
    assert (receipt.files_clean, receipt.counts["mental_models"]) == (True, 1)
    assert files_with(tmp_path, "xylotea") == files_with(tmp_path, "xyloboat") == []
    model.prompts.clear()
    assert bank.tasks.settle().refreshed == 1
    assert "xyloboat" not in "".join(model.prompts)


def files_with(folder: Path, needle: str) -> list[Path]:
    """Files that contain the bytes, ignoring case."""
    return [
        path for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes().lower()
    ]


def test_an_automatic_one_is_refreshed_by_settle(opener: Callable[..., Hindsight]) -> None:
    """Once for many retains; facts outside its scope cost no call; a manual one is not refreshed."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?", trigger="auto")
    bank.mental_models.create("by hand", "What does Bea Lund like?")
    assert bank.tasks.settle().refreshed == 1
    assert bank.mental_models.get("Bea").text == TEA
    told(bank, FIGS, "Bea Lund likes plums.", "Bea Lund likes dates.")
    settled = bank.tasks.settle()
    assert (settled.refreshed, len(settled.done), len(model.prompts)) == (1, 1, 2)
    assert "dates" in bank.mental_models.get("Bea").text
    told(bank, "Cyril repaired two clocks.", about="Cyril Moss")
    settled = bank.tasks.settle()
    assert (settled.refreshed, len(settled.done), len(model.prompts)) == (0, 1, 2)
    assert bank.mental_models.get("Bea").state is ModelState.CURRENT
    assert bank.tasks.settle().done == ()
    assert bank.mental_models.get("by hand").state is ModelState.NEW


def test_automatic_ones_wait_for_a_model(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Without a model the task waits; a manual refresh quotes memories."""
    engine = engine_of(opener, None, tmp_path)
    bank = engine.bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?", trigger="auto")
    assert bank.tasks.settle().done == ()
    assert bank.mental_models.refresh("Bea").extractive
    told(bank, FIGS)
    engine.close()
    bank = engine_of(opener, Answering(), tmp_path).bank("b")
    assert bank.tasks.settle().refreshed == 1
    assert not bank.mental_models.get("Bea").extractive


def test_facts_that_change_while_it_is_answered(opener: Callable[..., Hindsight]) -> None:
    """A fact forgotten during the model call is in no text: the model is called again with the remaining facts."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    tea, _ = told(bank, TEA, FIGS)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    model.meanwhile = lambda: bank.forget(unit=tea)
    made = bank.mental_models.refresh("Bea")
    assert (made.text, len(model.prompts)) == (FIGS, 2)


@pytest.mark.parametrize("deleted", [False, True])
def test_what_happens_while_a_task_is_at_it(opener: Callable[..., Hindsight], *, deleted: bool) -> None:
    """A fact forgotten meanwhile is in no text, and the task is repeated; a model deleted meanwhile stays deleted."""
    model = Answering()
    bank = engine_of(opener, model).bank("b")
    tea, _ = told(bank, TEA, FIGS)
    bank.mental_models.create("Bea", "What does Bea Lund like?", trigger="auto")
    model.meanwhile = partial(bank.mental_models.delete, "Bea") if deleted else partial(bank.forget, unit=tea)
    first = bank.tasks.settle()
    bank.tasks.retry()
    second = bank.tasks.settle()
    assert first.refreshed + second.refreshed == int(not deleted)
    assert [each.text for each in bank.mental_models.list()] == ([] if deleted else [FIGS])
    waiting = [task for task in bank.tasks.list() if task.state is not TaskState.DONE]
    assert waiting == []


def test_an_archive_carries_them(opener: Callable[..., Hindsight]) -> None:
    """Texts with grounds, staleness, withdrawals and rules are archived and behave as before."""
    engine = engine_of(opener, Answering())
    bank = engine.bank("b")
    (tea,) = told(bank, TEA)
    told(bank, BOAT)
    bank.mental_models.create("never", "When is the harbour open?", tags=["x"])
    for name in ("current", "withdrawn"):
        bank.mental_models.create(name, "What does Bea Lund like?")
    bank.mental_models.refresh("withdrawn")
    told(bank, FIGS)
    bank.edit(tea, text="Bea Lund likes black tea.")
    bank.mental_models.refresh("current")
    bank.directives.add("Be brief.", tags=["x"])
    fresh = _copied(bank, engine.bank("fresh"))
    assert [each.state for each in fresh.mental_models.list()] == [
        ModelState.CURRENT, ModelState.NEW, ModelState.WITHDRAWN
    ]  # fmt: skip
    told(bank, "Bea Lund likes plums.")
    stale = engine.bank("stale")
    stale.mental_models.create("in its place comes the archive's", "What?")
    copy = _copied(bank, stale)
    assert [each.state for each in copy.mental_models.list()] == [
        ModelState.STALE, ModelState.NEW, ModelState.WITHDRAWN
    ]  # fmt: skip
    for one in (fresh, copy):
        assert one.directives.list() == bank.directives.list()
        ours, theirs = one.mental_models.get("current"), bank.mental_models.get("current")
        assert (ours.text, ours.based_on, ours.refreshed_at) == (
            theirs.text,
            theirs.based_on,
            theirs.refreshed_at,
        )
        assert one.mental_models.refresh("current").state is ModelState.CURRENT
        one.forget(unit=tea)
        assert one.mental_models.get("current").state is ModelState.WITHDRAWN


def _copied(bank: MemoryBank, other: MemoryBank) -> MemoryBank:
    """The other bank, loaded with an archive of the first."""
    archive = io.StringIO()
    bank.archive.export(archive)
    archive.seek(0)
    other.archive.load(archive)
    return other


def test_a_total_is_kept_exactly(opener: Callable[..., Hindsight]) -> None:
    """A question for records is answered from them, without a model too; it is based on all of them, and ends with each."""
    bank = engine_of(opener).bank("b")
    spent = [
        told(bank, f"Bea bought figs for {price} euros.", records=[_bought(price)])[0]
        for price in (3, 4, 5, 6)
    ]
    bank.mental_models.create("figs", "How much was spent on figs in total?", max_tokens=200)
    made = bank.mental_models.refresh("figs")
    assert "18" in made.text
    assert sorted(made.based_on) == sorted(spent)
    told(bank, "Bea bought figs for 7 euros.", records=[_bought(7)])
    assert bank.mental_models.get("figs").state is ModelState.STALE
    bank.forget(unit=spent[0])
    assert bank.mental_models.get("figs").text == ""
    assert "22" in bank.mental_models.refresh("figs").text


def _bought(price: int) -> dict[str, Any]:
    return {"kind": "expense", "category": "figs", "value": price, "unit": "EUR"}


@pytest.mark.directory
def test_a_fact_committed_before_it_is_seen_is_not_missed(opener: Callable[..., Hindsight]) -> None:
    """A fact in the ledger that no search finds yet is not in the answer, and makes it out of date when it is found."""
    bank = engine_of(opener, Answering()).bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    context = bank.asynchronous._context
    unit = replace(make_unit("late", FIGS, bank="b"), mentioned_at=NOW)
    (vector,) = HashEmbedder().embed_documents([FIGS])

    def commit_alone() -> None:
        with context.transaction() as (view, transaction):
            transaction.commit(WriteSet("b", view.revision, units=(UnitWrite(unit, vector.tobytes()),)))

    run = bank._loop.run
    run(lambda: context.services.workers.write(commit_alone))
    assert bank.mental_models.refresh("Bea").text == TEA
    run(lambda: context.services.workers.write(context.catch_up))
    assert bank.mental_models.get("Bea").state is ModelState.STALE


def test_more_changes_than_are_looked_at_make_it_stale(
    opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so many, it is unknown whether one is relevant to the question."""
    monkeypatch.setattr(mental_models, "MOST_LOOKED_AT", 3)
    bank = engine_of(opener, Answering()).bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?")
    bank.mental_models.refresh("Bea")
    told(bank, *(f"Quay {number} was painted." for number in range(3)))
    assert bank.mental_models.get("Bea").state is ModelState.CURRENT
    told(bank, "Quay 3 was painted.")
    assert bank.mental_models.get("Bea").state is ModelState.STALE


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[2:]
from standing_questions import Answering, config
from hindsight_integrations import Hindsight
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

model = Answering(meanwhile=lambda: os.kill(os.getpid(), signal.SIGKILL))
options = {"embeddings": HashEmbedder(), "reranker": None, "config": config()}
Hindsight.open(sys.argv[1], model=ScriptedModel(model), **options).bank("b").tasks.settle()
"""


@pytest.mark.slow
def test_a_kill_while_it_is_answered_leaves_what_was(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """The previous answer stays complete, and another process runs the task."""
    engine = engine_of(opener, Answering(), tmp_path)
    bank = engine.bank("b")
    told(bank, TEA)
    bank.mental_models.create("Bea", "What does Bea Lund like?", trigger="auto")
    bank.tasks.settle()
    told(bank, FIGS)
    engine.close()
    support = str(Path(__file__).resolve().parents[1] / "support")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, support], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    engine = engine_of(opener, Answering(), tmp_path, clock=SystemClock())
    bank = engine.bank("b")
    before = bank.mental_models.get("Bea")
    assert (before.text, before.state) == (TEA, ModelState.STALE)
    assert bank.tasks.settle().refreshed == 1
    assert FIGS in bank.mental_models.get("Bea").text
