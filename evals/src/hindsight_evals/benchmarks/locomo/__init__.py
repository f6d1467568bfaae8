"""Helpers of `locomo_retrieval`: the dataset, the systems compared, what they cover, and the tables."""
