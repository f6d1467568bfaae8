"""Opinions: how they are formed, and how evidence moves them (paper sections 5.4 and 5.5)."""
