"""Evaluations on LoCoMo, LongMemEval, Memora and a simulator, of this package and of comparable systems (docs/evals.md)."""
