"""Plain implementations that tests compare the real ones with."""
