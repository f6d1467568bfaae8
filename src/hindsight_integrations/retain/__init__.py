"""Retain: conversations to structured memory (paper section 4.1)."""
