"""The HTTP server of `hindsight-memory serve`, which shares one memory between clients, and the inspector, a web page."""
