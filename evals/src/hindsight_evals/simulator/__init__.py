"""The simulator: episodes like Memora's of any length, generated from our own seed data without a model (Memora 3.1-3.5)."""
