"""The methods of a bank. Each namespace (`bank.items`, `bank.opinions`, ...) has a file of its own."""

from hindsight_integrations.bank.context import BankContext, check_writable
from hindsight_integrations.bank.memory_bank import AsyncMemoryBank
from hindsight_integrations.bank.open_banks import OpenBanks

__all__ = ["AsyncMemoryBank", "BankContext", "OpenBanks", "check_writable"]
