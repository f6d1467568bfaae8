"""`bank.profile`: who the agent behind the bank is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.validation.arguments import checked_profile


def moved_to_get() -> TypeError:
    """The error for `bank.profile()`, which was a verb before it was a namespace."""
    return TypeError("bank.profile is a namespace; the profile is bank.profile.get() now")


class AsyncProfile(BankVerbs):
    """Who the agent behind the bank is."""

    namespace = "profile"

    async def get(self) -> BankProfile:
        """The profile as it is now: a neutral one without a name until it is set."""
        tools = self._context.tools
        return (await tools.workers.read(tools.ledger.bank, self._context.name)).profile

    @writes
    async def set(self, profile: BankProfile) -> None:
        """Replace the profile.

        Args:
            profile: the new one; a name of up to 200 characters on one line, a background of up to 4,000.

        Raises:
            InvalidRequest: it is no profile, its name or background is blank, too long or cannot be stored, or the
                engine was opened read-only.
        """
        tools = self._context.tools
        await tools.workers.write(tools.ledger.set_profile, self._context.name, checked_profile(profile))

    if not TYPE_CHECKING:  # a type checker shall go on naming what cannot be called

        def __call__(self) -> NoReturn:
            """Say where the verb went."""
            raise moved_to_get()
