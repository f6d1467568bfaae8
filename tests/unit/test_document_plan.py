"""Document plans: after any edit the passages make up the new text, without loss or duplication."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.ledger.values import StoredDocument
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite
from hindsight_integrations.retain.documents import DocumentPlan, plan_document
from hindsight_integrations.retain.verbatim import chunk_text, passages
from hindsight_integrations.validation.intake import DocumentIntake

SENTENCES = ["A kayak. ", "The shed is red.\n\n", "Ropes and anchors are old. ", "A kayak. ", "x", "No! "]
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12).map("".join)


def document(text: str, *, append: bool = False) -> DocumentIntake:
    return DocumentIntake("d", text, datetime(2024, 6, 1, tzinfo=UTC), keys=(), append=append)


def cut(text: str) -> list[str]:
    return chunk_text(text, 20)


def stored(plan: DocumentPlan, before: StoredDocument | None = None) -> StoredDocument:
    """Return the ledger's passages after a plan was executed."""
    rows = {chunk.ordinal: chunk for chunk in (*(before.chunks if before else ()), *plan.chunks)}
    present = sorted((c for c in rows.values() if c.position != NOWHERE), key=lambda c: c.position)
    after = max([*rows, before.next_ordinal - 1 if before else -1]) + 1
    return StoredDocument("d", "h", tuple(present), after)


@given(st.lists(TEXTS, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_the_passages_always_make_up_the_latest_text(versions: list[str]) -> None:
    """After any edits the passages are the text, each position is used once, and no ordinal is reused."""
    held: StoredDocument | None = None
    seen: set[int] = set()
    for text in versions:
        plan = plan_document(document(text), held, cut)
        fresh = {chunk.ordinal for chunk in plan.fresh}
        assert not fresh & seen
        seen |= fresh
        held = stored(plan, held)
        assert held.text == text
        assert [chunk.position for chunk in held.chunks] == list(range(len(held.chunks)))


@given(TEXTS)
@settings(max_examples=40, deadline=None)
def test_the_same_text_changes_nothing(text: str) -> None:
    """Planning an unchanged document extracts and moves nothing."""
    held = stored(plan_document(document(text), None, cut))
    assert plan_document(document(text), held, cut).chunks == ()


@given(TEXTS, TEXTS)
@settings(max_examples=40, deadline=None)
def test_appending_reads_only_what_was_added(text: str, more: str) -> None:
    """Appending keeps all existing passages and extracts only the new text."""
    held = stored(plan_document(document(text), None, cut))
    plan = plan_document(document(more, append=True), held, cut)
    assert (plan.moved, plan.removed) == ((), ())
    assert plan.write.content_hash == content_hash(held.text + "".join(c.text for c in plan.fresh))


def test_an_erased_passage_is_read_again_if_it_is_still_there() -> None:
    """A passage whose text was erased is extracted again if the document still has it."""
    erased = ChunkWrite("d", 0, "", "h", position=0)
    plan = plan_document(document("A kayak."), StoredDocument("d", "h", (erased,), 1), cut)
    assert [(chunk.ordinal, chunk.text) for chunk in plan.fresh] == [(1, "A kayak.")]
    assert [chunk.ordinal for chunk in plan.removed] == [0]


@given(st.text(alphabet="ab .\n", max_size=1500))
@settings(max_examples=40, deadline=None)
def test_verbatim_passages_lose_no_character(text: str) -> None:
    """The passages of a document in verbatim extraction are the whole document."""
    assert "".join(passages(text)) == text
