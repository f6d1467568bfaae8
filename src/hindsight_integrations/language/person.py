"""Grammatical person: detecting the first and second person, and rewriting a text in the first (paper section 5.6).

Quoted speech, "US" and pronouns inside names ("the film Despicable Me") are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.language.language import Language, Person
from hindsight_integrations.language.names import CAPITAL, begins_sentence, is_shouted

LONGEST_TEXT = 10_000  # maximum number of characters that are analysed, to limit the run time

_QUOTED = re.compile(
    r"\"[^\"]{1,2000}\"|[\u201c\u201e][^\u201c\u201d\u201e]{1,2000}[\u201c\u201d]|\u00ab[^\u00ab\u00bb]{1,2000}\u00bb"
    r"|\u00bb[^\u00ab\u00bb]{1,2000}\u00ab|(?<!\w)['\u2018](?=\S)[^'\u2018\u2019]{1,2000}(?<=\S)['\u2019](?!\w)"
)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S*@\S+|\w[\w'\u2019]*(?:[/&-][\w'\u2019]+)+|\b\w+(?:\.\w+)+")
_ACRONYM = re.compile(rf"(?<!\w){CAPITAL}{{2,}}(?!\w)")
_CAPITALISED = re.compile(rf"(?<!\w){CAPITAL}[^\W\d_]+(?![\w'\u2019])")
_AFTER_NAME = re.compile(rf"{CAPITAL}[^\W\d_]*['\u2019s]* $")
_BEFORE_NAME = re.compile(rf" ({CAPITAL}[^\W\d_]+)(?: ({CAPITAL}[^\W\d_]+))?")
_MARK = re.compile("\x00(\\d+)\x00")


def persons(text: str, language: Language) -> frozenset[Person]:
    """Return the grammatical persons used in a text.

    Args:
        text: one or more sentences.
        language: the text's language.

    Returns:
        FIRST, SECOND or both; empty for a text of more than 10,000 characters.
    """
    if len(text) > LONGEST_TEXT:
        return frozenset()
    plain, _ = _masked(text, language)
    return frozenset(person for person, words in language.person.words.items() if words.search(plain))


def first_person(text: str, language: Language) -> str:
    """Rewrite a text from the second to the first person: "You were born in Texas" becomes "I was born in Texas".

    Args:
        text: one or more sentences; a text of more than 10,000 characters is returned unchanged.
        language: the text's language.
    """
    if len(text) > LONGEST_TEXT:
        return text
    plain, kept = _masked(text, language)
    return _restored(language.person.from_second(plain), kept)


def cased(word: str, like: str) -> str:
    """Capitalise a word like another one; "I" stays capitalised."""
    return word[0].upper() + word[1:] if like[:1].isupper() else word


def unquoted(text: str) -> str:
    """Replace each quotation in a text by an ellipsis."""
    return _QUOTED.sub("\u2026", text[:LONGEST_TEXT])


def _masked(text: str, language: Language) -> tuple[str, list[str]]:
    """Replace the parts of a text that do not determine the person by marks; return the text and the replaced parts."""
    kept: list[str] = []
    pronouns = tuple(language.person.words.values())

    def keep(match: re.Match[str]) -> str:
        kept.append(_restored(match[0], kept))  # an address may contain a quotation
        return f"\x00{len(kept) - 1}\x00"

    def keep_pronoun(match: re.Match[str]) -> str:
        word = match[0] if match.re is not _ACRONYM else match[0].casefold()
        return keep(match) if any(words.search(word) for words in pronouns) else match[0]

    plain = _QUOTED.sub(keep, text.replace("\x00", " "))
    plain = language.person.no_person.sub(keep, plain)
    plain = _ADDRESS.sub(keep_pronoun, plain)
    if not is_shouted(plain):
        plain = _ACRONYM.sub(keep_pronoun, plain)
    if language.names.nouns is None:  # useless in languages that capitalise all nouns

        def keep_name(match: re.Match[str]) -> str:
            return keep_pronoun(match) if _in_name(match, language) else match[0]

        plain = _CAPITALISED.sub(keep_name, plain)
    return plain, kept


def _restored(text: str, kept: Sequence[str]) -> str:
    """Replace the marks in a text by the parts that they stand for."""
    return _MARK.sub(lambda match: kept[int(match[1])], text)


def _in_name(match: re.Match[str], language: Language) -> bool:
    """Return whether a capitalised word belongs to a name, judging by its neighbours."""
    text = match.string
    following = _BEFORE_NAME.match(text, match.end())
    names = [word for word in (following.groups() if following else ()) if word]
    if begins_sentence(text, match, language.names):
        return len(names) == 2 and not any(word.casefold() in language.names.no_names for word in names)
    return bool(names) or _AFTER_NAME.search(text[max(0, match.start() - 40) : match.start()]) is not None
