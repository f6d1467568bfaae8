"""Documents retained again: only new passages are extracted, removed ones are closed, and nothing is duplicated."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_integrations import Document, Hindsight, HindsightConfig, InvalidRequest, MemoryBank
from hindsight_integrations.config import RetainConfig
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "The kayak is red and lies in the shed behind the house.\n\n"
PADDLE = "The paddle is made of ash wood and hangs on the wall.\n\n"
ROPE = "The rope is forty metres long and was bought in Lisbon."
ANCHOR = "The anchor weighs nine kilos and came from the old harbour.\n\n"
MAY, JUNE = datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)

Read = tuple[MemoryBank, ScriptedModel]


def texts(bank: MemoryBank, **options: Any) -> list[str]:
    found = bank.recall("kayak paddle rope anchor shed wood Lisbon harbour", **options)
    return sorted(item.unit.text for item in found.units)


def passage_of(messages: list[Any]) -> str:
    prompt = str(messages[-1].content)
    return prompt[prompt.index("<<<PASSAGE") : prompt.index("PASSAGE>>>")]


def reader(messages: list[Any]) -> dict[str, Any]:
    """A model that extracts one fact for each thing in its passage."""
    passage = passage_of(messages)
    things = [thing for thing in ("kayak", "paddle", "rope", "anchor") if thing in passage]
    return {"facts": [{"what": f"There is a {thing}.", "sources": []} for thing in things]}


@pytest.fixture
def read(opener: Callable[..., Hindsight]) -> Read:
    """A bank whose model reads passages of at most sixty characters, and that model."""
    model = ScriptedModel(reader)
    config = HindsightConfig(retain=RetainConfig(chunk_characters=60))
    return opener(model=model, config=config).bank("boats"), model


def test_only_changed_passages_are_read_again(read: Read) -> None:
    """A document with one changed passage costs one model call, and the other memories keep their rows."""
    bank, model = read
    first = bank.retain(Document(KAYAK + PADDLE + ROPE, id="d", timestamp=MAY))
    calls = len(model.prompts)
    second = bank.retain(Document(KAYAK + ANCHOR + ROPE, id="d", timestamp=JUNE))
    assert (calls, len(model.prompts) - calls) == (3, 1)
    assert (first.created, second.created, bank.count()) == (3, 1, 4)
    assert texts(bank) == ["There is a anchor.", "There is a kayak.", "There is a rope."]


def test_a_new_first_paragraph_does_not_shift_the_rest(read: Read) -> None:
    """Only a new first paragraph is extracted; later passage boundaries do not move."""
    bank, model = read
    bank.retain(Document(KAYAK + PADDLE + ROPE, id="d"))
    calls = len(model.prompts)
    assert bank.retain(Document(ANCHOR + KAYAK + PADDLE + ROPE, id="d")).created == 1
    assert len(model.prompts) - calls == 1
    assert "anchor" in passage_of(model.prompts[-1])


def test_what_was_taken_out_is_history(light: Hindsight) -> None:
    """A removed passage is not recalled any more, except with `as_of` an earlier day."""
    bank = light.bank("boats")
    bank.retain(Document(KAYAK + PADDLE, id="d", timestamp=MAY))
    bank.retain(Document(KAYAK, id="d", timestamp=JUNE))
    assert texts(bank) == [KAYAK.strip()]
    assert texts(bank, as_of="2024-05-20") == sorted([KAYAK.strip(), PADDLE.strip()])
    (closed,) = [u for u in bank.recall("paddle ash wood", include_invalidated=True).units if not u.valid]
    assert closed.unit.closed_at == JUNE


def test_the_log_says_why(light: Hindsight) -> None:
    """The validity log names the changed document as the reason."""
    bank = light.bank("boats")
    removed = bank.retain(Document(PADDLE, id="d", timestamp=MAY)).unit_ids[0]
    bank.retain(Document(KAYAK, id="d", timestamp=JUNE))
    log = bank.history(removed)
    assert [(event.kind.value, event.reason, event.effective_at) for event in log] == [
        ("closed", "document changed", JUNE)
    ]


@pytest.mark.promise("Retaining the same input twice stores one memory.")
def test_the_same_document_twice_is_one(light: Hindsight) -> None:
    """Nothing is created, closed or counted the second time."""
    bank = light.bank("boats")
    first = bank.retain(Document(KAYAK + PADDLE, id="d"))
    again = bank.retain(Document(KAYAK + PADDLE, id="d"))
    assert (first.created, again.created, again.revision) == (2, 0, first.revision)


def test_a_document_changed_back_is_what_it_was(light: Hindsight) -> None:
    """The version retained last is valid although its text was known before; nothing is returned twice."""
    bank = light.bank("boats")
    for text in (KAYAK + PADDLE, KAYAK + ROPE, KAYAK + PADDLE):
        bank.retain(Document(text, id="d"))
    assert texts(bank) == sorted([KAYAK.strip(), PADDLE.strip()])


def test_moved_passages_are_not_read_again(read: Read) -> None:
    """The same paragraphs in another order cost nothing and stay valid."""
    bank, model = read
    bank.retain(Document(KAYAK + PADDLE + ROPE, id="d"))
    calls = len(model.prompts)
    assert bank.retain(Document(PADDLE + KAYAK + ROPE, id="d")).created == 0
    assert (len(model.prompts), len(texts(bank))) == (calls, 3)


def test_appended_text_alone_is_read(read: Read) -> None:
    """A growing transcript costs only the added text, and adding the same again costs nothing."""
    bank, model = read
    bank.retain(KAYAK + PADDLE, document_id="log", append=True)
    calls = len(model.prompts)
    assert bank.retain(ROPE, document_id="log", append=True).created == 1
    assert bank.retain(ROPE, document_id="log", append=True).created == 0
    assert len(model.prompts) - calls == 1
    assert bank.retain(KAYAK + PADDLE.strip() + "\n" + ROPE, document_id="log").created == 0
    assert texts(bank) == ["There is a kayak.", "There is a paddle.", "There is a rope."]


def test_append_needs_a_document_to_add_to(light: Hindsight) -> None:
    """Without an id, or with messages, `append` is rejected with a reason."""
    bank = light.bank("boats")
    with pytest.raises(InvalidRequest, match="no id"):
        bank.retain(KAYAK, append=True)
    with pytest.raises(InvalidRequest, match="only documents"):
        bank.retain([{"role": "user", "content": "Ahoy"}], append=True)


def test_facts_given_with_a_changed_document_replace_the_old_ones(light: Hindsight) -> None:
    """Facts passed by the caller follow the document's latest text."""
    bank = light.bank("boats")
    bank.retain(Document("one", id="d"), facts=[{"what": "The kayak is red."}, {"what": "The rope is long."}])
    bank.retain(Document("one two", id="d"), facts=[{"what": "The kayak is blue."}])
    assert texts(bank) == ["The kayak is blue."]


def test_two_threads_with_one_document_ask_the_model_once(read: Read) -> None:
    """Eight threads that retain the same document store one copy, extracted once."""
    bank, model = read
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: bank.retain(Document(KAYAK + ROPE, id="d")).created, range(8)))
    assert (sum(made), bank.count(), len(model.prompts)) == (2, 2, 2)


def test_two_threads_with_two_versions_leave_one_version(real: Hindsight) -> None:
    """Whichever version comes last, exactly that one is returned; never a mixture or both."""
    bank = real.bank("boats")
    versions = [Document(KAYAK + PADDLE, id="d"), Document(KAYAK + ROPE, id="d")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: bank.retain(versions[n % 2]), range(16)))
    assert texts(bank) in [sorted([KAYAK.strip(), PADDLE.strip()]), sorted([KAYAK.strip(), ROPE])]


def test_facts_retained_together_keep_their_order(light: Hindsight) -> None:
    """Facts of one message have increasing mention times, and `as_of` that second returns all of them."""
    bank = light.bank("boats")
    facts = [{"what": f"The {thing} is old.", "sources": ["m"]} for thing in ("rope", "kayak", "anchor")]
    message = {"role": "user", "content": "all old", "id": "m", "timestamp": MAY.isoformat()}
    ids = bank.retain([message], facts=facts).unit_ids
    units = {item.unit.id: item.unit for item in bank.recall("old rope kayak anchor", as_of=MAY).units}
    moments = [units[unit].mentioned_at for unit in ids]
    assert moments[0] == MAY
    assert moments == sorted(set(moments))


def test_a_failed_second_version_leaves_the_first(
    opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If embedding the new passages fails, the document is unchanged, and the next attempt succeeds."""
    embedder = HashEmbedder()
    bank = opener(embeddings=embedder).bank("boats")
    bank.retain(Document(KAYAK, id="d"))
    working = embedder.embed_documents
    with monkeypatch.context() as broken:
        broken.setattr(embedder, "embed_documents", lambda _: working([]))
        with pytest.raises(Exception, match="vectors of shape"):
            bank.retain(Document(PADDLE, id="d"))
    assert texts(bank) == [KAYAK.strip()]
    bank.retain(Document(PADDLE, id="d"))
    assert texts(bank) == [PADDLE.strip()]
