"""Reflect: an answer from memory in the bank's character, and the opinions formed with it (paper sections 5.4 and 6.1)."""
