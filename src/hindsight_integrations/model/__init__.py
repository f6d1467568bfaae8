"""The papers' nouns: frozen values without I/O. Imports nothing but the standard library and pydantic."""
