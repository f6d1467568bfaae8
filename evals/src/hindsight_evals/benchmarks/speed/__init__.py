"""Helpers of `engine_speed`: synthetic facts and vectors, and timers."""
