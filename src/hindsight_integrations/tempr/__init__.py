"""TEMPR: retain and recall (paper section 4)."""
