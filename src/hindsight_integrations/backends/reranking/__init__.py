"""Rerankers: what wraps or scores pairs of query and text."""
