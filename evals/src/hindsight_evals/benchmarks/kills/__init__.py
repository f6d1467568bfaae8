"""Helpers of `crash`: what a killed process does, what it may leave behind, and what is looked for afterwards."""
