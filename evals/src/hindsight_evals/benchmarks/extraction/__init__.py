"""Helpers of the benchmarks in which a real model extracts: memora_model and locomo_extract."""
