"""Prompts: one module per prompt with its rendering and output schema; long texts are in templates/."""
