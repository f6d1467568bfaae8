"""The metrics, one per file."""
