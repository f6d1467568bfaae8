"""Threads and slots: blocking work off the event loop, one at a time per key."""
