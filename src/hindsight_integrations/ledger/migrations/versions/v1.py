"""Version 1, the first: no database becomes one of it, they are created from `tables.py`."""

revision = "1"
down_revision = None
