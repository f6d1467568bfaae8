"""A text without one of the items it lists, where the item can be cut out cleanly. Pure (decision 116)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.text.item_places import (
    ItemPlace,
    Likeness,
    Wanted,
    in_parentheses,
    item_places,
    likeness,
    overlap,
)
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.side_by_side import Layout, SideBySide, side_by_side, without_marker
from hindsight_integrations.text.stems import content_stems

LONGEST_LABEL = 4  # words of a label that goes with its only item ("Recipients: ..."); longer ones tell more
LONGEST_OPENING = (
    4  # words of items that open a sentence ("Soup, fish and cake are served"); longer ones are clauses
)

_WORD = re.compile(r"\w+")


def left_out(text: str, wanted: Wanted) -> str | None:
    """The text without the item; None where it lists no such item, or lists it so that it cannot be cut out cleanly.

    An item told again beyond the first bar (when, why) is cut out there, too. Whatever else the text says stays as it
    is, but for the separators around the item and a capital at the beginning of a sentence.
    """
    layers = side_by_side(text, wanted.language)
    places = item_places(text, layers, wanted)
    chosen = _the_one([place for place in places if _dimension(place.listed) == 0], text, wanted)
    if chosen is None or _is_disputed(chosen, text, layers, wanted):
        return None
    shorter = _without(text, chosen, wanted.language)
    if shorter is None:
        return None
    left = _places(shorter, wanted)
    if len(left) >= len(places):
        return None
    again = [place for place in left if _dimension(place.listed) > 0]
    if not again:
        return shorter
    once_more = _without(shorter, again[0], wanted.language)
    return once_more if once_more is not None and len(_places(once_more, wanted)) < len(left) else None


def all_left_out(text: str, items: Sequence[Sequence[Wanted]]) -> tuple[str, list[bool]]:
    """The text without as many of several items as can be cut out, and which of them it no longer lists.

    Args:
        text: any.
        items: each with the ways it may be worded, the likeliest first.
    """
    rest, gone = text, []
    for ways in items:
        shorter = next(filter(None, (left_out(rest, way) for way in ways)), None)
        # What one statement took back a second one may name as well.
        gone.append(shorter is not None or any(_places(text, way) and not _places(rest, way) for way in ways))
        rest = shorter or rest
    return rest, gone


def _places(text: str, wanted: Wanted) -> list[ItemPlace]:
    return item_places(text, side_by_side(text, wanted.language), wanted)


def _the_one(places: Sequence[ItemPlace], text: str, wanted: Wanted) -> ItemPlace | None:
    """The place that is meant: the only one of the most alike, or the only one under a label of its field."""
    best = [place for place in places if place.likeness == max(p.likeness for p in places)]
    if len(best) > 1:
        field = content_stems(wanted.field, wanted.language)
        best = [place for place in best if field & content_stems(_label(place, text), wanted.language)]
    return best[0] if len(best) == 1 else None


def _label(place: ItemPlace, text: str) -> str:
    """The words that say what the items at a place are."""
    listed: SideBySide | None = place.listed
    while listed is not None:
        if listed.label is not None:
            return text[slice(*listed.label)]
        if listed.layout is Layout.COMMAS and len(listed.items) > 1 and not in_parentheses(listed):
            return text[slice(*listed.items[0])]
        listed = listed.within
    return ""


def _is_disputed(place: ItemPlace, text: str, layers: Sequence[SideBySide], wanted: Wanted) -> bool:
    """Whether an item that stays is called so as well, or is in part or wholly what would be cut out."""
    item = text[slice(*place.span)]
    stems = content_stems(item, wanted.language)
    for other in wanted.others:
        if not stems & content_stems(other, wanted.language):
            continue
        if likeness(item, other, wanted.language) >= place.likeness:
            return True
        stays = item_places(text, layers, replace(wanted, text=other, others=()))
        if any(overlap(place.span, there.span) and there.span != place.span for there in stays):
            return True
    return False


def _dimension(listed: SideBySide) -> int:
    """Which dimension of a fact something stands in; 0 for parentheses, wherever they are."""
    while listed.within is not None:
        if listed.within.layout is Layout.DIMENSIONS:
            return listed.place
        listed = listed.within
    return 0


def _without(text: str, place: ItemPlace, language: Language) -> str | None:
    """The text without what stands at a place; None if what is left would read wrongly."""
    listed, first = place.listed, place.first
    if not place.introduced and place.last - first + 1 == len(listed.items):
        return _without_all(text, listed, language)
    if listed.layout is Layout.DIMENSIONS:
        end = listed.items[first][1]
        return text[: listed.items[first - 1][1]] + text[end:] if first else None
    if listed.layout is Layout.LINES:
        return _without_line(text, listed, first)
    if listed.layout is Layout.SENTENCES:
        return _without_sentence(text, listed, first, language)
    if _is_counted(text, place, language) or not _is_plain_list(text, place, language):
        return None
    return _without_item(text, place, language)


def _without_all(text: str, listed: SideBySide, language: Language) -> str | None:
    """The text without all that stands somewhere: what it stands in goes, with a short label."""
    if listed.layout is Layout.PARENTHESES:
        start, end = listed.items[0]
        return text[:start].rstrip(" ") + text[end:]
    if listed.within is None or (
        listed.label is not None and len(_WORD.findall(text[slice(*listed.label)])) > LONGEST_LABEL
    ):
        return None
    start = listed.within.items[listed.place][0]
    return _without(
        text, ItemPlace(listed.within, listed.place, listed.place, start, Likeness.VERBATIM), language
    )


def _without_line(text: str, listed: SideBySide, number: int) -> str | None:
    """The text without a line; lines beneath it, or a heading above it, would hang in the air."""
    start, end = listed.items[number]
    heading = number > 0 and text[slice(*listed.items[number - 1])].endswith(":")
    after = listed.items[number + 1] if number + 1 < len(listed.items) else None
    if after and _indent(text, after[0]) > _indent(text, start):
        return None
    marked = after is not None and without_marker(text[slice(*after)]) != text[slice(*after)]
    if heading and not marked:
        return None
    if after:
        return text[:start] + text[after[0] :]
    return text[: listed.items[number - 1][1]] + text[end:]


def _indent(text: str, start: int) -> int:
    return start - (text.rfind("\n", 0, start) + 1)


def _without_sentence(text: str, listed: SideBySide, number: int, language: Language) -> str | None:
    """The text without a sentence, unless the next one leans on it."""
    start, end = listed.items[number]
    if number + 1 == len(listed.items):
        return text[: listed.items[number - 1][1]] + text[end:]
    following = listed.items[number + 1][0]
    word = _WORD.search(text, following)
    leans = word is not None and word[0].casefold() in language.parts.words.leaning
    return None if leans else text[:start] + text[following:]


def _is_plain_list(text: str, place: ItemPlace, language: Language) -> bool:
    """Whether what stands between commas is a list whose items can be parted; between semicolons it is."""
    listed, words = place.listed, language.parts.words
    if listed.layout is not Layout.COMMAS:
        return True
    before = {word.casefold() for word in _WORD.findall(text[listed.items[0][0] : place.start])}
    if before & words.pairing:
        return False
    if listed.label is not None or in_parentheses(listed):
        return True
    if place.likeness is Likeness.NEARLY:
        return False
    if place.first == 0 and not place.introduced and _has_long_item(text, listed):
        return False
    closed = bool(_conjunction(_gap(text, listed, len(listed.items) - 2), language))
    staying = len(listed.items) - (place.last - place.first + 1)
    return closed and (place.first > 0 or place.introduced or staying > 1)


def _has_long_item(text: str, listed: SideBySide) -> bool:
    """Whether what opens a sentence may be a clause with its subject, which the pieces behind it stand on."""
    return any(len(_WORD.findall(text[slice(*item)])) > LONGEST_OPENING for item in listed.items[:-1])


def _is_counted(text: str, place: ItemPlace, language: Language) -> bool:
    """Whether the words in front of a list say how many items it has ("three recipients: ...")."""
    listed = place.listed
    count = len(listed.items)
    begin = listed.label[0] if listed.label else listed.items[0][0]
    before = text[begin : listed.items[0][0] if listed.label else place.start]
    numerals = language.parts.words.numerals
    said = {word.casefold() for word in _WORD.findall(before)}
    return str(count) in said or (count < len(numerals) and numerals[count] in said)


def _gap(text: str, listed: SideBySide, number: int) -> str:
    """What stands between an item and the next one."""
    return text[listed.items[number][1] : listed.items[number + 1][0]]


def _conjunction(gap: str, language: Language) -> str:
    """The conjunction in a gap, empty if there is none."""
    return next((w for w in _WORD.findall(gap) if w.casefold() in language.parts.words.conjunctions), "")


def _without_item(text: str, place: ItemPlace, language: Language) -> str:
    """The text without an item and one separator: "A, B and C" without B is "A and C", without C "A and B"."""
    items, first, last = place.listed.items, place.first, place.last
    gaps = [_gap(text, place.listed, number) for number in range(len(items) - 1)]
    numbers_staying = [*range(first), *range(last + 1, len(items))]
    staying = [text[slice(*items[number])] for number in numbers_staying]
    joints = [gaps[number - 1] for number in numbers_staying[1:]]
    if last + 1 == len(items) and joints and _conjunction(gaps[first - 1], language):
        joints[-1] = gaps[first - 1]
    if len(joints) == 1 and len(items) > 2:
        joints[0] = _without_comma(joints[0], staying, language)
    start = place.start if place.introduced else items[0][0]
    if first == 0 and not place.introduced and place.listed.label is None:
        staying[0] = _capital_as(text[start], staying[0])
    joints = [_spelled(joint, after, language) for joint, after in zip(joints, staying[1:], strict=True)]
    joined = staying[0] + "".join(gap + item for gap, item in zip(joints, staying[1:], strict=True))
    return text[:start] + joined + text[items[-1][1] :]


def _without_comma(gap: str, items: Sequence[str], language: Language) -> str:
    """The gap between two items: " and" for ", and", unless they have commas or conjunctions themselves."""
    inner = any("," in item or _conjunction(item, language) for item in items)
    return gap if inner or not _conjunction(gap, language) else re.sub(r"^,", "", gap)


def _spelled(gap: str, following: str, language: Language) -> str:
    """A gap whose conjunction goes with the word behind it."""
    conjunction = _conjunction(gap, language)
    if not conjunction:
        return gap
    return gap.replace(conjunction, language.parts.words.before(conjunction, following), 1)


def _capital_as(letter: str, item: str) -> str:
    """An item that opens what another opened, with a capital if that had one."""
    return item[:1].upper() + item[1:] if letter.isupper() else item
