"""Indexes of a bank, all projections of the ledger, and hybrid search over them, which retain and recall share."""
