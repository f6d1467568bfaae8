"""One file an engine; each vendor package is imported in exactly one of them, and nowhere else."""
