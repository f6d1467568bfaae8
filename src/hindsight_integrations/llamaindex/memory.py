"""HindsightMemory: a chat's history under a token limit, with what the bank remembers beside the question."""

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
from hindsight_integrations.llamaindex.bank import (
    BankField,
    chat_recall_options,
    dispatcher,
    open_bank,
    recalled_lines,
    retained,
    told,
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
    told_apart,
)
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.turns import chat_key
from hindsight_integrations.prompts.recalled import memories_block
from hindsight_integrations.tolerance import tolerated
from hindsight_integrations.validation.limits import checked_flag, checked_tags
from hindsight_integrations.validation.messages import checked_roles
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.options import (
    PROMPT_DEFAULTS,
    checked_tokens,
)

NAMESPACE = "llamaindex"  # of the chat's list: a thread of that id in a graph has another
TOKEN_LIMIT = 30_000  # LlamaIndex's own default
PIECE = 20_000  # characters that are counted at once
MEMORY_TOKENS = PROMPT_DEFAULTS["max_tokens"]  # of it for memories, a quarter at most

_log = logging.getLogger("hindsight_integrations.llamaindex")
_chats = InFlight()  # of two who bring one chat, the second shall not bring an older list
_loop = SharedLoop()  # of callers that cannot await; one for all, as stores may keep connections of a loop
R = TypeVar("R")


class HindsightMemory(BaseMemory):  # type: ignore[misc] # see bank.py
    """Memory of an agent or chat engine: `FunctionAgent(...).run(question, memory=HindsightMemory(bank))`.

    `put` keeps each message in the chat's history first; where a message ends a turn (the assistant's, without tool
    calls), what is new of the chat is retained, in one piece and with the conversation before it. `get` gives the newest
    turns that fit, and memories recalled once a turn. What a failing bank or a killed process did not retain, the next
    turn does. `set` brings the bank to the chat as it is then: what was made of messages that it drops at the end holds
    no more; a question at its end waits for the answer. `reset` clears the chat's history, not the memories;
    `engine.forget_bank` erases both.

    It is serialised by reference: `to_dict`, JSON and pickle hold the bank's directory and name, never its content. Of a
    chat store of yours a SimpleChatStore's messages go along, any other is given again to `from_dict`, as is a tokenizer.

    Args:
        bank: of either face, or the reference to one (`bank.reference`).
        session_id: the chat's id, under which its history is found again; a new one if None.
        token_limit: what `get` may give, memories included, in tokens of `tokenizer_fn`: first the newest turn, which is
            never left out, then memories, then older turns.
        memory_tokens: what the memories may cost of it, in the bank's tokens, beside what frames them; None means 2,048, a quarter at most; 0
            recalls none.
        insert_method: "user": memories stand before the text of the user's last message; "system": in the system
            message, in front.
        roles: whose messages are retained: user, assistant, tool.
        context: what the chat is, for extraction ("support chat").
        tags: visibility tags of what is retained.
        metadata: values to keep with every memory.
        recall_options: of `bank.recall`, beside its query and max_tokens: budget (here "low"), types, tags, k, ...; as JSON
            can hold them, if the memory is to be serialised.
        on_error: "queue": where the model fails the turn waits, where the bank fails the chat goes on and the next turn
            retains both; "skip": it goes on likewise, and a failing model's turn does not wait; "raise". Mistakes
            (InvalidRequest, a forgotten bank) are always raised, after the message was kept.
        background: with a model, retain without waiting for it; see the bank's `retain`.
        use_memory: False recalls nothing and stores nothing of the messages put meanwhile, also later. Set the attribute at any time:
            `memory.use_memory = False`. The chat's history is kept either way.
        chat_store: LlamaIndex's, of either kind, for the history; None means a file beside the bank.
        tokenizer_fn: a text to its tokens; LlamaIndex's global one if None.

    Raises:
        InvalidRequest: an argument is of no use.
        BankNotOpen: no open engine has the directory that a reference means.
        BankNotFound: the bank is gone.
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
    use_memory: bool = True
    chat_store: Any = Field(default=None, repr=False)  # it may hold the chat
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
        use_memory: bool = True,
        chat_store: AnyChatStore | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        class_name: str | None = None,
    ) -> None:
        del class_name  # what to_dict writes beside the fields
        opened = open_bank(bank)
        limit = checked_tokens(token_limit, "token_limit", least=1)
        share = min(MEMORY_TOKENS, limit // 4) if memory_tokens is None else memory_tokens
        super().__init__(
            bank=opened,
            session_id=checked_session(session_id),
            token_limit=limit,
            memory_tokens=checked_tokens(share, "memory_tokens", least=0, most=limit),
            insert_method=checked_insert_method(insert_method),
            roles=tuple(sorted(checked_roles(roles))),
            context=context,
            tags=checked_tags(tags),
            metadata=checked_metadata({} if metadata is None else metadata),
            recall_options=chat_recall_options(recall_options),
            on_error=choice(OnError, on_error, "on_error").value,
            background=background,
            use_memory=checked_flag(use_memory, "use_memory"),
            chat_store=loaded_chat_store(chat_store) or chat_store_beside(opened.reference),
            tokenizer_fn=checked_tokenizer(tokenizer_fn),
        )
        self._history = ChatHistory(self.chat_store, chat_key(opened.name, self.session_id))

    @classmethod
    def class_name(cls) -> str:
        """The component's name where LlamaIndex serialises it."""
        return "HindsightMemory"

    @classmethod
    def from_defaults(cls, bank: Any = None, **options: Any) -> Self:  # noqa: ANN401 - as the constructor
        """The constructor, by the name LlamaIndex's memories have for it.

        Args:
            bank: as in the constructor.
            options: as in the constructor.
        """
        return cls(bank, **options)

    async def aget(self, input: Any = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ANN401 - LlamaIndex's
        """The newest turns that fit under the limit, with what is remembered of the question.

        Args:
            input: the question, a text or a message; None means the user's last message.
            kwargs: `initial_token_count`: tokens of the limit that the caller uses up itself.
        """
        messages = await self._history.read()
        question = _text(input)
        lines = await self._remembered(messages, question)
        limit = self.token_limit - int(kwargs.get("initial_token_count") or 0)
        newest = fitting(newest_turn(messages), limit, self._count)  # goes before memories, older turns after
        block = self._block(lines, limit - messages_tokens(newest, self._count))
        shown_messages = fitting(messages, limit - self._count(block and block + GAP), self._count)
        if not block:
            return shown_messages
        return placed(shown_messages, block, self.insert_method, question)

    async def aget_all(self) -> list[ChatMessage]:
        """The chat's whole history, without memories."""
        return await self._history.read()

    async def aput(self, message: ChatMessage) -> None:
        """Keep a message; retain what is new of the chat if it ends a turn."""
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Keep messages; retain what is new of the chat, once, if one of them ends a turn."""
        if not (messages := checked_messages(messages)):
            return
        await self._history.add(messages)
        if any(map(ends_turn, messages)):
            await self._follow(last_turn_end)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Make these the chat's messages, and bring the bank to them; a question without its answer waits for that."""
        messages = checked_messages(messages)
        await self._history.replace(messages)
        self._turn = None
        if any(map(ends_turn, messages)):
            await self._follow(last_turn_end)

    async def areset(self) -> None:
        """Clear the chat's history. The memories stay; `bank.forget` erases those."""
        await self._history.clear()
        self._turn = None

    async def aflush(self) -> None:
        """Retain now what is new of the chat, a turn without its answer included."""
        await self._follow(len)

    async def _follow(self, end: Callable[[list[ChatMessage]], int]) -> None:
        """Bring the bank to the chat.

        Args:
            end: up to where its messages are looked at.
        """
        on_error = OnError(self.on_error)
        missing = "the turn is not retained"
        remedy = "The next turn of the chat retains it too."
        bank: AsyncMemoryBank = self.bank
        with tolerated(
            on_error, told, where="HindsightMemory", bank=bank.name, missing=missing, remedy=remedy, log=_log
        ):
            async with _chats.alone({(bank.reference, self.session_id)}):
                messages = await self._history.read()
                result = await bank.threads.follow(
                    told_apart(spoken(messages[: end(messages)])),
                    thread=self.session_id,
                    namespace=NAMESPACE,
                    roles=self.roles,
                    context=self.context,
                    tags=self.tags,
                    metadata=self.metadata,
                    on_model_failure="queue" if on_error is OnError.QUEUE else None,
                    background=self.background,
                    remember=self.use_memory,
                )
            dispatcher.event(retained(bank.name, result))

    def get(self, input: Any = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ANN401 - LlamaIndex's
        """As `aget`."""
        return list(_waited_for(self.aget(input, **kwargs)))

    def get_all(self) -> list[ChatMessage]:
        """As `aget_all`."""
        return list(_waited_for(self.aget_all()))

    def put(self, message: ChatMessage) -> None:
        """As `aput`."""
        _waited_for(self.aput(message))

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """As `aput_messages`."""
        _waited_for(self.aput_messages(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """As `aset`."""
        _waited_for(self.aset(messages))

    def reset(self) -> None:
        """As `areset`."""
        _waited_for(self.areset())

    def flush(self) -> None:
        """As `aflush`."""
        _waited_for(self.aflush())

    async def _remembered(self, messages: Sequence[ChatMessage], question: str | None) -> list[str]:
        """The memories of this turn, a line each: recalled once, however often they are asked for."""
        asked = [message for message in messages if message.role == "user"]
        last = (_text(asked[-1]) or "").strip() if asked else ""
        query = (question or last).strip()
        if not query or not self.memory_tokens or not self.use_memory:
            return []
        # Asked before the question is put (chat engines), after, or after its answer (agents): it is one turn.
        turn = (len(asked) - (query == last), query)
        bank: AsyncMemoryBank = self.bank
        async with _chats.alone({(bank.reference, self.session_id, "recall")}):
            if self._turn != turn:
                self._lines = []
                with tolerated(
                    OnError(self.on_error),
                    told,
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
        """As many memories as there is room for, the best ones; empty if there is room for none."""
        for most in range(len(lines), 0, -1):
            block = memories_block(lines[:most])
            if self._count(block + GAP) <= room:
                return block
        return ""

    def _count(self, text: str) -> int:
        """Tokens of a text, in pieces: a tokenizer takes seconds for megabytes, and what is over the limit is out."""
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
        return copy.copy(self)  # the bank and the stored chat are the same ones


def _waited_for(call: Coroutine[Any, Any, R]) -> R:
    return _loop.run(lambda: call)


def _text(given: object) -> str | None:
    if given is None:
        return None
    return str(given.content or "") if isinstance(given, ChatMessage) else str(given)
