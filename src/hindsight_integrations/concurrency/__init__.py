"""Threads and locks: blocking work off the event loop, one retain at a time per key."""
