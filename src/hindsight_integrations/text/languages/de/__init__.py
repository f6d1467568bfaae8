"""German, all of it."""

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de.asking import ASKING
from hindsight_integrations.text.languages.de.frames import FRAMES
from hindsight_integrations.text.languages.de.names import NAMES
from hindsight_integrations.text.languages.de.parts import PARTS
from hindsight_integrations.text.languages.de.person import PERSON
from hindsight_integrations.text.languages.de.questions import QUESTIONS
from hindsight_integrations.text.languages.de.record_questions import RECORDS
from hindsight_integrations.text.languages.de.stop_words import STOP_WORDS
from hindsight_integrations.text.languages.de.time_rules import TIME_RULES
from hindsight_integrations.text.snowball import snowball

GERMAN = Language(
    code="de",
    times=TIME_RULES,
    names=NAMES,
    questions=QUESTIONS,
    asking=ASKING,
    parts=PARTS,
    frames=FRAMES,
    person=PERSON,
    records=RECORDS,
    stop_words=STOP_WORDS,
    stem=snowball("german"),
    decimal_comma=True,
)
