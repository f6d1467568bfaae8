"""Agentic reflection: the model looks things up with tools until it can answer, or has to."""
