"""`open(redact=...)`: redacted text reaches neither the model nor the ledger."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Document, Hindsight, HindsightConfig, InvalidRequest
from hindsight_integrations.testing.scripted_model import ScriptedModel

CARD = "4111-1111-1111-1111"


def hide_cards(text: str) -> str:
    return re.sub(r"\d{4}-\d{4}-\d{4}-\d{4}", "[card]", text)


def test_a_redacted_text_is_in_no_file_and_no_prompt(tmp_path: Path, light_config: HindsightConfig) -> None:
    """Messages, documents, given facts, their context and edits are redacted first."""
    model = ScriptedModel(script=[{"facts": [{"what": "Ann has a [card].", "sources": ["m1"]}]}] * 4)
    with Hindsight.open(
        tmp_path, model=model, redact=hide_cards, reranker=None, config=light_config
    ) as hindsight:
        bank = hindsight.bank("ann")
        said: Any = {"role": "user", "content": f"My card is {CARD}.", "id": "m1"}
        bank.retain([said], context=f"about {CARD}")
        bank.threads.follow([{**said, "id": "m2"}], thread="t")
        bank.retain(Document(f"Card {CARD} was lost.", id="d"))
        fact = {"what": f"She lost {CARD}.", "entities": [CARD], "sources": ["m3"]}
        record = {"kind": "note", "category": "cards", "value": CARD}
        bank.retain([{**said, "id": "m3"}], facts=[fact | {"records": [record]}])
        bank.edit(bank.units().units[0].id, text=f"Ann has {CARD}.")
        assert all(CARD not in str(request) for request in model.prompts)
        assert bank.count() >= 3
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert CARD.encode() not in files
    assert b"[card]" in files


@pytest.mark.parametrize(
    ("redact", "error"), [(lambda _: None, InvalidRequest), (lambda text: text[10_000], IndexError)]
)
def test_nothing_is_stored_where_redaction_fails(
    light_config: HindsightConfig, redact: Any, error: type[Exception]
) -> None:
    with Hindsight.open(":memory:", redact=redact, reranker=None, config=light_config) as hindsight:
        bank = hindsight.bank("ann")
        with pytest.raises(error):
            bank.retain("I like figs.")
        assert bank.count() == 0


def test_a_redacted_message_sent_twice_is_one_memory(light_config: HindsightConfig) -> None:
    with Hindsight.open(":memory:", redact=hide_cards, reranker=None, config=light_config) as hindsight:
        bank = hindsight.bank("ann")
        said = [{"role": "user", "content": f"My card is {CARD}.", "id": "m1"}]
        assert [bank.retain(said).created, bank.retain(said).created] == [1, 0]
