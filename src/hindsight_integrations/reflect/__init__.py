"""Reflect: answers in character, opinions, observations and mental models (CARA, paper section 5)."""
