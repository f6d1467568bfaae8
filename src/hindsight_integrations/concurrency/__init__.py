"""Threads and locks: blocking work runs off the event loop, and the same message is never retained twice at a time."""
