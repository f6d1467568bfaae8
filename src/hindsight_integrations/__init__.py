"""Long-term memory for AI agents, inside your own Python process."""
