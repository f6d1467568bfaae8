"""Helpers of the benchmarks in which a real model extracts: memora_model.py and locomo_extract.py."""
