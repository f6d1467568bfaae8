"""Agents on checkpointed graphs: in long threads, with kills, and many concurrently."""
