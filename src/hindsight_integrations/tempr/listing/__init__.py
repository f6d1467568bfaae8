"""Complete listing and exact sums, where recall returns the best."""
