"""Validation of arguments: checked once and converted to requests."""
