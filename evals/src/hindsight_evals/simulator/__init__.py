"""The simulator: episodes of Memora's kind from seed data of our own, as long as wanted, without a model (Memora 3.1-3.5)."""
