"""A text without the conjunct that a statement takes back, where it can be cut out cleanly. Pure (decision 168).

"Eva lives in Oslo and works for Norsk" without "Norsk is Eva's employer" is "Eva lives in Oslo". Unlike an item of a record
(`left_out`), a statement is worded otherwise than the text: the conjunct it means is the one that alone has its words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.part_whole import LONGEST_TEXT
from hindsight_integrations.text.side_by_side import Layout, SideBySide, Span, side_by_side
from hindsight_integrations.text.statement_frames import content_of
from hindsight_integrations.text.stems import content_stems, numbers

UNEXPLAINED = 0.5  # share of a conjunct's words that the statement may lack: it "works for" whom it calls its "employer"
NAMED = 0.75  # share of the statement's words that the sentence it means must have, and no other sentence
LONGEST_LEAN = 3  # words at the beginning of a conjunct among which one that leans stands ("how it swings")
LONGEST_SUBJECT = (
    4  # words in front of the verb of a conjunct that has a subject of its own ("the receipts are in a box")
)

_WORD = re.compile(r"[\w'\u2019-]+")
_BARE_NAME = re.compile(r"[A-Z\u00c0-\u00de][\w'\u2019-]*(?:\s+[A-Z\u00c0-\u00de][\w'\u2019-]*)*$")


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """One of several things a sentence says.

    Attributes:
        span: where it stands.
        text: of it.
        words: content stems.
        shared: those of the statement.
    """

    span: Span
    text: str
    words: frozenset[str]
    shared: frozenset[str]


def without_conjunct(text: str, statement: str, language: Language) -> str | None:
    """The text without what the statement takes back; None if it means all of it, or nothing that can be cut out cleanly.

    Args:
        text: of a memory.
        statement: what no longer holds, in whatever words.
        language: of both.
    """
    if len(text) > LONGEST_TEXT:
        return None
    content = content_of(statement, language)
    layers = side_by_side(text, language)
    found = [
        shorter
        for listed in layers
        if listed.layout is Layout.COMMAS and _is_told(listed)
        if (shorter := _without(text, listed, content, language)) is not None
    ]
    return found[0] if len(found) == 1 else None


def without_sentence(text: str, statement: str, language: Language) -> str | None:
    """The text without the one of its sentences that the statement means; None if none is, or the next one leans on it.

    Args:
        text: of a memory.
        statement: what no longer holds, in whatever words.
        language: of both.
    """
    if len(text) > LONGEST_TEXT:
        return None
    content = content_of(statement, language)
    layers = side_by_side(text, language)
    listed = [each for each in layers if each.layout is Layout.SENTENCES and _is_told(each)]
    if len(listed) != 1:
        return None
    told = [_conjunct(text, span, content, language) for span in listed[0].items]
    shares = [len(each.shared) for each in told]
    place = shares.index(max(shares)) if shares else 0
    if len(told) < 2 or shares[place] < NAMED * len(content):
        return None
    others = _others(told, [place])
    words = told[place].words
    if len(told[place].shared - others) < NAMED * len(content) or 2 * len(words & content) < len(words):
        return None
    if place + 1 < len(told):
        return (
            None
            if _leans(told[place + 1], language)
            else text[: told[place].span[0]] + text[told[place + 1].span[0] :]
        )
    return text[: told[place - 1].span[1]] + text[told[place].span[1] :]


def _is_told(listed: SideBySide) -> bool:
    """Whether something stands in the account of a memory, outside parentheses: no when or why behind a bar."""
    while listed.within is not None:
        if listed.within.layout is Layout.PARENTHESES:
            return False
        if listed.within.layout is Layout.DIMENSIONS:
            return listed.place == 0
        listed = listed.within
    return True


def _without(text: str, listed: SideBySide, content: frozenset[str], language: Language) -> str | None:
    """The text without the one of the things side by side that the content means."""
    conjuncts = [_conjunct(text, span, content, language) for span in listed.items]
    if len(conjuncts) < 2 or not _is_open(conjuncts, language):
        return None
    meant = _meant(conjuncts, content, language)
    if not meant or len(meant) == len(conjuncts) or meant != list(range(meant[0], meant[-1] + 1)):
        return None
    if meant[-1] + 1 < len(conjuncts) and _leans(conjuncts[meant[-1] + 1], language):
        return None
    rest = f"{text[: listed.items[0][0]]} {text[listed.items[-1][1] :]}"
    told = frozenset(word for n in meant for word in conjuncts[n].shared) - _others(conjuncts, meant)
    if told & content_stems(rest, language):
        return None
    return _cut(text, conjuncts, meant, language)


def _is_open(conjuncts: Sequence[_Conjunct], language: Language) -> bool:
    """Whether conjuncts are told one by one: by a verb of the first, neither as a pair nor counted ("both", "the two")."""
    first = [word.casefold() for word in _WORD.findall(conjuncts[0].text)]
    words, count = language.parts.words, len(conjuncts)
    counted = words.numerals[count : count + 1]
    return not (words.pairing | {str(count), *counted}) & set(first) and any(
        w in words.verbs for w in first[1:]
    )


def _conjunct(text: str, span: Span, content: frozenset[str], language: Language) -> _Conjunct:
    piece = text[slice(*span)]
    words = content_stems(piece, language)
    return _Conjunct(span, piece, words, words & content)


def _others(conjuncts: Sequence[_Conjunct], meant: Sequence[int]) -> frozenset[str]:
    return frozenset(word for n, each in enumerate(conjuncts) if n not in meant for word in each.words)


def _meant(conjuncts: Sequence[_Conjunct], content: frozenset[str], language: Language) -> list[int]:
    """Which of the conjuncts the statement means; none where that is not clear.

    The first one begins with the subject and perhaps the verb of all: its last word is known to be its own.
    """
    first, *others = conjuncts
    last, own = _last_words(first.text, language), _predicate(first.text, language)
    means_first = (bool(last) and last <= content) or (bool(own) and 2 * len(own & content) >= len(own))
    named = [n for n, each in enumerate(others, 1) if each.shared - first.shared or each.shared & last]
    if means_first and named and not all(_is_name(conjuncts[n], conjuncts[n - 1]) for n in named):
        return []
    meant = [0, *named] if means_first else named
    for n in list(meant):
        each = conjuncts[n]
        if n and len(each.words - content) > UNEXPLAINED * len(each.words):
            return []
        if n + 1 < len(conjuncts) and _is_name(conjuncts[n + 1], each) and n + 1 not in meant:
            meant.append(n + 1)
        if n - 1 not in meant and n > 1 and _is_name(each, conjuncts[n - 1]):
            meant.append(n - 1)
    return sorted(meant)


def _last_words(text: str, language: Language) -> frozenset[str]:
    """Content stems of the last word that has one."""
    for word in reversed(_WORD.findall(text)):
        if stems := content_stems(word, language):
            return stems
    return frozenset()


def _predicate(text: str, language: Language) -> frozenset[str]:
    """Content stems of what the first conjunct says of its subject: what is behind its verb."""
    words = _WORD.findall(text)
    place = _verb(text, language, after=1)
    return frozenset() if place is None else content_of(" ".join(words[place + 1 :]) or text, language)


def _is_name(conjunct: _Conjunct, before: _Conjunct) -> bool:
    """Whether a conjunct is the bare name of the thing in front of it ("a dog, Rex")."""
    return bool(_BARE_NAME.match(conjunct.text)) and not _BARE_NAME.search(before.text)


def _leans(conjunct: _Conjunct, language: Language) -> bool:
    """Whether what follows says something of what would be cut out."""
    words = [word.casefold() for word in _WORD.findall(conjunct.text)]
    return bool(language.parts.words.leaning & set(words[:LONGEST_LEAN]))


def _cut(text: str, conjuncts: Sequence[_Conjunct], meant: Sequence[int], language: Language) -> str | None:
    """The text without these conjuncts and one separator."""
    first, last = meant[0], meant[-1]
    begin, end = conjuncts[0].span[0], conjuncts[-1].span[1]
    gaps = [text[one.span[1] : other.span[0]] for one, other in itertools.pairwise(conjuncts)]
    if first:
        head = text[: conjuncts[first - 1].span[1]]
        if last + 1 == len(conjuncts):
            return _closed(head, conjuncts[:first], gaps, language) + text[end:]
        joint = gaps[first - 1] if last + 2 < len(conjuncts) else gaps[last]
        if first == 1 and last + 2 == len(conjuncts):
            joint = re.sub(r"^,", "", joint)
        return head + joint + text[conjuncts[last + 1].span[0] :]
    lead = _lead(conjuncts[0].text, conjuncts[last + 1].text, language)
    if lead is None:
        return None
    rest = text[conjuncts[last + 1].span[0] :]
    return text[:begin] + (lead + rest if lead else rest[:1].upper() + rest[1:])


def _closed(head: str, staying: Sequence[_Conjunct], gaps: Sequence[str], language: Language) -> str:
    """What is left of a list without its end: its last joint gets the conjunction."""
    if len(staying) < 2 or _is_name(staying[-1], staying[-2]):
        return head
    joint, conjunction = gaps[len(staying) - 2], gaps[len(staying) - 1]
    if any(word in language.parts.words.conjunctions for word in _WORD.findall(joint)):
        return head
    if len(staying) == 2:
        conjunction = re.sub(r"^,", "", conjunction)
    return head[: staying[-2].span[1]] + conjunction + head[staying[-1].span[0] :]


def _verb(text: str, language: Language, after: int = 0) -> int | None:
    """Which word of a conjunct is its verb, from one on."""
    verbs = language.parts.words.verbs
    found = (n for n, word in enumerate(_WORD.findall(text)) if n >= after and word.casefold() in verbs)
    return next(found, None)


def _lead(first: str, following: str, language: Language) -> str | None:
    """What of the first conjunct stays in front of the next one: the subject, and the verb where the next has none.

    Nothing where the next has a subject of its own, and None where that cannot be told.
    """
    words = list(_WORD.finditer(first))
    place, own = _verb(first, language, after=1), _verb(following, language)
    if place is None:
        return None
    if own == 0 and len(_WORD.findall(following)) > 1:
        return first[: words[place].start()]
    if own is not None and 0 < own <= LONGEST_SUBJECT:
        return ""
    small = language.parts.words.articles | language.parts.words.introducing
    after = place + 1
    while after < len(words) and words[after][0].casefold() in small - language.parts.words.articles:
        after += 1
    item = first[words[after].start() :] if after < len(words) else ""
    if not item or len(content_stems(item, language)) > 1 or numbers(following, language):
        return None
    return first[: words[after].start()]
