"""`bank.opinions`: opinions of the agent with their confidence and evidence."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.entities import MAX_NAME, entity_named
from hindsight_integrations.bank.maintenance import erased
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.indexes.columns import tags_select
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.opinions import (
    ConfidenceChange,
    Opinion,
    OpinionHistory,
    OpinionLog,
    history_of,
    opinion_of,
    trajectory,
)
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.validation.arguments import checked_instant, checked_unit_id
from hindsight_integrations.validation.limits import checked_count, checked_tags, checked_text

MAX_REVISION = 2**63 - 1  # the largest integer that the ledger can store

Opinions: TypeAlias = list[Opinion]  # an alias, because `list` is a method of the class below
Trajectory: TypeAlias = tuple[ConfidenceChange, ...]


class AsyncOpinions(BankVerbs):
    """Opinions of the agent with their confidence and evidence."""

    namespace = "opinions"

    async def list(
        self,
        *,
        entity: str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        include_closed: bool = False,
        as_of: datetime | str | None = None,
        as_of_revision: int | None = None,
    ) -> Opinions:
        """List the opinions that the agent holds, in the order in which they were formed.

        Args:
            entity: name or id of an entity they mention; None means any.
            tags: visibility tags; empty means any.
            tags_match: any, all, any_strict, all_strict or exact; any and all also select untagged opinions.
            include_closed: also list opinions that are no longer held, with `closed_at`.
            as_of: a point in conversation time; lists the opinions held then, with their confidence at that time.
            as_of_revision: ignore everything recorded after this revision; None means no limit.

        Raises:
            InvalidRequest: an option is out of range, or the entity is unknown or its name ambiguous.
        """
        bank, services = self._context.name, self._context.services
        moment, revision = self._moment(as_of, as_of_revision)
        wanted, match = frozenset(checked_tags(tags)), choice(TagsMatch, tags_match, "tags_match")
        named = None if entity is None else checked_text(entity, "entity", MAX_NAME)

        def listed() -> Opinions:
            with services.ledger.snapshot(bank) as ledger:
                logs = ledger.opinions.get(bank)
                name = None if named is None else entity_named(ledger, bank, named).name
            found = (opinion_of(log, as_of=moment, as_of_revision=revision) for log in logs)
            return [
                opinion
                for opinion in found
                if opinion is not None
                and (include_closed or opinion.closed_at is None)
                and (name is None or name in opinion.entities)
                and (not wanted or tags_select(frozenset(opinion.tags), wanted, match))
            ]

        return await services.workers.read(listed)

    async def get(
        self,
        opinion_id: str,
        *,
        as_of: datetime | str | None = None,
        as_of_revision: int | None = None,
    ) -> Opinion:
        """Get an opinion, whether it is still held or not.

        Args:
            opinion_id: its id, or the id of one of its wordings.
            as_of: as in `list`.
            as_of_revision: as in `list`.

        Raises:
            InvalidRequest: the bank has no such opinion, or it had not been formed by `as_of`.
        """
        moment, revision = self._moment(as_of, as_of_revision)
        log = await self._log(opinion_id)
        opinion = opinion_of(log, as_of=moment, as_of_revision=revision)
        if opinion is None:
            reason = f"{shown(opinion_id)} had not been formed by then"
            raise InvalidRequest(
                "as_of",
                reason,
                f"Use the time of its formation, {log.formed_at} (revision {log.revision}), or a later one.",
            )
        return opinion

    async def history(
        self,
        opinion_id: str,
        *,
        as_of: datetime | str | None = None,
        as_of_revision: int | None = None,
    ) -> OpinionHistory:
        """Get the formation and wordings of an opinion, and the effect of each fact on its confidence.

        Args:
            opinion_id: its id, or the id of one of its wordings.
            as_of: as in `list`.
            as_of_revision: as in `list`.

        Raises:
            InvalidRequest: the bank has no such opinion.
        """
        moment, revision = self._moment(as_of, as_of_revision)
        return history_of(await self._log(opinion_id), as_of=moment, as_of_revision=revision)

    async def trajectory(self, opinion_id: str) -> Trajectory:
        """List the changes of an opinion's confidence over conversation time, from its formation (paper section 5.7.1).

        Args:
            opinion_id: its id, or the id of one of its wordings.

        Raises:
            InvalidRequest: the bank has no such opinion.
        """
        return tuple(trajectory(await self._log(opinion_id)))

    @writes
    async def forget(self, opinion_id: str) -> ForgetReceipt:
        """Erase an opinion with all its wordings and its evidence log from the ledger, the indexes and all files.

        Its source facts are kept. To change an opinion, retain facts that support or contradict it instead.

        Args:
            opinion_id: its id, or the id of one of its wordings.

        Raises:
            InvalidRequest: the bank has no such opinion, or the engine was opened read-only.
        """
        log = await self._log(opinion_id)
        return await self._context.services.workers.write(erased, self._context, Erasure(unit=log.id))

    async def _log(self, opinion_id: str) -> OpinionLog:
        return await self._context.services.workers.read(_stored, self._context, checked_unit_id(opinion_id))

    def _moment(
        self, as_of: datetime | str | None, as_of_revision: int | None
    ) -> tuple[datetime | None, int | None]:
        moment = checked_instant(as_of, "as_of", self._context.services.dates)
        if as_of_revision is None:
            return moment, None
        return moment, checked_count(as_of_revision, "as_of_revision", least=0, most=MAX_REVISION)


def _stored(bank: BankContext, opinion_id: str) -> OpinionLog:
    """Return the log of the opinion with this id, or with a wording that has this id.

    Raises:
        InvalidRequest: there is none.
    """
    with bank.services.ledger.snapshot(bank.name) as ledger:
        rows = ledger.units.row_ids(bank.name, [opinion_id])
        named = ledger.opinions.of_units(bank.name, np.fromiter(rows.values(), np.int64, len(rows)))
        logs = ledger.opinions.get(bank.name, list(named.values()))
    if not logs:
        raise InvalidRequest(
            "opinion_id",
            f"the bank has no opinion {shown(opinion_id)}",
            "Pass an id from opinions.list().",
        )
    return logs[0]
