"""Memory graphs."""
