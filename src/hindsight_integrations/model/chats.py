"""Where the chats of LlamaIndex's memories are kept beside the banks, unless a chat store of the user's own holds them."""

from __future__ import annotations

import json

CHATS_FILE = "chats.sqlite"  # in the data directory
CHATS_TABLE = "chat_messages"  # with a column `key`, of LlamaIndex's SQLAlchemyChatStore


def chat_key(bank: str, session: str) -> str:
    """The key of a chat: unambiguous, whatever characters the two names have."""
    return json.dumps([bank, session])


def chats_prefix(bank: str) -> str:
    """What the keys of all chats of a bank begin with, and no other bank's."""
    return f"[{json.dumps(bank)}, "
