"""German, all of it."""

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de.time_rules import TIME_RULES

GERMAN = Language(code="de", times=TIME_RULES)
