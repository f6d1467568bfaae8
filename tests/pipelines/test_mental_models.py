"""Mental models: standing questions whose answers are kept, and end with what they stand on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidRequest, MentalModel, ModelState, RefreshTrigger


def test_questions_are_kept_on_both_faces(light: Hindsight) -> None:
    """Created, found by name, listed and deleted; until it is refreshed there is no text."""
    bank = light.bank("alice")
    made = bank.mental_models.create("tea", "Who likes tea?", tags=["b", "a"], trigger="auto", max_tokens=50)
    face = bank.asynchronous.mental_models

    async def on_the_other_face() -> MentalModel:
        """The same verb, awaited."""
        return await face.create(" figs ", "Who likes figs?")

    other = asyncio.run(on_the_other_face())
    assert (made.tags, made.trigger, made.max_tokens) == (("a", "b"), RefreshTrigger.AUTO, 50)
    assert (made.text, made.state, other.name) == ("", ModelState.NEW, "figs")
    assert bank.mental_models.get("tea") == made
    assert bank.mental_models.list() == (other, made) == asyncio.run(face.list())
    bank.mental_models.delete("tea")
    assert bank.mental_models.list() == (other,)


def test_what_is_no_model_is_refused(light: Hindsight) -> None:
    """Each error says what to do."""
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
        with pytest.raises(InvalidRequest, match=r"Pass a name that mental_models\.list\(\) gives"):
            verb("figs")
    assert [model.name for model in bank.mental_models.list()] == ["tea"]
