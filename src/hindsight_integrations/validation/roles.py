"""Whose side of a conversation a message is from. Pure."""

from __future__ import annotations

from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.turns import Role
from hindsight_integrations.text.names import AGENT_NAMES


def role_of(message: Message) -> Role:
    """Whose side a message is from, as the caller says or else by the speaker's name."""
    if message.role is not None:
        return Role(message.role)
    return Role.ASSISTANT if message.speaker.casefold() in AGENT_NAMES else Role.USER
