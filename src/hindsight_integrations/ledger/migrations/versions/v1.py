"""Version 1. As the first version, it has no conversion: new databases are created from `tables.py`."""

revision = "1"
down_revision = None
