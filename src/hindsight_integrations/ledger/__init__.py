"""The ledger: the durable store of all banks, on SQLAlchemy Core."""
