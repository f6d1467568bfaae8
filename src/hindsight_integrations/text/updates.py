"""Updates in plain messages: a sentence that fills anew the slot which an earlier one filled (decision 172). Pure.

"The fee is 12 euros now" and "The fee is 10 euros" say the same of the same thing, with another value of the same sort. For
verbatim mode, where no model says what a message makes obsolete; what is replaced is a sentence of the memory, in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from hindsight_integrations.text.designations import designations
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.statement_frames import read
from hindsight_integrations.text.stating import spoken_sentences
from hindsight_integrations.text.stems import content_stems, numbers
from hindsight_integrations.text.titles import hidden, shown

SAME = 0.5  # share of the earlier sentence's words, its value apart, that the later one has; set by hand
OTHER_WORDS = 1  # words of the earlier sentence, its value apart, that the later one may lack
FEWEST_WORDS = 2  # that both must have where they name nobody
LONGEST = 300  # characters of a sentence that is read


class ValueSort(StrEnum):
    """What sort of thing a sentence says of its subject."""

    NUMBER = "number"
    NAME = "name"
    DAY = "day"


def updates(text: str, language: Language) -> list[str]:
    """The sentences of a message that say that something is so now, and was otherwise."""
    return [
        sentence
        for sentence in spoken_sentences(text)
        if len(sentence) <= LONGEST
        and not sentence.rstrip().endswith("?")
        and language.withdrawals.updated.search(hidden(sentence)[0])
        and not language.withdrawals.unless.search(sentence)
    ]


def replaced_sentences(text: str, update: str, language: Language) -> Iterator[str]:
    """The sentences of a memory whose value the update replaces."""
    for sentence in spoken_sentences(text):
        if (
            len(sentence) <= LONGEST
            and not sentence.rstrip().endswith("?")
            and replaces(update, sentence, language)
        ):
            yield sentence


def replaces(update: str, told: str, language: Language) -> bool:
    """Whether the update says the same of the same thing as an earlier sentence, with another value of the same sort.

    Args:
        update: the later sentence.
        told: the earlier one.
        language: of both.
    """
    words = language.withdrawals
    if words.past.search(told):
        return False
    new, old = read(words.updated.sub(" ", update), language), read(told, language)
    if new.negated != old.negated or new.frames != old.frames or new.kin != old.kin:
        return False
    told_words = content_stems(words.updated.sub(" ", told), language)
    said_words = content_stems(words.updated.sub(" ", update), language)
    for sort in ValueSort:
        before, after = values(told, sort, language), values(update, sort, language)
        gone, come = before - after, after - before
        if not gone or not come:
            continue
        slot = told_words - gone
        kept = slot & said_words
        subject = kept & values(told, ValueSort.NAME, language)
        if not subject and len(kept) < FEWEST_WORDS:
            continue
        if len(kept) >= SAME * len(slot) and len(slot - kept) <= OTHER_WORDS:
            return True
    return False


def values(sentence: str, sort: ValueSort, language: Language) -> frozenset[str]:
    """Stems of the values of a sort that a sentence has."""
    bare, quoted = hidden(sentence)
    match sort:
        case ValueSort.NUMBER:
            return frozenset(numbers(shown(bare, quoted), language)) | _stems(
                language.withdrawals.numeral.findall(sentence), language
            )
        case ValueSort.DAY:
            return _stems(language.withdrawals.day.findall(sentence), language)
        case ValueSort.NAME:
            days = values(sentence, ValueSort.DAY, language)
            first = (
                sentence.split(maxsplit=1)[0].strip(",.!?").casefold()
            )  # may have its capital from the sentence
            names = [" ".join(name) for name in designations(sentence, language) if name != (first,)]
            return _stems(names, language) - days


def _stems(texts: list[str], language: Language) -> frozenset[str]:
    return frozenset(stem for text in texts for stem in content_stems(text, language))
