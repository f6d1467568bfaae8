"""HindsightMemory: chat history within a token limit, with recalled memories next to the question."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from pydantic import ConfigDict, Field, PrivateAttr, field_serializer

from hindsight_integrations import AsyncMemoryBank, MemoryBank, OnError
from hindsight_integrations.choices import choice
from hindsight_integrations.concurrency.sync_loop import SharedLoop
from hindsight_integrations.concurrency.workers import InFlight
from hindsight_integrations.config import Extract
from hindsight_integrations.llamaindex.bank import (
    BankField,
    chat_recall_options,
    dispatcher,
    emit_warning,
    open_bank,
    recalled_lines,
    retained,
)
from hindsight_integrations.llamaindex.chat_store import (
    AnyChatStore,
    ChatHistory,
    chat_store_beside,
    loaded_chat_store,
    stored_chat_store,
)
from hindsight_integrations.llamaindex.messages import (
    GAP,
    InsertMethod,
    checked_insert_method,
    checked_messages,
    checked_session,
    checked_tokenizer,
    ends_turn,
    fitting,
    last_turn_end,
    messages_tokens,
    newest_turn,
    placed,
    spoken,
    with_distinct_call_ids,
)
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.turns import chat_key
from hindsight_integrations.prompts.recalled import memories_block
from hindsight_integrations.tolerance import tolerated
from hindsight_integrations.validation.limits import checked_count, checked_flag, checked_tags
from hindsight_integrations.validation.messages import checked_roles
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.options import (
    PROMPT_DEFAULTS,
)

NAMESPACE = "llamaindex"  # separates chats from LangGraph threads with the same id
TOKEN_LIMIT = 30_000  # LlamaIndex's default
PIECE = 20_000  # characters per tokenizer call
# Default token limit of memories, but at most a quarter of the chat's token limit.
MEMORY_TOKENS = PROMPT_DEFAULTS["max_tokens"]

_log = logging.getLogger("hindsight_integrations.llamaindex")
_chats = InFlight()  # serialises updates of a chat, so that only its newest messages are retained
# One event loop for sync callers, because the connections of chat stores may be bound to a loop.
_loop = SharedLoop()
R = TypeVar("R")


class HindsightMemory(BaseMemory):  # type: ignore[misc] # see bank.py
    """Memory for an agent or chat engine: `FunctionAgent(...).run(question, memory=HindsightMemory(bank))`.

    `put` first appends the message to the chat history; when it ends a turn (an assistant message without tool calls), the
    chat's new messages are retained together, with the conversation before them as context. `get` returns the newest
    turns that fit, plus memories recalled once per turn. Messages that a failing bank or killed process did not retain
    are retained by the next turn. `set` replaces the history and updates the bank: memories made from messages discarded
    at the end become invalid, and a question at the end is retained with its answer. `reset` clears the history, not the
    memories; `engine.forget_bank` erases both.

    Serialisation (`to_dict`, JSON, pickle) contains the bank's directory and name, never its content. The messages of a
    SimpleChatStore are included; any other chat store, and a tokenizer, must be passed again to `from_dict`.

    Args:
        bank: a sync or async bank, or its reference (`bank.reference`).
        session_id: the chat's id; pass it again to continue the chat. None creates one.
        token_limit: maximum size of the result of `get`, memories included, in tokens of `tokenizer_fn`. The newest
            turn has priority and is never left out; then come memories, then older turns.
        memory_tokens: maximum size of the memories without the markers around them, in the bank's tokens; None means
            2,048, but at most a quarter of the limit; 0 disables recall.
        insert_method: "user" inserts memories before the text of the user's last message; "system" at the start of the
            system message.
        roles: the roles to retain: user, assistant, tool.
        context: describes the chat to the extraction model ("support chat").
        tags: visibility tags of the retained memories.
        metadata: metadata of the retained memories.
        recall_options: options of `bank.recall` other than query and max_tokens: budget (default "low"), types, tags, k, ...;
            JSON-serialisable, if the memory is to be serialised.
        on_error: "queue": if the model fails, the turn is queued; if the bank fails, the chat continues and the next turn
            retains both. "skip": the chat continues, but the turn of a failing model is not queued. "raise": errors are
            raised. Programming errors (InvalidRequest, a forgotten bank) are always raised, after the message was stored.
        background: with a model, do not wait for extraction; see the bank's `retain`.
        extract: when facts are extracted: "turn", at once; "idle", together with other turns of the chat, when they fill a
            passage or the chat has been quiet for 5 minutes; "session", when `flush` ends the session, at the latest after an
            hour of quiet. Until then recall finds the messages themselves. A worker
            extracts them; without a worker, a later turn of the bank does.
        use_memory: with False, nothing is recalled, and messages that are put are never retained. It can be set at any time:
            `memory.use_memory = False`. The chat history is kept in both cases.
        chat_store: a sync or async LlamaIndex chat store for the history; None means a file next to the bank.
        tokenizer_fn: function from a text to its tokens; None means LlamaIndex's global tokenizer.

    Raises:
        InvalidRequest: an argument is invalid.
        BankNotOpen: no engine in this process has the reference's directory open.
        BankNotFound: the bank no longer exists.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bank: BankField
    session_id: str
    token_limit: int = TOKEN_LIMIT
    memory_tokens: int = MEMORY_TOKENS
    insert_method: InsertMethod = "user"
    roles: tuple[str, ...] = ("user", "assistant")
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    recall_options: dict[str, Any] = Field(default_factory=dict)
    on_error: str = OnError.QUEUE.value
    background: bool = False
    extract: str = Extract.TURN.value
    use_memory: bool = True
    chat_store: Any = Field(default=None, repr=False)  # not shown, because the store may contain the chat
    tokenizer_fn: Any = Field(default=None, exclude=True, repr=False)

    _history: ChatHistory = PrivateAttr()
    _turn: tuple[int, str] | None = PrivateAttr(default=None)
    _lines: list[str] = PrivateAttr(default_factory=list)

    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank | Mapping[str, str] | Any,  # noqa: ANN401 - checked by open_bank
        *,
        session_id: str | None = None,
        token_limit: int = TOKEN_LIMIT,
        memory_tokens: int | None = None,
        insert_method: str = "user",
        roles: Iterable[str] = ("user", "assistant"),
        context: str = "",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        recall_options: RecallOptions | None = None,
        on_error: OnError | str = OnError.QUEUE,
        background: bool = False,
        extract: Extract | str = Extract.TURN,
        use_memory: bool = True,
        chat_store: AnyChatStore | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        class_name: str | None = None,
    ) -> None:
        del class_name  # `to_dict` adds it
        opened = open_bank(bank)
        limit = checked_count(token_limit, "token_limit", least=1)
        share = min(MEMORY_TOKENS, limit // 4) if memory_tokens is None else memory_tokens
        super().__init__(
            bank=opened,
            session_id=checked_session(session_id),
            token_limit=limit,
            memory_tokens=checked_count(share, "memory_tokens", least=0, most=limit),
            insert_method=checked_insert_method(insert_method),
            roles=tuple(sorted(checked_roles(roles))),
            context=context,
            tags=checked_tags(tags),
            metadata=checked_metadata({} if metadata is None else metadata),
            recall_options=chat_recall_options(recall_options),
            on_error=choice(OnError, on_error, "on_error").value,
            background=background,
            extract=choice(Extract, extract, "extract").value,
            use_memory=checked_flag(use_memory, "use_memory"),
            chat_store=loaded_chat_store(chat_store) or chat_store_beside(opened.reference),
            tokenizer_fn=checked_tokenizer(tokenizer_fn),
        )
        self._history = ChatHistory(self.chat_store, chat_key(opened.name, self.session_id))

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises the component."""
        return "HindsightMemory"

    @classmethod
    def from_defaults(cls, bank: Any = None, **options: Any) -> Self:  # noqa: ANN401 - as the constructor
        """Create a memory; LlamaIndex's name for the constructor.

        Args:
            bank: as in the constructor.
            options: as in the constructor.
        """
        return cls(bank, **options)

    async def aget(self, input: Any = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ANN401 - LlamaIndex's signature
        """Return the newest turns that fit in the limit, with memories relevant to the question.

        Args:
            input: the question, a string or message; None means the user's last message.
            kwargs: `initial_token_count`: tokens of the limit that the caller uses itself.
        """
        messages = await self._history.read()
        question = _text(input)
        lines = await self._remembered(messages, question)
        limit = self.token_limit - int(kwargs.get("initial_token_count") or 0)
        newest = fitting(newest_turn(messages), limit, self._count)  # memories come second, older turns last
        block = self._block(lines, limit - messages_tokens(newest, self._count))
        shown_messages = fitting(messages, limit - self._count(block and block + GAP), self._count)
        if not block:
            return shown_messages
        return placed(shown_messages, block, self.insert_method, question)

    async def aget_all(self) -> list[ChatMessage]:
        """Return the whole chat history, without memories."""
        return await self._history.read()

    async def aput(self, message: ChatMessage) -> None:
        """Append a message; if it ends a turn, retain the chat's new messages."""
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages; if one of them ends a turn, retain the chat's new messages, once."""
        if not (messages := checked_messages(messages)):
            return
        await self._history.add(messages)
        if any(map(ends_turn, messages)):
            await self._follow(last_turn_end)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Replace the chat history and update the bank; a question at the end is retained with its answer."""
        messages = checked_messages(messages)
        await self._history.replace(messages)
        self._turn = None
        if any(map(ends_turn, messages)):
            await self._follow(last_turn_end)

    async def areset(self) -> None:
        """Clear the chat history. Memories stay; `bank.forget` erases them."""
        await self._history.clear()
        self._turn = None

    async def aflush(self) -> None:
        """Retain the chat's new messages now, including an unanswered question, and extract all messages that wait for it.

        Call it at the end of a session. Like the bank's `tasks.settle`, it runs the other waiting tasks of the bank as well,
        unless every turn is extracted at once.
        """
        await self._follow(len)
        if self.extract == Extract.TURN:
            return
        with tolerated(
            OnError(self.on_error),
            emit_warning,
            where="HindsightMemory",
            bank=self.bank.name,
            missing="the session's messages still wait for extraction",
            remedy="A worker, or a later turn, extracts them.",
            log=_log,
        ):
            await self.bank.tasks.settle()

    async def _follow(self, end: Callable[[list[ChatMessage]], int]) -> None:
        """Retain the chat's new messages and invalidate memories of discarded ones."""
        on_error = OnError(self.on_error)
        missing = "the turn is not retained"
        remedy = "The next turn of the chat retains it too."
        bank: AsyncMemoryBank = self.bank
        with tolerated(
            on_error,
            emit_warning,
            where="HindsightMemory",
            bank=bank.name,
            missing=missing,
            remedy=remedy,
            log=_log,
        ):
            async with _chats.alone({(bank.reference, self.session_id)}):
                messages = await self._history.read()
                result = await bank.threads.follow(
                    with_distinct_call_ids(spoken(messages[: end(messages)])),
                    thread=self.session_id,
                    namespace=NAMESPACE,
                    roles=self.roles,
                    context=self.context,
                    tags=self.tags,
                    metadata=self.metadata,
                    on_model_failure="queue" if on_error is OnError.QUEUE else None,
                    background=self.background,
                    extract=self.extract,
                    remember=self.use_memory,
                )
            dispatcher.event(retained(bank.name, result))

    def get(self, input: Any = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ANN401 - LlamaIndex's signature
        """Synchronous version of `aget`."""
        return list(_waited_for(self.aget(input, **kwargs)))

    def get_all(self) -> list[ChatMessage]:
        """Synchronous version of `aget_all`."""
        return list(_waited_for(self.aget_all()))

    def put(self, message: ChatMessage) -> None:
        """Synchronous version of `aput`."""
        _waited_for(self.aput(message))

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Synchronous version of `aput_messages`."""
        _waited_for(self.aput_messages(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """Synchronous version of `aset`."""
        _waited_for(self.aset(messages))

    def reset(self) -> None:
        """Synchronous version of `areset`."""
        _waited_for(self.areset())

    def flush(self) -> None:
        """Synchronous version of `aflush`."""
        _waited_for(self.aflush())

    async def _remembered(self, messages: Sequence[ChatMessage], question: str | None) -> list[str]:
        """Return this turn's memories, one line each; they are recalled once per turn and cached."""
        asked = [message for message in messages if message.role == "user"]
        last = (_text(asked[-1]) or "").strip() if asked else ""
        query = (question or last).strip()
        if not query or not self.memory_tokens or not self.use_memory:
            return []
        # The number of questions, counting this one, whether or not it has been put already.
        turn = (len(asked) - (query == last), query)
        bank: AsyncMemoryBank = self.bank
        async with _chats.alone({(bank.reference, self.session_id, "recall")}):
            if self._turn != turn:
                self._lines = []
                with tolerated(
                    OnError(self.on_error),
                    emit_warning,
                    where="HindsightMemory",
                    bank=bank.name,
                    missing="the answer is given without memories",
                    log=_log,
                ):
                    self._lines = await recalled_lines(
                        bank,
                        query,
                        self.memory_tokens,
                        self.recall_options,
                        asker=asked[-1] if asked else None,
                    )
                    self._turn = turn
            return self._lines

    def _block(self, lines: Sequence[str], room: int) -> str:
        """Return the text block with the best memories that fit; empty if none fits."""
        for most in range(len(lines), 0, -1):
            block = memories_block(lines[:most])
            if self._count(block + GAP) <= room:
                return block
        return ""

    def _count(self, text: str) -> int:
        """Count tokens piecewise and stop above the limit, because tokenizing megabytes takes seconds."""
        tokens = 0
        for start in range(0, len(text), PIECE):
            tokens += len(self.tokenizer_fn(text[start : start + PIECE]))
            if tokens > self.token_limit:
                break
        return tokens

    @field_serializer("chat_store")
    def _stored_chat_store(self, store: AnyChatStore) -> dict[str, Any] | None:
        return stored_chat_store(store, self._history.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return (self.from_dict, (self.to_dict(),))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return copy.copy(self)  # copies share the bank and the stored chat


def _waited_for(call: Coroutine[Any, Any, R]) -> R:
    return _loop.run(lambda: call)


def _text(given: object) -> str | None:
    if given is None:
        return None
    return str(given.content or "") if isinstance(given, ChatMessage) else str(given)
