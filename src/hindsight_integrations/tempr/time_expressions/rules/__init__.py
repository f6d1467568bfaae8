"""The rules of the grammar, one concept a file."""
