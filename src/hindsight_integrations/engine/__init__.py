"""The engine, which opens and closes banks in one data directory or database."""
