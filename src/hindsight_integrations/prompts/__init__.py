"""Prompts: one module a prompt, inputs to messages with the output schema beside it; long text in templates/."""
