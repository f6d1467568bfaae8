"""How far one piece of evidence moves an opinion, by the settings and by who the agent is. Pure."""

from __future__ import annotations

from hindsight_integrations.config import OpinionConfig
from hindsight_integrations.model.opinions import STRONG_SUPPORT, UpdateRule
from hindsight_integrations.model.profile import BankProfile, Disposition

CAUTIOUS_SHARES = {4: 5 / 6, 5: 2 / 3}
"""Of the step, by skepticism: 0.15 becomes 0.125 and 0.10 [earlier paper 9.4]."""


def step_of(profile: BankProfile, config: OpinionConfig) -> float:
    """The step size that rows of evidence written under a profile have: a of paper eq. 26, or alpha of the other rule.

    Big Five profiles have no trait for it, and take the whole step.

    Args:
        profile: the bank's, now.
        config: rule, step, and whether cautious profiles take smaller ones.
    """
    step = config.step if config.rule is UpdateRule.ADDITIVE else STRONG_SUPPORT
    if config.cautious_steps and isinstance(profile.disposition, Disposition):
        step *= CAUTIOUS_SHARES.get(profile.disposition.skepticism, 1.0)
    return step
