"""Language: all we know of one language, one value; what lies in a folder of `languages/`."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.text.time_expressions.grammar import TimeRules


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language.

    Attributes:
        code: ISO 639-1.
        times: its words and phrases of time.
    """

    code: str
    times: TimeRules
