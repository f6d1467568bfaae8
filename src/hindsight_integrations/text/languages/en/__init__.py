"""English, all of it."""

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en.time_rules import TIME_RULES

ENGLISH = Language(code="en", times=TIME_RULES)
