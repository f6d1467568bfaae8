"""Frozen values without I/O, named as in the papers. Imports only the standard library, pydantic and, for arrays, numpy."""
