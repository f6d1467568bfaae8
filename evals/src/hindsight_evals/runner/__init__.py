"""Runs: contexts, answers and verdicts, one resumable stage per module, with one result file per question."""
