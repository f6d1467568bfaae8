"""`hindsight-memory serve`: one process that owns a memory, for clients over HTTP."""
