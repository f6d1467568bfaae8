"""Indexes of a bank, all projections of the ledger, and hybrid search, shared by retain and recall."""
