"""Helpers of memora_as_of and memora_model."""
