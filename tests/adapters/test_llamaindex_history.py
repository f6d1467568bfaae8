"""A chat under a token limit: for any messages and tool calls, the model gets a chat that services accept."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock

from hindsight_integrations.llamaindex.messages import (
    calls,
    fitting,
    last_turn_end,
    message_tokens,
    messages_tokens,
    newest_turn,
)


def count(text: str) -> int:
    return len(text.split())


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def call(*ids: str, text: str = "") -> ChatMessage:
    made = [ToolCallBlock(tool_call_id=one, tool_name="weather", tool_kwargs={"city": one}) for one in ids]
    return ChatMessage(role="assistant", blocks=[TextBlock(text=text), *made])


def older_call(*ids: str) -> ChatMessage:
    """Tool calls as integrations wrote them before there were blocks."""
    made = [{"id": one, "function": {"name": "weather", "arguments": "{}"}} for one in ids]
    return ChatMessage("", role="assistant", additional_kwargs={"tool_calls": made})


def result(of: str, text: str = "25 degrees") -> ChatMessage:
    return ChatMessage(text, role="tool", additional_kwargs={"tool_call_id": of})


words = st.integers(1, 12).map(lambda many: " ".join(["word"] * many))
ids = st.sampled_from(["a", "b", "weather"])
called = st.lists(ids, min_size=1, max_size=3, unique=True)
steps = st.one_of(
    words.map(lambda text: [assistant(text)]),
    called.map(lambda some: [call(*some), *map(result, some)]),
    called.map(lambda some: [older_call(*some), *map(result, reversed(some))]),
    called.map(lambda some: [call(*some), *map(result, some[1:])]),  # cut off before the first result
    ids.map(lambda one: [result(one)]),  # the call was removed by the code that set the chat
    st.builds(lambda: [call("same", "same"), result("same"), result("same")]),
)
turns = st.tuples(words, st.lists(steps, max_size=4)).map(
    lambda turn: [user(turn[0]), *(message for step in turn[1] for message in step)]
)
chats = st.tuples(
    st.lists(words.map(lambda text: ChatMessage(text, role="system")), max_size=2),
    st.lists(steps, max_size=2),
    st.lists(turns, max_size=5),
).map(lambda parts: [*parts[0], *(each for part in (*parts[1], *parts[2]) for each in part)])


def paired(messages: Sequence[ChatMessage]) -> bool:
    """Whether each call is followed by exactly its results, and no result is elsewhere."""
    waiting: list[str] = []
    for message in messages:
        answers = message.additional_kwargs.get("tool_call_id")
        if answers is not None:
            if answers not in waiting:
                return False
            waiting.remove(answers)
            continue
        if waiting:
            return False
        waiting = [
            made["id"] if isinstance(made, dict) else getattr(made, "tool_call_id", "")
            for made in calls(message)
        ]
    return not waiting


@given(chats, st.integers(0, 120))
def test_what_fits_is_a_chat_that_services_take(chat: list[ChatMessage], limit: int) -> None:
    """In order, without duplicates, with complete pairs, and under the limit unless a single turn exceeds it."""
    given_messages = fitting(chat, limit, count)
    places = [next(at for at, each in enumerate(chat) if each is message) for message in given_messages]
    assert places == sorted(set(places))
    assert paired(given_messages)
    if messages_tokens(given_messages, count) > limit:
        newest = newest_turn(chat)
        assert all(any(message is each for each in newest) for message in given_messages)
    said = [message for message in given_messages if message.role != "system"]
    if len(given_messages) < len(fitting(chat, 10**6, count)) and any(each.role == "user" for each in chat):
        assert said
        assert said[0].role == "user"


@given(chats)
def test_without_a_limit_only_halves_of_pairs_are_left_out(chat: list[ChatMessage]) -> None:
    """All user and assistant messages stay, and every complete call."""
    given_messages = fitting(chat, 10**6, count)
    assert paired(given_messages)
    left_out = [each for each in chat if not any(each is message for message in given_messages)]
    assert all(calls(each) or each.role == "tool" for each in left_out)
    if paired(chat):
        assert left_out == []


@given(chats, st.integers(0, 120))
def test_no_older_turn_would_have_fitted(chat: list[ChatMessage], limit: int) -> None:
    """The next older turn would exceed the limit."""
    given_messages = fitting(chat, limit, count)
    everything = fitting(chat, 10**6, count)
    missing = [each for each in everything if not any(each is message for message in given_messages)]
    starts = [at for at, each in enumerate(missing) if each.role == "user"]
    if missing and messages_tokens(given_messages, count) <= limit:
        older = missing[starts[-1] :] if starts else missing
        assert messages_tokens([*older, *given_messages], count) > limit


def test_tools_cost_tokens() -> None:
    """Arguments and results of tools are most of the content of an agent's chat."""
    long = "word " * 300
    made = ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"query": long})
    assert message_tokens(ChatMessage(role="assistant", blocks=[made]), count) > 300
    beside = {"tool_calls": [{"id": "1", "function": {"name": "search", "arguments": long}}]}
    assert message_tokens(ChatMessage("", role="assistant", additional_kwargs=beside), count) > 300
    assert message_tokens(result("1", long), count) > 300


def test_what_remains_begins_with_the_user() -> None:
    """Services reject a chat that begins with the assistant or with a tool's result."""
    chat = [user("one " * 9), assistant("two " * 9), user("three"), call("1"), result("1"), assistant("four")]
    for limit in range(40):
        assert fitting(chat, limit, count)[0].role == "user"


def test_a_greeting_stays_while_all_of_the_chat_fits() -> None:
    """The assistant may have started the chat; when messages are left out later, its greeting is too."""
    chat = [assistant("Hello, who are you?"), user("Sam."), assistant("Hello Sam!")]
    assert fitting(chat, 100, count) == chat
    assert fitting(chat, 4, count) == chat[1:]


def test_one_turn_over_the_limit_keeps_its_question_and_its_last_step() -> None:
    """The model's service then reports that it is too long, instead of answering another question."""
    chat = [user("old"), assistant("old"), user("why " * 50), call("1"), result("1"), call("2"), result("2")]
    assert fitting(chat, 10, count) == [chat[2], chat[5], chat[6]]


def test_a_turn_ends_with_an_answer() -> None:
    """A turn ends with neither a call nor a question."""
    assert last_turn_end([]) == 0
    assert last_turn_end([user("one"), call("1"), result("1")]) == 0
    assert last_turn_end([user("one"), assistant("two"), user("three")]) == 2
