"""Wrong arguments, filters and stored references of the LlamaIndex classes: each error names its argument."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from table import every_row

from hindsight_integrations import (
    BankNotFound,
    BankNotOpen,
    Document,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
)
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
)

Opener = Callable[..., Hindsight]
EVERY_CLASS = [
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
]


def of(kind: type, bank: Any, **options: Any) -> Any:
    if kind is HindsightMemory:
        options.setdefault("session_id", "s1")
    return kind(bank=bank, **options)


@every_row("kind", EVERY_CLASS)
@every_row("bank", [None, 7, "alice", b"alice", object(), ["alice"]])
def test_what_is_no_bank_is_refused(kind: type, bank: Any) -> None:
    """Neither a name nor another object is a bank; the error says what to pass."""
    with pytest.raises((ValueError, TypeError), match="bank"):
        of(kind, bank)


@every_row("kind", EVERY_CLASS)
def test_an_engine_in_place_of_a_bank_says_what_to_pass(kind: type, light: Hindsight) -> None:
    """The usual mistake."""
    with pytest.raises((ValueError, TypeError), match=r"engine\.bank\(name\)"):
        of(kind, light)


@every_row("kind", EVERY_CLASS)
def test_an_unknown_option_is_refused(kind: type, light: Hindsight) -> None:
    """A misspelt option is an error instead of being ignored."""
    with pytest.raises((ValueError, TypeError), match="budgett"):
        of(kind, light.bank("alice"), budgett="low")


RECALLING = [
    ("budget", "huge"),
    ("budget", 7),
    ("types", ["dream"]),
    ("types", 7),
    ("tags", 7),
    ("tags", [7]),
    ("tags_match", "some"),
    ("k", 0),
    ("k", "five"),
    ("k", True),
    ("min_scores", {"best": 1}),
]
NO_COUNTS = (-1, "many", 1.5, True)
OPTIONS: list[tuple[Any, str, list[Any]]] = [
    (HindsightRetriever, "max_tokens", [*NO_COUNTS]),
    (HindsightMemory, "session_id", ["", "  ", 7, b"s1", "a\x00b", "x" * 10_000]),
    (HindsightMemory, "token_limit", [0, *NO_COUNTS]),
    (HindsightMemory, "memory_tokens", [*NO_COUNTS]),
    (HindsightMemory, "insert_method", ["tool", 7]),
    (HindsightMemory, "tokenizer_fn", [7, "gpt2"]),
    (HindsightMemory, "roles", ["robot", ["robot"], 7, []]),
    (HindsightMemory, "on_error", ["ignore", 7, None]),
    (HindsightMemory, "chat_store", ["sqlite", 7, {}]),
    (HindsightMemory, "context", [7, None]),
    (HindsightMemory, "background", ["often", 7]),
    (HindsightMemory, "extract", ["later", 7, None]),
    (HindsightMemory, "recall_options", [7, "budget", ["budget"]]),
    (HindsightMemory, "metadata", [7, "k=v"]),
    (HindsightMemory, "tags", [7, "red", [7]]),
    (HindsightMemoryBlock, "max_tokens", [*NO_COUNTS]),
    (HindsightMemoryBlock, "name", [7, None]),
    (HindsightMemoryBlock, "priority", ["first", None]),
    (HindsightMemoryBlock, "tags", [7, "red", [7]]),
    (HindsightMemoryBlock, "metadata", [7, "k=v"]),
    (HindsightMemoryBlock, "recall_options", [7, "budget"]),
    (HindsightMemoryBlock, "roles", ["robot", 7, []]),
    (HindsightMemoryBlock, "extract", ["later", 7, None]),
    (HindsightMemoryBlock, "chat_store", ["sqlite", SimpleChatStore()]),
    (HindsightMemoryBlock, "tokenizer_fn", [7, "gpt2"]),
]


@every_row(
    ("kind", "name", "value"), [(kind, name, value) for kind, name, values in OPTIONS for value in values]
)
def test_an_option_of_a_wrong_kind_is_refused_at_construction(
    kind: type, light: Hindsight, name: str, value: Any
) -> None:
    """The error names the argument, before any message is lost."""
    bank = light.bank("alice")
    with pytest.raises((ValueError, TypeError), match=name.rstrip("s")):
        used(of(kind, bank, **{name: value})) if kind is HindsightRetriever else of(
            kind, bank, **{name: value}
        )


def used(component: Any) -> None:
    """The first recall of a component."""
    if isinstance(component, HindsightRetriever):
        component.retrieve("kayak?")
    elif isinstance(component, HindsightMemory):
        component.put(ChatMessage(role="user", content="Which kayak?"))
        component.get()
    else:
        asyncio.run(component.aget([ChatMessage(role="user", content="Which kayak?")]))


@every_row("kind", [HindsightRetriever, HindsightMemory, HindsightMemoryBlock])
@every_row(("name", "value"), RECALLING)
def test_a_wrong_option_of_recall_is_refused_by_the_first_at_the_latest(
    kind: type, light: Hindsight, name: str, value: Any
) -> None:
    """It is not replaced by a default, and no agent silently answers without memories because of it."""
    options = {name: value} if kind is HindsightRetriever else {"recall_options": {name: value}}
    with pytest.raises((ValueError, TypeError), match=name.rstrip("s")):
        used(of(kind, light.bank("alice"), **options))


@pytest.fixture
def library(light: Hindsight) -> MemoryBank:
    """Three pages: one with numbers, one with numeric strings, one without metadata."""
    bank = light.bank("alice")
    bank.retain(
        Document("The kayak manual.", id="a", metadata={"pages": 9, "author": "Bo", "on": ["lake", "sea"]})
    )
    bank.retain(Document("The kayak atlas.", id="b", metadata={"pages": "10", "author": "Ann", "new": True}))
    bank.retain(Document("The kayak song.", id="c"))
    return bank


def found(bank: MemoryBank, *filters: MetadataFilter, condition: str = "and") -> list[str]:
    """The ids of the documents found with filters, the same sync and async."""
    wanted = MetadataFilters(filters=list(filters), condition=FilterCondition(condition))
    retriever = HindsightRetriever(bank, filters=wanted)
    nodes = retriever.retrieve("kayak")
    again = asyncio.run(retriever.aretrieve("kayak"))
    assert [n.node.node_id for n in again] == [n.node.node_id for n in nodes]
    return sorted(str(n.node.ref_doc_id) for n in nodes)


def where(key: str, operator: str, value: Any = None) -> MetadataFilter:
    return MetadataFilter(key=key, operator=FilterOperator(operator), value=value)


@every_row(
    ("expected", "key", "operator", "value"),
    [
        # a key that no memory has
        ("", "colour", "==", "red"),
        ("", "colour", ">", 1),
        ("", "colour", "in", ["red"]),
        ("", "colour", "contains", "red"),
        ("", "colour", "text_match", "red"),
        ("", "colour", "any", ["red"]),
        ("", "colour", "all", ["red"]),
        ("abc", "colour", "!=", "red"),
        ("abc", "colour", "nin", ["red"]),
        ("abc", "colour", "is_empty", None),
        ("bc", "on", "is_empty", None),
        # values of another type than the stored one
        ("b", "pages", ">", 9),
        ("a", "pages", "<", 10),
        ("b", "pages", ">", "9"),
        ("a", "pages", "<", "10"),
        ("ab", "pages", ">=", 9.0),
        ("", "pages", ">", "many"),
        ("", "author", ">", 3),
        ("", "author", "<", 3),
        ("", "author", "==", 3),
        ("", "new", ">", 0),
        ("", "new", "==", 1),
        ("", "pages", "text_match", "9"),
        ("", "on", ">", "a"),
        # the operators on values of their own type
        ("a", "on", "contains", "sea"),
        ("a", "on", "any", ["sea", "river"]),
        ("", "on", "all", ["sea", "river"]),
        ("a", "author", "text_match", "B"),
        ("b", "author", "text_match_insensitive", "aNN"),
        ("a", "author", "in", ["Bo", "Cy"]),
        ("bc", "author", "nin", ["Bo", "Cy"]),
        ("bc", "author", "!=", "Bo"),
    ],
)
def test_filters_on_missing_keys_and_other_types_match_or_not(
    library: MemoryBank, expected: str, key: str, operator: str, value: Any
) -> None:
    """No filter of LlamaIndex raises an exception: it matches or it does not."""
    assert found(library, where(key, operator, value)) == list(expected)


@pytest.mark.parametrize(
    ("expected", "condition"), [("a", "and"), ("ab", "or"), ("c", "not")], ids=["and", "or", "not"]
)
def test_filters_are_joined_by_their_condition(library: MemoryBank, expected: str, condition: str) -> None:
    """With two filters, both, any or none must match; a nested group counts as one."""
    both = [where("pages", ">=", 9), where("author", "==", "Bo")]
    assert found(library, *both, condition=condition) == list(expected)
    nested = MetadataFilters(
        filters=[
            MetadataFilters(filters=both, condition=FilterCondition(condition)),
            where("author", "!=", "nobody"),
        ]
    )
    nodes = HindsightRetriever(library, filters=nested).retrieve("kayak")
    assert sorted(str(node.node.ref_doc_id) for node in nodes) == list(expected)


@every_row(
    "filters",
    [
        7,
        "author == Bo",
        [7],
        MetadataFilters(filters=[MetadataFilter.model_construct(key="author", value="Bo", operator="~")]),
        MetadataFilters(filters=[where("author", "==", "Bo")]).model_copy(update={"condition": "xor"}),
        MetadataFilters(filters=[where("author", "in", "Bo")]),
        MetadataFilters(filters=[where("author", "any", 7)]),
        MetadataFilters(filters=[MetadataFilter.model_construct(key=7, value="Bo", operator="==")]),
    ],
    ids=["a number", "a text", "numbers", "an operator", "a condition", "in a text", "any of 7", "a key"],
)
def test_what_is_no_filter_is_refused_and_the_error_says_what_is(library: MemoryBank, filters: Any) -> None:
    """Unknown operators and conditions, and values that an operator does not support, are rejected."""
    with pytest.raises(InvalidRequest, match=r"filter|metadata|operator|condition"):
        HindsightRetriever(library, filters=filters).retrieve("kayak")


@pytest.fixture
def home(opener: Opener, light_config: HindsightConfig, tmp_path: Path) -> Callable[[], Hindsight]:
    """Opens the same directory repeatedly."""
    return lambda: opener(tmp_path / "home", config=light_config)


def told(bank: MemoryBank) -> HindsightMemory:
    memory = HindsightMemory(bank=bank, session_id="s1")
    memory.put(ChatMessage(role="user", content="My kayak is green."))
    memory.put(ChatMessage(role="assistant", content="Noted."))
    return memory


WAYS_BACK: list[tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = [
    (lambda thing: json.dumps(thing.to_dict()), lambda kind, data: kind.from_dict(json.loads(data))),
    (lambda thing: thing.to_json(), lambda kind, data: kind.from_json(data)),
    (pickle.dumps, lambda _, data: pickle.loads(data)),  # noqa: S301 - what the line before wrote
]


@pytest.mark.parametrize(("keep", "load"), WAYS_BACK, ids=["dict", "json", "pickle"])
def test_a_memory_is_loaded_where_its_bank_is_open_and_says_so_where_not(
    home: Callable[[], Hindsight], keep: Any, load: Any
) -> None:
    """The stored form contains no memory text; a bank that is not open and one that was forgotten give different errors with remedies."""
    engine = home()
    kept = keep(told(engine.bank("alice")))
    assert "green" not in str(kept)
    engine.close()
    with pytest.raises(BankNotOpen, match="home"):
        load(HindsightMemory, kept).get("kayak?")
    engine = home()
    again = load(HindsightMemory, kept)
    assert [message.content for message in again.get_all()] == ["My kayak is green.", "Noted."]
    assert again.session_id == "s1"
    engine.forget_bank("alice")
    with pytest.raises(BankNotFound, match="alice"):
        load(HindsightMemory, kept)
    with pytest.raises(BankNotFound, match="alice"):
        again.get("kayak?")


@pytest.mark.parametrize("gone", ["bank", "directory"])
def test_a_memory_of_a_bank_that_never_was_here_says_so(
    home: Callable[[], Hindsight], opener: Opener, light_config: HindsightConfig, tmp_path: Path, gone: str
) -> None:
    """A reference from another machine, or to a lost bank, does not create an empty bank."""
    engine = home()
    data = told(engine.bank("alice")).to_dict()
    engine.close()
    text = json.dumps(data)
    if gone == "bank":
        data = json.loads(text.replace('"alice"', '"carol"'))
        home()
        with pytest.raises(BankNotFound, match="carol"):
            HindsightMemory.from_dict(data).get("kayak?")
    else:
        opener(tmp_path / "elsewhere", config=light_config)
        with pytest.raises(BankNotOpen):
            HindsightMemory.from_dict(data).get("kayak?")
        assert not (tmp_path / "else").exists()


def test_a_block_is_stored_by_reference_too(home: Callable[[], Hindsight]) -> None:
    """The block's dump contains the bank's name but no memory text; a forgotten bank and one that is not open are distinguished."""
    engine = home()
    bank = engine.bank("alice")
    bank.retain([{"role": "user", "content": "My kayak is green."}])
    kept = HindsightMemoryBlock(bank=bank, recall_options={"relevance": "all"}).model_dump_json()
    assert "green" not in kept
    question = [ChatMessage(role="user", content="What colour is my kayak?")]

    def recalled() -> Any:
        return asyncio.run(HindsightMemoryBlock.model_validate_json(kept).aget(question))

    assert "My kayak is green." in recalled()
    engine.close()
    with pytest.raises((BankNotOpen, ValueError), match="open"):
        recalled()
    home().forget_bank("alice")
    with pytest.raises((BankNotFound, ValueError), match="alice"):
        recalled()


@pytest.mark.parametrize(
    "damage", [{"bank": None}, {"bank": 7}, {"bank": {}}, {"session_id": 7}, {"token_limit": "x"}]
)
def test_a_stored_memory_that_was_damaged_is_refused(
    home: Callable[[], Hindsight], damage: dict[str, Any]
) -> None:
    """A form that was edited by hand, or written by another program, gives an error that names the field."""
    data = told(home().bank("alice")).to_dict()
    with pytest.raises((ValueError, TypeError), match=next(iter(damage))):
        HindsightMemory.from_dict({**data, **damage})
