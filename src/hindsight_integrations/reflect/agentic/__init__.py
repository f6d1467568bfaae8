"""Agentic reflection: the model looks things up with tools before it answers."""
