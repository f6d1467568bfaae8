"""CARA: reflect (paper section 5)."""
