"""Helpers of the benchmarks with extraction by a real model: memora_model and locomo_extract."""
