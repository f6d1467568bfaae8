"""Shared by all tests: no network beyond this machine."""

from __future__ import annotations

from hypothesis import settings
from local_network import no_network  # noqa: F401 - a fixture of every test

# The run time of an example depends more on the machine than on the code.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
