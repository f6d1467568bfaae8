"""The papers' nouns as frozen values without I/O. Imports only the standard library, pydantic and, for arrays, numpy."""
