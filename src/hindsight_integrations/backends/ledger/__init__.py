"""Ledgers, and the rules they all keep."""
