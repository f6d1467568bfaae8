"""Helpers of `engine_speed.py`: synthetic facts and vectors, and clocks."""
