"""Spanish, all of it."""

import re

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.es.asking import ASKING
from hindsight_integrations.text.languages.es.names import NAMES
from hindsight_integrations.text.languages.es.person import PERSON
from hindsight_integrations.text.languages.es.questions import QUESTIONS
from hindsight_integrations.text.languages.es.records import RECORDS
from hindsight_integrations.text.languages.es.stop_words import STOP_WORDS
from hindsight_integrations.text.languages.es.time_rules import TIME_RULES
from hindsight_integrations.text.stems import snowball

NEGATION = re.compile(
    r"\b(?:no|nunca|jamás|dejó de|dejado de|canceló|cancelad[oa])\b(?! olvid)", re.IGNORECASE
)

SPANISH = Language(
    code="es",
    times=TIME_RULES,
    names=NAMES,
    questions=QUESTIONS,
    asking=ASKING,
    negation=NEGATION,
    person=PERSON,
    records=RECORDS,
    stop_words=STOP_WORDS,
    stem=snowball("spanish"),
    decimal_comma=True,
)
