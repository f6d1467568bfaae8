"""Work that waits: passages kept for a model, and the verb that does what is due."""
