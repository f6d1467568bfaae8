"""Models that run on this machine: where their files are, and the runtimes that load them."""
