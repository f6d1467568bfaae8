"""Threads and locks: blocking work runs off the event loop, and concurrent retains of the same message are serialised."""
