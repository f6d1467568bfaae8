"""Systems to evaluate, ours among them: one a file, all behind `MemorySystem`."""
