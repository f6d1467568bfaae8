"""One bank of memories and its verbs, a group of verbs a file."""

from hindsight_integrations.bank.core import Tools
from hindsight_integrations.bank.main import AsyncMemoryBank

__all__ = ["AsyncMemoryBank", "Tools"]
