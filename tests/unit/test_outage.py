"""Back-off while the model is unavailable."""

from __future__ import annotations

from hindsight_integrations.engine.worker import FIRST_PAUSE, LONGEST_PAUSE, Outage


def test_each_failure_doubles_the_pause_and_an_answer_ends_it() -> None:
    """The pause is 1, 2, 4 ... seconds, at most five minutes, and an answer ends it."""
    outage, now, pauses = Outage(), 100.0, []
    for _ in range(11):
        outage.failed(now)
        pauses.append(outage.until - now)
        assert not outage.may_ask(now, asking=False)
        now = outage.until
    assert pauses == [FIRST_PAUSE * 2**n for n in range(9)] + [LONGEST_PAUSE] * 2
    outage.answered()
    assert outage.may_ask(now, asking=True)


def test_calls_that_fail_together_count_once() -> None:
    """Four concurrent failures count as one."""
    outage = Outage()
    for _ in range(4):
        outage.failed(50.0)
    assert (outage.failures, outage.until) == (1, 50.0 + FIRST_PAUSE)


def test_after_a_pause_one_call_asks_for_all() -> None:
    """After a pause one call probes the model, and the others wait for it."""
    outage = Outage()
    outage.failed(0.0)
    assert outage.may_ask(FIRST_PAUSE, asking=False)
    assert not outage.may_ask(FIRST_PAUSE, asking=True)
