"""What every Clock must do. Inherit, name the class Test..., and give a `clock` fixture."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hindsight_integrations.ports.clock import Clock


class ClockContract:
    """Checks that instants are aware UTC and do not run backwards by themselves."""

    @pytest.fixture
    def clock(self) -> Clock:
        raise NotImplementedError

    def test_now_is_aware_utc(self, clock: Clock) -> None:
        """Times can be compared with those of any message."""
        assert clock.now().utcoffset() == timedelta(0)

    def test_now_does_not_run_backwards(self, clock: Clock) -> None:
        """What is retained later is not dated earlier."""
        assert clock.now() <= clock.now()
