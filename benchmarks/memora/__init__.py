"""Helpers of memora_state.py, memora_records.py, memora_as_of.py and memora_model.py."""
