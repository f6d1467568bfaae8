"""The papers' nouns as frozen values without I/O. Imports only the standard library and pydantic."""
