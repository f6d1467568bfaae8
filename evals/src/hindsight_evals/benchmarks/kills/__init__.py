"""Helpers of `crash`: the killed process, the states it may leave, and the checks afterwards."""
