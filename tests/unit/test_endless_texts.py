"""Very long texts, such as logs and pasted code: their grammar is not analysed if that would take long."""

from __future__ import annotations

import time

from table import every_row

from hindsight_integrations.language.names import designations
from hindsight_integrations.language.packs import LANGUAGES

CHARACTERS = 60_000
MOST_SECONDS = 2.0  # seconds of CPU; linear algorithms take a tenth of one, quadratic ones much more than two
ENDLESS = ["a ", "x", "'", "Ab, ", "likes and ", "the user's to-do to ", "die Aufgabe von ", "la tarea de "]


@every_row("code", ["en", "de", "es"])
@every_row("word", ENDLESS)
def test_an_endless_text_is_read_in_no_time(code: str, word: str) -> None:
    """The analysis of a statement, or of a memory that it may mean, is fast whatever the text is."""
    language, text = LANGUAGES[code], word * (CHARACTERS // len(word))
    began = time.process_time()
    designations(text, language)
    assert time.process_time() - began < MOST_SECONDS
