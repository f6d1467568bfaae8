"""English, all of it."""

import re

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en.asking import ASKING
from hindsight_integrations.text.languages.en.names import NAMES
from hindsight_integrations.text.languages.en.person import PERSON
from hindsight_integrations.text.languages.en.questions import QUESTIONS
from hindsight_integrations.text.languages.en.records import RECORDS
from hindsight_integrations.text.languages.en.stop_words import STOP_WORDS
from hindsight_integrations.text.languages.en.time_rules import TIME_RULES
from hindsight_integrations.text.stems import snowball

NEGATION = re.compile(
    r"\b(?:not|never|no longer|nobody|cannot|without|lacks?|lacking|absent|missing|unable|prohibited|forbidden|banned|stopped|cancell?ed|quit|(?:gave|given|giving) up(?! (?:at|in|on|after)\b)|ended)\b(?! forget)"
    r"|n't\b(?! forget)|\b\w+-free\b",
    re.IGNORECASE,
)

ENGLISH = Language(
    code="en",
    times=TIME_RULES,
    names=NAMES,
    questions=QUESTIONS,
    asking=ASKING,
    negation=NEGATION,
    person=PERSON,
    records=RECORDS,
    stop_words=STOP_WORDS,
    stem=snowball("english"),
)
