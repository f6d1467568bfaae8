"""Erasing the chats of a bank that is forgotten, from the file that LlamaIndex's memories keep beside the ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.turns import CHATS_FILE, CHATS_TABLE, chats_prefix

WAIT_S = 5.0  # for a message that is being written just now


def erase_chats(folder: Path, bank: str) -> None:
    """Delete the messages of all chats of a bank, and overwrite what they took up in the file.

    Args:
        folder: the data directory.
        bank: the bank's id.

    Raises:
        StorageError: the file cannot be written.
    """
    if not (folder / CHATS_FILE).exists():
        return
    try:
        with closing(sqlite3.connect(folder / CHATS_FILE, timeout=WAIT_S)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")
            known = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (CHATS_TABLE,)
            ).fetchone()
            if known:
                prefix = chats_prefix(bank)
                connection.execute(
                    f"DELETE FROM {CHATS_TABLE} WHERE substr(key, 1, ?) = ?",
                    (len(prefix), prefix),
                )
    except sqlite3.Error as error:
        raise StorageError(
            f"the bank is gone, but its chats in {folder / CHATS_FILE} could not be erased: {error}. Delete them there, or the file."
        ) from error
