"""The methods of a bank: the core methods, and one file for each namespace."""

from hindsight_integrations.bank.context import BankContext, check_writable
from hindsight_integrations.bank.memory_bank import AsyncMemoryBank
from hindsight_integrations.bank.open_banks import OpenBanks

__all__ = ["AsyncMemoryBank", "BankContext", "OpenBanks", "check_writable"]
