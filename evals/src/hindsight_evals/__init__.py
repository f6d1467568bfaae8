"""Evaluations: LoCoMo, LongMemEval, Memora and a simulator of our own; ours beside its peers (docs/evals.md)."""
