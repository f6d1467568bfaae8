"""The engine: opens and closes banks over one data directory."""
