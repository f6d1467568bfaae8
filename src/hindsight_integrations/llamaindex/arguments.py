"""Arguments of LlamaIndex's components that are checked before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.utils import get_tokenizer

from hindsight_integrations import InvalidRequest
from hindsight_integrations.errors import shown
from hindsight_integrations.validation.limits import checked_list, checked_name


def checked_session(given: object) -> str:
    """The id of a chat; a new one for None.

    Raises:
        InvalidRequest: it is no text, blank, of several lines, or nothing that can be stored.
    """
    if given is None:
        return uuid4().hex
    if checked_name(given, "session_id") != given:
        reason = f"{shown(given)} has characters around or in it that cannot be stored"
        raise InvalidRequest("session_id", reason, "Pass a text without them, or None for a new chat.")
    return str(given)


def checked_insert_method(given: object) -> str:
    """Where memories are put: "user" or "system"; LlamaIndex's InsertMethod names them too.

    Raises:
        InvalidRequest: it is neither.
    """
    named = getattr(given, "value", given)
    if named not in ("user", "system"):
        raise InvalidRequest("insert_method", f"{shown(given)} is not known", "Use 'user' or 'system'.")
    return str(named)


def checked_messages(given: object) -> list[ChatMessage]:
    """Messages to keep in a chat's history.

    Raises:
        InvalidRequest: it is not a list of ChatMessages; nothing of it was kept.
    """
    messages = checked_list(given, "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise InvalidRequest(
                f"messages[{at}]", f"it is {type(message).__name__}", "Pass ChatMessages of LlamaIndex."
            )
    return messages


def checked_chat_store(
    given: object, kinds: tuple[type, ...] = (BaseChatStore, AsyncDBChatStore)
) -> BaseChatStore | AsyncDBChatStore | None:
    """A chat store of LlamaIndex; None stays None.

    Args:
        given: anything.
        kinds: the kinds of stores that serve.

    Raises:
        InvalidRequest: it is none of them.
    """
    if given is None or isinstance(given, kinds):
        return given
    named = " or ".join(kind.__name__ for kind in kinds)
    raise InvalidRequest("chat_store", f"{shown(given)} is none", f"Pass LlamaIndex's {named}, or None.")


def checked_tokenizer(given: object) -> Callable[[str], Sequence[Any]]:
    """What makes a text into tokens; LlamaIndex's global one for None.

    Raises:
        InvalidRequest: it cannot be called.
    """
    if given is None:
        return get_tokenizer()  # type: ignore[no-any-return] # see events.py
    if not callable(given):
        raise InvalidRequest(
            "tokenizer_fn", f"{shown(given)} cannot be called", "Pass a function of a text to its tokens."
        )
    return given
