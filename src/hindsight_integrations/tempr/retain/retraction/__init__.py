"""Retraction: what a statement of withdrawal closes or amends."""
