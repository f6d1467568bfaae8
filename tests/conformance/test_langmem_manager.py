"""langmem's memory manager, unchanged, with HindsightStore, and the import of its memories into a bank."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolCall
from langmem import create_manage_memory_tool, create_memory_store_manager
from langmem.knowledge.extraction import Memory
from pydantic import BaseModel

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightStore
from hindsight_integrations.migration import aimport_langmem, import_langmem

NAMESPACE = ("memories", "{langgraph_user_id}")
ALICE: Any = {"configurable": {"langgraph_user_id": "alice"}}


class Profile(BaseModel):
    """An application's knowledge of a user, in a custom schema."""

    name: str
    food: str | None = None


class _Model(FakeMessagesListChatModel):
    """A scripted model that accepts tools, as langmem binds them."""

    def bind_tools(self, tools: Any, **options: Any) -> Self:
        return self


FOUND = AIMessage(
    "",
    tool_calls=[
        ToolCall(name="Memory", args={"content": "Alice paddles a blue kayak."}, id="1", type="tool_call"),
        ToolCall(name="Profile", args={"name": "Alice", "food": "apples"}, id="2", type="tool_call"),
    ],
)


@pytest.fixture
def hindsight(tmp_path: Path) -> Iterator[Hindsight]:
    with Hindsight.open(tmp_path / "memory", reranker=None) as engine:
        yield engine


@pytest.fixture
def store(hindsight: Hindsight) -> HindsightStore:
    return HindsightStore(hindsight)


def _managed(store: HindsightStore, face: str) -> None:
    """A conversation, after which the manager has stored a memory and a profile."""
    model = _Model(responses=[FOUND, AIMessage("Nothing else.")])
    manager = create_memory_store_manager(model, schemas=[Memory, Profile], namespace=NAMESPACE, store=store)
    said = {
        "messages": [{"role": "user", "content": "I am Alice. I paddle a blue kayak, and I like apples."}]
    }
    if face == "sync":
        manager.invoke(said, ALICE)
    else:
        asyncio.run(manager.ainvoke(said, ALICE))


@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_the_manager_keeps_is_found(store: HindsightStore, face: str) -> None:
    _managed(store, face)
    (first, second) = store.search(("memories", "alice"), query="What does she paddle?")
    assert first.value == {"kind": "Memory", "content": {"content": "Alice paddles a blue kayak."}}
    assert second.value == {"kind": "Profile", "content": {"name": "Alice", "food": "apples"}}
    assert store.search(("memories",), filter={"kind": "Profile"}) == store.search(
        ("memories",), filter={"content": {"name": "Alice"}}
    )


@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_langmem_keeps_comes_into_a_bank_once(
    hindsight: Hindsight, store: HindsightStore, face: str
) -> None:
    _managed(store, "sync")
    create_manage_memory_tool(NAMESPACE, store=store).invoke({"content": "Alice keeps bees."}, ALICE)
    made = {item.created_at for item in store.search(("memories",))}

    def imported() -> Any:
        if face == "sync":
            return import_langmem(store, hindsight, namespace=("memories",))
        return asyncio.run(aimport_langmem(store, hindsight, namespace=("memories",)))

    first, again = imported(), imported()
    assert (dict(first.banks), first.created, first.left_out) == ({"alice": 3}, 3, ())
    assert (again.created, again.known) == (0, 3)
    found = hindsight.bank("alice").recall("What does Alice paddle, keep and eat?").units
    for word in ("blue kayak", "bees", "apples"):
        assert [each for each in found if word in each.unit.text]
    assert {each.unit.mentioned_at for each in found} <= made
