"""German, all of it."""

import re

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de.asking import ASKING
from hindsight_integrations.text.languages.de.names import NAMES
from hindsight_integrations.text.languages.de.person import PERSON
from hindsight_integrations.text.languages.de.questions import QUESTIONS
from hindsight_integrations.text.languages.de.records import RECORDS
from hindsight_integrations.text.languages.de.stop_words import STOP_WORDS
from hindsight_integrations.text.languages.de.time_rules import TIME_RULES
from hindsight_integrations.text.stems import snowball

NEGATION = re.compile(
    r"\b(?:nicht|keine?[nrsm]?|nie|niemals|aufgehört|abgesagt|gekündigt|beendet)\b(?! vergessen)",
    re.IGNORECASE,
)

GERMAN = Language(
    code="de",
    times=TIME_RULES,
    names=NAMES,
    questions=QUESTIONS,
    asking=ASKING,
    negation=NEGATION,
    person=PERSON,
    records=RECORDS,
    stop_words=STOP_WORDS,
    stem=snowball("german"),
    decimal_comma=True,
)
