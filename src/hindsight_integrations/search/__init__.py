"""Hybrid search over one bank: its view, its columns, the channels, their fusion."""
