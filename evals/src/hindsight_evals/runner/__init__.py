"""Runs: ingest and contexts, answers, verdicts, one resumable stage a file, and one result file a question."""
