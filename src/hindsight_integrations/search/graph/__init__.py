"""The memory graph as recall walks it: spreading activation and its parts (paper eq. 12)."""
