"""Model calls and prompt tokens of the engine, measured with scripted answers and synthetic conversations."""
