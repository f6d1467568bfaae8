"""The vocabulary of records: what kind, category, unit and amount the words of a model or a caller mean."""
