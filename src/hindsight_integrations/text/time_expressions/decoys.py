"""Phrases that look like a time and are none, for what stands around them: habits, names, titles."""

from __future__ import annotations

import re

from hindsight_integrations.text.time_expressions.grammar import Direction, Reading, Scope
from hindsight_integrations.text.time_expressions.patterns import any_of, regex, word
from hindsight_integrations.text.time_expressions.words import Decoys, Words

_LOOK_BACK, _LOOK_AHEAD = 60, 40  # characters
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s*)[\"'(\u00bf\u00a1]*$")
_ONE_CAPITAL = re.compile(r"[A-Z][a-z]+")
_WORD = re.compile(r"[^\W\d_]+")


def is_decoy(reading: Reading, scope: Scope, sentence: str) -> bool:
    """Whether the words around a phrase make it a habit, a name, a title or a thing."""
    decoys, text = scope.words.decoys, scope.text
    before = text[max(0, reading.start - _LOOK_BACK) : reading.start]
    phrase, after = text[reading.start : reading.end], text[reading.end : reading.end + _LOOK_AHEAD]
    if (
        regex(decoys.before).search(before)
        or regex(decoys.around).search(f"{before}\0{phrase}")
        or regex(decoys.after).match(after)
        or _is_titled(phrase, before, decoys)
        or _is_work(phrase, before, after, decoys)
        or _belongs_to_someone(phrase, before, scope.words)
        or (reading.span and reading.span.floating and regex(decoys.habits).search(sentence))
        or _is_yearly(reading, phrase, sentence, scope)
        or _is_habit(phrase, before, after, scope.words)
        or _is_weekly(phrase, sentence, scope)
    ):
        return True
    article = regex(decoys.article).match(phrase)
    bare = phrase[article.end() :] if article else phrase
    return _is_bare(bare, scope.words) and _is_thing(bare, before, after, decoys)


def _is_titled(phrase: str, before: str, decoys: Decoys) -> bool:
    """As in "Who stars in 2001", "The Day After Tomorrow"."""
    plain = regex(decoys.plain_end).search(phrase)  # "Who wrote Monday's report, the 2014 paper?"
    if _is_capital(phrase, decoys) and not plain and regex(decoys.title_before).search(before):
        return True
    inside = regex(decoys.title_words, exact=True).search(phrase)
    return inside is not None and not _SENTENCE_START.search(before + phrase[: inside.start()])


def _is_work(phrase: str, before: str, after: str, decoys: Decoys) -> bool:
    """As in "The Tonight Show", "Is Last Christmas by Wham?", "my copy of 1984", "Did we see Wonder Woman 1984?"."""
    shown = regex(decoys.show_before, exact=True).search(before)
    if shown and _ONE_CAPITAL.fullmatch(phrase) and _goes_on(after, decoys):
        return True
    if _is_capital(phrase, decoys) and regex(decoys.title_after).search(f"{before}\0{after}"):
        return True
    if regex(decoys.of_figures).fullmatch(phrase):
        return regex(decoys.copies).search(before) is not None
    return phrase.isdigit() and regex(decoys.numbered_titles, exact=True).search(before) is not None


def _belongs_to_someone(phrase: str, before: str, words: Words) -> bool:
    """As in "In her early 40s" is an age, "in my last year" is no year of the calendar."""
    if regex(words.decoys.decade).search(phrase) and regex(words.decoys.before_decade).search(before):
        return True
    which = regex(rf"(?:{any_of(words.which)})\b").match(phrase)
    return which is not None and regex(words.decoys.before_which).search(before) is not None


def _is_bare(phrase: str, words: Words) -> bool:
    plain = word(phrase)
    tables = (words.months, words.weekdays, words.seasons, words.holidays, words.near)
    return any(plain in table for table in tables) or plain.isdigit()


def _is_habit(phrase: str, before: str, after: str, words: Words) -> bool:
    """As in "My Sunday rides"."""
    owned = word(phrase) in words.weekdays and regex(words.decoys.owner_before).search(before)
    return bool(owned and regex(words.decoys.plural_after).match(after))


def _is_yearly(reading: Reading, phrase: str, sentence: str, scope: Scope) -> bool:
    """As in "¿Adónde voy en verano?": the present tense tells what is done every summer."""
    if reading.span is None or not reading.span.floating or scope.direction is Direction.FUTURE:
        return False
    words = scope.words
    if regex(words.asks_back).search(scope.spelled) or not regex(words.decoys.yearly_habits).search(sentence):
        return False
    plain = phrase.lower()
    return not any(map(str.isdigit, plain)) and not any(
        name in words.weekdays for name in _WORD.findall(plain)
    )


def _is_weekly(phrase: str, sentence: str, scope: Scope) -> bool:
    """As in "open Monday to Friday": two weekdays in a sentence about what always holds."""
    words = scope.words
    names = [name for name in _WORD.findall(phrase.lower()) if name in words.weekdays]
    if len(names) <= 1 or regex(words.asks_back).search(scope.spelled):
        return False
    return regex(words.decoys.range_habits).search(sentence) is not None


def _is_thing(phrase: str, before: str, after: str, decoys: Decoys) -> bool:
    """Whether a bare name of a time is a person's, an animal's, a work's, or a kind of thing."""
    around = ((decoys.before_bare, before), (decoys.things_before, before))
    if any(regex(pattern).search(text) for pattern, text in around):
        return True
    if any(regex(pattern).search(after) for pattern in (decoys.after_bare, decoys.things_after)):
        return True
    named = _is_named(before, decoys) and not regex(decoys.named_people, exact=True).search(before)
    return phrase[0].isupper() and (named or _goes_on(after, decoys))


def _goes_on(after: str, decoys: Decoys) -> bool:
    return regex(decoys.name_after, exact=True).match(after) is not None


def _is_capital(phrase: str, decoys: Decoys) -> bool:
    return regex(decoys.capital, exact=True).match(phrase) is not None


def _is_named(before: str, decoys: Decoys) -> bool:
    """As in "Ruby Tuesday", "Crusoe and Friday": a name goes before, other than the first word of a sentence."""
    name = regex(decoys.name_before, exact=True).search(before)
    return name is not None and not _SENTENCE_START.search(before[: name.start()])
