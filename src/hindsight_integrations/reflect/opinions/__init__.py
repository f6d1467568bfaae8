"""Opinions: how they are formed and updated by evidence (paper sections 5.4 and 5.5)."""
