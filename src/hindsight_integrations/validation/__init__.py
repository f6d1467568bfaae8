"""Arguments of the verbs, checked once and turned into requests."""
