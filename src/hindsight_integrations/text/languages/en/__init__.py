"""English, all of it."""

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en.asking import ASKING
from hindsight_integrations.text.languages.en.frames import FRAMES
from hindsight_integrations.text.languages.en.names import NAMES
from hindsight_integrations.text.languages.en.parts import PARTS
from hindsight_integrations.text.languages.en.person import PERSON
from hindsight_integrations.text.languages.en.questions import QUESTIONS
from hindsight_integrations.text.languages.en.record_questions import RECORDS
from hindsight_integrations.text.languages.en.stop_words import STOP_WORDS
from hindsight_integrations.text.languages.en.time_rules import TIME_RULES
from hindsight_integrations.text.snowball import snowball

ENGLISH = Language(
    code="en",
    times=TIME_RULES,
    names=NAMES,
    questions=QUESTIONS,
    asking=ASKING,
    parts=PARTS,
    frames=FRAMES,
    person=PERSON,
    records=RECORDS,
    stop_words=STOP_WORDS,
    stem=snowball("english"),
)
