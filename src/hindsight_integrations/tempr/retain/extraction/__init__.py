"""Extraction: passages to facts, by a model or word for word (paper section 4.1.2)."""
