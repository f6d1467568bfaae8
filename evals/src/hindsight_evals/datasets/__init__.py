"""Readers of the published datasets, one file each, which convert local files to episodes."""
