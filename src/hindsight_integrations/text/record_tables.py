"""Questions that want all records of a kind: more than those answered exactly, since a table need not be what was meant. Pure.

What reflect answers without a model must be understood word by word (`record_questions`). A table is only shown beside the
memories, so a word or two may be unknown; but of a question that tells a story, most are (decision 162).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hindsight_integrations.model.record_answers import RecordOperation, RecordQuestion
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import LocalDates
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_cues import ReadQuestion, read_question
from hindsight_integrations.text.record_operations import KINDS
from hindsight_integrations.text.record_questions import record_question
from hindsight_integrations.text.record_subjects import KnownThings, Subject
from hindsight_integrations.text.record_words import Cue

UNKNOWN_WORDS = 1  # that a question may have beside what is understood: a name, a verb [decision 162]
LONGEST_NAME = 3  # words of a category
_OF_CATEGORIES = (RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY, RecordKind.DOCUMENT_ITEM)
"""What a question is about that names a category alone: "what did eating out come to"."""
_NO_LIST = frozenset({Cue.WHEN, Cue.LAST})
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def table_question(
    text: str,
    moment: datetime,
    *,
    dates: LocalDates,
    languages: Sequence[Language],
    categories: Sequence[RecordCategory],
) -> RecordQuestion | None:
    """Of which records a question wants all; None where it wants none, or one of them.

    Args:
        text: the question.
        moment: when it is put (aware).
        dates: the zone of days, and on which of them weeks begin.
        languages: it may be in, the likeliest first.
        categories: those of the bank, with their units.
    """
    exact = record_question(text, moment, dates=dates, languages=languages, categories=categories)
    if exact is not None:
        return None if exact.operation is RecordOperation.LATEST else exact
    known = KnownThings(categories, languages)
    for language in languages:
        read = read_question(text, moment, dates, language)
        asked = None if read is None else _asked(text, read, known, language)
        if asked:
            return asked
    return None


def _asked(text: str, read: ReadQuestion, known: KnownThings, language: Language) -> RecordQuestion | None:
    """The records meant, where no more than a word beside them is unknown."""
    listing = language.records.listing
    cues = {piece.cue for piece in read.pieces if piece.cue}
    if cues & _NO_LIST or not listing.asking.match(text.lstrip(" \u00bf\u00a1").lower()):
        return None
    kinds, said = _kinds(read, language)
    words = _WORD.findall(said)
    subject, rest = _named(words, known, sorted(kinds) or _OF_CATEGORIES)
    left = [word for word in rest if word not in listing.idle and not known.unit(word)]
    if len(left) > UNKNOWN_WORDS or len(kinds) > 1 or (not kinds and subject is None):
        return None
    subject = subject or Subject(kinds.pop())
    window = read.window.interval if read.window else None
    return RecordQuestion(
        RecordOperation.LIST,
        subject.kind,
        language.code,
        subject.categories,
        window=window,
        surely=not left and len(subject.categories) < 2,
    )


def _kinds(read: ReadQuestion, language: Language) -> tuple[set[RecordKind], str]:
    """The kinds of record that a question speaks of, and its words that say something else."""
    said = " ".join(piece.words for piece in read.pieces if piece.cue is None)
    kinds = {KINDS[piece.cue] for piece in read.pieces if piece.cue in KINDS}
    for kind, pattern in language.records.listing.kinds.items():
        said, found = pattern.subn(" ", said)
        kinds |= {kind} if found else set()
    return kinds, said


def _named(
    words: Sequence[str], known: KnownThings, kinds: Sequence[RecordKind]
) -> tuple[Subject | None, list[str]]:
    """The category that the longest of the words name, or all that may be part of what they name, and the words left over."""
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            name, rest = " ".join(words[first : first + length]), [*words[:first], *words[first + length :]]
            if subject := known.subject(name, kinds):
                return subject, rest
            if parts := known.perhaps_parts(name, kinds[0]):
                return Subject(kinds[0], parts), rest
    return None, list(words)
