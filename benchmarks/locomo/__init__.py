"""Helpers of `locomo_retrieval.py`: the dataset, the systems compared, what they cover, and the tables."""
