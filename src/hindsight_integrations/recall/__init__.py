"""Recall: four channels, fusion, reranking and a token budget (paper section 4.2)."""
