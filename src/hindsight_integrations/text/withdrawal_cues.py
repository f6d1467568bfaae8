"""Cues of withdrawal in plain messages: what "no longer", "cancelled" or "moved to" take back, as statements. Pure.

For verbatim mode, where no model says what a message makes obsolete. A statement is the sentence without its cue, so
that it resembles what was said before; whether anything matches is for retraction to decide, with a stricter bar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import hidden, shown

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SHORTEST = 2  # words of a statement that can mean one thing
# Characters. Cues look from each letter to the end of the sentence: one of 200,000 without a stop took minutes, with every
# other thread waiting. Longer ones are lists, logs or code.
_LONGEST_SENTENCE = 1_000


def withdrawals(text: str, speaker: str, languages: Sequence[Language]) -> list[str]:
    """Statements of what a message takes back, each beginning with who made it, in order and each once.

    Args:
        text: of the message; each sentence is read by itself, in the first language that finds a cue in it; one of
            more than a thousand characters is not read.
        speaker: who wrote it.
        languages: in turn.
    """
    found: dict[str, None] = {}
    rest, titles = hidden(text)  # nothing inside a quoted title ends a sentence or a clause
    for sentence in filter(lambda each: len(shown(each, titles)) <= _LONGEST_SENTENCE, _SENTENCE.split(rest)):
        statement = next(filter(None, (_withdrawn(sentence, titles, language) for language in languages)), "")
        if statement:
            found.setdefault(f"{speaker}: {statement}")
    return list(found)


def _withdrawn(sentence: str, titles: list[str], language: Language) -> str:
    """What the first cue that names something takes back; empty if none does."""
    words = language.withdrawals
    if words.unless.search(sentence):
        return ""
    for cue in words.cues:
        match = cue.pattern.search(sentence)
        positive = _positive(shown(match["withdrawn"], titles), language) if match else ""
        if match and positive:
            groups = {name: shown(words, titles) for name, words in match.groupdict(default="").items()}
            statement = " ".join(cue.statement.format(**{**groups, "withdrawn": positive}).split())
            if len(statement.split()) >= _SHORTEST or statement[:1].isupper():
                return statement
    return ""


def _positive(withdrawn: str, language: Language) -> str:
    """What was taken back, put positively; empty where it only points ("that") or names nothing."""
    words = language.withdrawals
    positive = " ".join(words.negation.sub("", withdrawn).split()).strip(" ,;:")
    names_nothing = words.pointer.match(positive) or words.vague.match(positive)
    bare = positive
    for _, pattern in language.frames.frames:
        bare = pattern.sub(" ", bare)
    if not content_stems(bare, language):  # "I needed": all grammar
        return ""
    return positive if not names_nothing and content_stems(words.when.sub("", positive), language) else ""
