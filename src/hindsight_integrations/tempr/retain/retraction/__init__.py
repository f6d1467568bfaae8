"""Retraction: what a retain ends."""
