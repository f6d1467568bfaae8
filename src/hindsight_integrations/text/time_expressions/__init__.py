"""Time expressions in plain words, as windows: shared by retain (when it happened) and recall (which time to search).

A range grammar of our own, because date parsers return points: each one tried failed on
seasons, quarters, "early 2023", open ends and ranges, and finds dates in names and numbers. What phrases mean is under
`meanings/`; which words say so is a language's, under `languages/`.
"""

from hindsight_integrations.text.time_expressions.finding import find_event_time, find_window
from hindsight_integrations.text.time_expressions.grammar import TimeRules
from hindsight_integrations.text.time_expressions.window import TimeWindow

__all__ = ["TimeRules", "TimeWindow", "find_event_time", "find_window"]
