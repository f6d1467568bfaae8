"""One published dataset a file, each read from a local path into episodes."""
