"""Agents on checkpointed graphs: long threads, killed ones, and many at once."""
