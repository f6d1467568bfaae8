"""Time expressions in plain English, as windows: shared by retain (when it happened) and recall (what is asked).

A range grammar of our own, because date parsers return points: measured in notes/stack 7, every one of them fails on
seasons, quarters, "early 2023", open ends and ranges, and finds dates in names and numbers. To teach it a phrase, add
a rule to a file under `rules/` or a word to `english`.
"""

from hindsight_integrations.tempr.time_expressions.finding import find_event_time, find_window
from hindsight_integrations.tempr.time_expressions.window import TimeWindow

__all__ = ["TimeWindow", "find_event_time", "find_window"]
