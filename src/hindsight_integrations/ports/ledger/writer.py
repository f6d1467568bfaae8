"""Transaction: what a decision reads, and the commit that follows from it."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.ledger.feed import Feed
from hindsight_integrations.ports.ledger.reader import LedgerReader
from hindsight_integrations.ports.ledger.values import Receipt


class Transaction(LedgerReader, Protocol):
    """One bank, held against other writers from the first read to the commit.

    All reads of the bank and `feed` show the same state. Left without a commit, or by an exception, it changes
    nothing.
    """

    @property
    def feed(self) -> Feed:
        """The bank as this transaction sees it: what an index that is behind catches up from before deciding."""
        ...

    def commit(self, writes: WriteSet) -> Receipt:
        """Write everything, or nothing; once.

        Units, entities, mentions and links already there (by their ids) are left as they are; documents, the positions
        of chunks and the latest version of each message become what the write set says. So the same write set twice
        changes nothing the second time. A closed event sets the unit's `closed_at`, a restored
        one clears it. What is `observed` of an entity takes the place of what was made of it before; an event of a fact
        ends what was made of that. A unit of the opinion
        network that comes without a formation or a rewording becomes an opinion that was given. The newest wording of an
        opinion is closed with the last of its grounds, and restored with one of them. Facts that come or are restored, and
        opinions that are formed, enqueue the task `REINFORCED`, if an opinion is held that was not looked at with all valid
        facts (`facts_since` of its `assessed_to`). An empty write set does not raise the revision, nor does one with nothing but
        a profile.

        Raises:
            RevisionConflict: the bank's revision is not `writes.expected_revision`, or its newest change of profile not
                `writes.profile.expected`, or a fact that was observed is not what it was at `writes.observed.at_revision`;
                nothing was written.
            TaskClosed: a lease of `writes.completed_tasks` is its task's no more; nothing was written.
            InvalidRequest: the write set refers to what is not there, or is of another bank; nothing was written.
        """
        ...
