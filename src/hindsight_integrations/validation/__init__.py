"""Validation of arguments. Each is checked once and converted to a request."""
