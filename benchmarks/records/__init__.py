"""Helpers of record_questions.py."""
