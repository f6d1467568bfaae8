"""What a statement is about, apart from the grammar that frames it. Pure.

"Buying milk as an open task" and "has the task 'buy milk' on the list" are about buying milk, however models word it.
"""

from __future__ import annotations

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.part_whole import account
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import hidden, shown

LONGEST_SENTENCE = (
    1_000  # characters, as for texts (`LONGEST_TEXT`): of a longer one only the words are compared
)


def content_of(text: str, language: Language) -> frozenset[str]:
    """Stems of what a sentence is about; of one that is all grammar, of all of it. Quoted titles are no grammar."""
    if len(text) > LONGEST_SENTENCE:
        return content_stems(text, language)
    words = language.frames
    for word, others in words.kin_words.items():  # "mum" is "mother"
        text = others.sub(word, text)
    rest, titles = hidden(text)
    for pattern in words.frames:
        rest = pattern.sub(" ", rest)
    rest = words.fillers.sub(" ", words.negation.sub(" ", rest))
    return content_stems(shown(rest, titles), language) or content_stems(text, language)


def clauses(text: str, language: Language) -> list[str]:
    """Each clause or list item of a text's account that says something, in order; a quoted title is never cut."""
    rest, titles = hidden(account(text))
    pieces = (shown(piece, titles) for piece in language.parts.clause_end.split(rest))
    return [piece for piece in pieces if content_stems(piece, language)]
