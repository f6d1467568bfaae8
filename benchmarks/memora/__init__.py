"""Helpers of memora_state.py."""
