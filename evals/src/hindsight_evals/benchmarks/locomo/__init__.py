"""Helpers of `locomo_retrieval`: the data set, the compared systems, coverage, and the tables."""
