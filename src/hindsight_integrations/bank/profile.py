"""`bank.profile`: the agent's profile and its history."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.errors import InvalidRequest, LedgerFailed
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.erasure import ForgetReceipt
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.time import Moment, as_utc
from hindsight_integrations.model.writes import ProfileWrite, WriteSet
from hindsight_integrations.reflect.background import merge_snippet
from hindsight_integrations.validation.arguments import checked_instant, checked_profile
from hindsight_integrations.validation.limits import MAX_BACKGROUND, checked_count, checked_text

MAX_NUMBER = 2**63 - 1  # the largest integer that the ledger can store

Changes: TypeAlias = tuple[ProfileChange, ...]


def moved_to_get() -> TypeError:
    """Return the error for calling `bank.profile()`, which used to be a method."""
    return TypeError("bank.profile is a namespace; call bank.profile.get()")


class AsyncProfile(BankVerbs):
    """The agent's profile and its history."""

    namespace = "profile"

    async def get(self, *, as_of: datetime | str | None = None) -> BankProfile:
        """Get the profile. If none was set, return a neutral profile without a name.

        Args:
            as_of: a time in the past; None means now.

        Raises:
            InvalidRequest: the time cannot be parsed.
        """
        return await profile_of(self._context, as_of)

    @writes
    async def set(self, profile: BankProfile, *, since: Moment = None) -> None:
        """Replace the profile. Every change is recorded in `history`; setting an equal profile changes nothing.

        Args:
            profile: the new profile. Its name is one line of at most 200 characters, its background at most 4,000 characters.
            since: time from which `as_of` returns it; None means now. Not in the future, and not before the last change.

        Raises:
            InvalidRequest: the value is not a profile, its name or background is blank, too long or cannot be stored, `since`
                cannot be parsed or is out of range, or the engine was opened read-only.
        """
        bank, given = self._context, checked_profile(profile)
        effective_at = checked_instant(since, "since", bank.services.dates)
        await bank.services.workers.write(_set_profile, bank, given, effective_at, "set")

    @writes
    async def merge_background(self, text: str) -> BankProfile:
        """Merge a text about the agent into the background, in the first person ("You are ..." becomes "I am ...").

        With a model, the text replaces what it contradicts, and everything else is kept. The model's result must be in the first
        person and keep every name and number that it does not declare as replaced. It may have up to 500 characters, or as many
        as the two texts together. Without a model, the text is appended unless it is already there. A background has at most
        4,000 characters, as in `set`. The change is recorded in `history`.

        Args:
            text: one or more sentences about the agent, up to 4,000 characters.

        Returns:
            The profile with the merged background.

        Raises:
            BackgroundRefused: the merged background would be too long; the model's result was invalid three times; or, without
                a model, the text states another name, age, birthplace, year of birth or residence. Nothing was changed.
            InvalidRequest: the text is blank, too long or cannot be stored, or the engine was opened read-only.
            ModelError: the model is unavailable, or its answers could not be parsed; nothing was changed.
        """
        said = checked_text(text, "text", MAX_BACKGROUND)
        now = as_utc(self._context.services.clock.now())
        profile, _ = await merge_snippet(said, now, self._context, self._context.services)
        return profile

    async def history(self) -> Changes:
        """List every change of the profile with the start of its validity, oldest first."""
        services = self._context.services
        return tuple(await services.workers.read(services.ledger.profiles.changes, self._context.name))

    @writes
    async def restore(self, number: int) -> None:
        """Set the profile of an earlier change again, as a new change.

        Args:
            number: number of the change, from `history`.

        Raises:
            InvalidRequest: no change has that number, or the engine was opened read-only.
        """
        bank, wanted = self._context, checked_count(number, "number", most=MAX_NUMBER)
        await bank.services.workers.write(_restored, bank, wanted)

    @writes
    async def forget_history(self) -> ForgetReceipt:
        """Erase every change of the profile except the last, including the bytes in the ledger's files.

        The current profile does not change; earlier times have no profile any more. `forget` erases only memories: if the current
        background contains something that must be forgotten, set a new one. Pending background merges are kept.

        Returns:
            The number of changes erased (`counts["profile_changes"]`), and whether they were removed from the files.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        return await self._context.services.workers.write(_history_forgotten, self._context)

    if not TYPE_CHECKING:  # so that type checkers report a call of the namespace

        def __call__(self) -> NoReturn:
            """Raise an error that points to `profile.get`."""
            raise moved_to_get()


async def profile_of(bank: BankContext, as_of: object = None) -> BankProfile:
    """Return the profile of the bank, now or at a given time.

    Raises:
        InvalidRequest: the time cannot be parsed.
    """
    services = bank.services
    moment = checked_instant(as_of, "as_of", services.dates)
    if moment is None:
        return (await services.workers.read(services.ledger.bank, bank.name)).profile
    return await services.workers.read(services.ledger.profiles.at, bank.name, moment)


def _set_profile(bank: BankContext, profile: BankProfile, since: datetime | None, reason: str) -> None:
    """Set the profile if it differs from the current one. Writer thread only."""
    now = as_utc(bank.services.clock.now())
    with bank.services.ledger.transaction(bank.name) as transaction:
        newest = transaction.profiles.change(bank.name)
        if since is not None:
            _check_since(since, now, newest)
        if profile == (newest.profile if newest else BankProfile()):
            return
        write = ProfileWrite(profile, since or now, reason, newest.number if newest else 0)
        transaction.commit(WriteSet(bank.name, transaction.feed.revision, profile=write))


def _check_since(since: datetime, now: datetime, newest: ProfileChange | None) -> None:
    if since > now:
        raise InvalidRequest("since", f"{since} is in the future", "Set the profile when it becomes valid.")
    if newest and since < newest.effective_at:
        reason = f"{since} is before the last change, which is valid from {newest.effective_at}"
        raise InvalidRequest("since", reason, "Set profiles in chronological order.")


def _restored(bank: BankContext, number: int) -> None:
    ledger = bank.services.ledger
    change = ledger.profiles.change(bank.name, number)
    if change is None:
        raise InvalidRequest(
            "number", f"the profile has no change number {number}", "Pass a number from profile.history()."
        )
    _set_profile(bank, change.profile, None, f"restored {number}")


def _history_forgotten(bank: BankContext) -> ForgetReceipt:
    ledger = bank.services.ledger
    erased = ledger.profiles.forget_history(bank.name)
    counts = {"profile_changes": erased} if erased else {}
    receipt = ForgetReceipt((), (), counts, ledger.revision(bank.name))
    if not erased:
        return receipt
    try:
        return replace(receipt, files_clean=ledger.erasure.scrub() is Scrub.CLEAN)
    except LedgerFailed:  # the disk is full: the next erasure or opening removes the bytes
        return replace(receipt, files_clean=False)
