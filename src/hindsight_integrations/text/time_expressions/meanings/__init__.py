"""What phrases mean, one concept a file; the words and patterns that say so are a language's."""
