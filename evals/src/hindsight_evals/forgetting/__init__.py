"""Forgetting: sixty short simulated lives in which something is withdrawn, in ten families of difficulty."""
