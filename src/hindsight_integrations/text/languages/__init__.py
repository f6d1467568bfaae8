"""The languages of the grammar, a file or a few each. Another language is another `Language` in `LANGUAGES`."""

from hindsight_integrations.text.languages.de.time_rules import GERMAN
from hindsight_integrations.text.languages.en.time_rules import ENGLISH
from hindsight_integrations.text.time_expressions.grammar import Language

LANGUAGES: dict[str, Language] = {language.code: language for language in (ENGLISH, GERMAN)}
