"""Observations of entities: how they are made from their facts (paper section 4.1.5)."""
