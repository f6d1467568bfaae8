"""Describe an agent's profile in words: s = Verbalize(n, h, Theta) (paper sections 5.2.1 and 6.1, eq. 23).

Big Five and bias: earlier paper 6.1, 6.2, 7.2 and 8.3. The words are in `templates/`: `disposition.md` and `big_five.md`, a row for each degree of each trait, and `bias_*.md`.
"""

from __future__ import annotations

from dataclasses import fields

from hindsight_integrations.model.profile import BankProfile, BigFive, Character
from hindsight_integrations.prompts.rendering import fenced, table, template

HIGH = 0.7  # bias strengths and traits of at least this value are high [earlier paper 8.3]
LOW = 0.4  # bias strengths and traits below this value are low [earlier paper 8.3]


def verbalize(profile: BankProfile) -> str:
    """Compute s = Verbalize(n, h, Theta): the description of the agent in a system message (paper section 6.1)."""
    parts = (
        template("character"),
        fenced("NAME", [profile.name]) if profile.name else "",
        fenced("BACKGROUND", [profile.background]) if profile.background else "",
        character_in_words(profile.disposition),
        template(f"bias_{band(profile.bias_strength)}"),
    )
    return "\n\n".join(part for part in parts if part)


def character_in_words(character: Character) -> str:
    """Compute phi(Theta): a sentence about the agent's character, and the effect of each trait (paper eq. 23).

    Disposition(1, 2, 5) begins: "You are generally trusting, interpret language flexibly, and are highly empathetic."
    """
    big_five = isinstance(character, BigFive)
    rows = table("big_five" if big_five else "disposition")
    worded = {(trait, degree): (being, effect) for trait, degree, being, effect in rows}
    values = [(each.name, getattr(character, each.name)) for each in fields(character)]
    traits = [worded[name, band(value) if big_five else str(value)] for name, value in values]
    *being, last = (each for each, _ in traits)
    return "\n".join([f"You {', '.join(being)}, and {last}.", *(f"- {effect}" for _, effect in traits)])


def band(share: float) -> str:
    """Return the band of a bias strength or trait: "high" from 0.7 on, "low" below 0.4, otherwise "middle"."""
    if share >= HIGH:
        return "high"
    return "middle" if share >= LOW else "low"
