"""Keyword indexes: BM25."""
