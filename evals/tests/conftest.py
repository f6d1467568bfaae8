"""What all tests share: no network beyond this machine."""

from __future__ import annotations

from hypothesis import settings
from local_network import no_network  # noqa: F401 - a fixture of every test

# How long an example takes says more of the machine than of the code.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
