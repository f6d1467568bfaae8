"""Forgetting: sixty small lives in which something is withdrawn, in ten families of difficulty."""
