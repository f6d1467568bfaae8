"""The languages we know, a folder each. Another language is another folder and a line here."""

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de import GERMAN
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.languages.es import SPANISH

LANGUAGES: dict[str, Language] = {language.code: language for language in (ENGLISH, GERMAN, SPANISH)}
