"""The selects of followers after a commit use indexes: their cost depends on the commit, not on the bank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from builders import BANK

from hindsight_integrations.ledger.feed import Feed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.sql import raw

WHOLE_BANK = {"count", "vector_count"}
"""Asked when a bank is opened, or an index failed."""

WITHOUT_SINCE = {"bank", "embedder", "revision", "graph_epoch", "mark", "roles", "knows", "waiting"}
BOUNDED = ("SCAN ledger", "SCAN ids_given", "SCAN block")
"""One row, the ids that were asked for, and a block of what the select inside found by index."""


def test_no_part_of_a_feed_reads_a_whole_table(tmp_path: Path) -> None:
    """Every select of a feed uses an index; a new part must be added here or stay below the limit."""
    ledger = Ledger.open(tmp_path)
    ledger.create_bank(BANK)
    selects: list[str] = []
    with ledger._database.reading() as connection:
        feed = Feed(connection, BANK, ledger._database)
        raw(connection).set_trace_callback(selects.append)
        asked = {name for name in dir(feed) if not name.startswith("_")} - WHOLE_BANK - WITHOUT_SINCE
        for name in sorted(asked):
            given = {"told": (5, np.array([5])), "vectors_of": (np.array([5]),)}.get(name, (5,))
            answer = getattr(feed, name)(*given)
            if isinstance(answer, Iterator):
                list(answer)
        assert (feed.revision, feed.graph_epoch, len(feed.roles())) == (0, 0, 0)
        assert feed.knows(feed.mark)
        assert feed.waiting() == 0
        raw(connection).set_trace_callback(None)
        steps = {
            str(step[3]): select
            for select in dict.fromkeys(selects)
            for step in raw(connection).execute(f"EXPLAIN QUERY PLAN {select}")
        }
    ledger.close()
    assert len(steps) > 10
    scans = {
        step: select
        for step, select in steps.items()
        if step.startswith("SCAN") and not step.startswith(BOUNDED)
    }
    if scans:
        pytest.fail(f"whole tables are read: {scans}")
