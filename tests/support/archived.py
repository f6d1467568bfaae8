"""What a bank holds, read from its archive: for tests of what no verb shows, such as links and the ledger's order."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import IO, Any


def archived_rows(export: Callable[[IO[str]], object], kind: str) -> list[dict[str, Any]]:
    """All rows of one kind, in the ledger's order.

    Args:
        export: `bank.archive.export` of a bank.
        kind: "unit", "link", "mention", ...; see `hindsight_integrations.bank.archive_file`.
    """
    file = io.StringIO()
    export(file)
    rows = map(json.loads, file.getvalue().splitlines()[1:-1])  # without header and seal
    return [fields for row_kind, fields in rows if row_kind == kind]
