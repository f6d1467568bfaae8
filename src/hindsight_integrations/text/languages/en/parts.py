"""English statements of part and whole, clauses and lists."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import ListWords, PartWords

# "is a recipient of the email", "was removed from the notes": a part before, the whole after. And the other way about.
_PART_FIRST = re.compile(
    r"^(?P<part>.+?)\s(?:(?:is|are|was|were)\s(?:(?:an?|the|one of the)\s(?:[\w-]+\s){1,3}?(?:of|in|on|for|to|at)"
    r"|(?:(?:now|still|also)\s)?(?:(?:part|one)\sof|among|on|in)"
    r"|(?:removed|deleted|dropped)\sfrom|(?:added|invited|assigned)\sto|(?:listed|included|mentioned|named)\s(?:in|on|as))"
    r"|attends?|belongs?\sto)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_WHOLE_FIRST = re.compile(
    r"^(?P<whole>.+?)\s(?:(?:also|still|now)\s)?(?:includes?|contains?|mentions?|have|has)\s"
    r"(?P<part>.+)$",
    re.IGNORECASE,
)
# "Bo Chen as a recipient of the e-mail", "the key point 'travel costs' in the notes": as models name what was taken back.
_AS = re.compile(
    r"^(?P<part>.+?)\sas\s(?:an?|the|one of the)\s(?:[\w-]+\s){0,2}?(?P<noun>[\w-]+)\s(?:of|in|on|for|from)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"^(?:the\s)?(?P<noun>[\w-]+(?:\s[\w-]+){0,2})\s(?P<part>\x00\d+\x00)\s(?:of|in|on|for|from)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
# "The timeline of the proposal is 14 months": a property of the whole.
_PROPERTY = re.compile(
    r"^(?:the\s)?(?P<noun>[\w -]+?)\sof\s(?P<whole>.+?)\s(?:is|are|was|were)\s(?P<part>.+)$", re.IGNORECASE
)

_INTRODUCING = """
    about are contain contains cover covered covers discuss discussed for from has have include included includes
    including invite invited is like liked likes list listed lists love loved loves mention mentioned mentions name
    named names need needs of on to want wants was were with
"""
_OPENING = """
    after along as at because before besides by during for if in on since to until when while with
"""
_LEANING = """
    also and another but each he her his however it its she such that their then these they this those too which
"""
_ITEM_NOUNS = """
    bullet entry entries item items line point points topic topics
"""
_NUMERALS = """
    zero one two three four five six seven eight nine ten eleven twelve
"""
_LIST_WORDS = ListWords(
    conjunctions=frozenset({"and", "or"}),
    articles=frozenset({"a", "an", "the"}),
    pairing=frozenset({"between", "both", "either", "neither"}),
    every=frozenset({"all", "any", "both", "each", "entire", "every", "whole"}),
    introducing=frozenset(_INTRODUCING.split()),
    opening=frozenset(_OPENING.split()),
    leaning=frozenset(_LEANING.split()),
    item_nouns=frozenset(_ITEM_NOUNS.split()),
    numerals=tuple(_NUMERALS.split()),
)

PARTS = PartWords(
    relations=(_TITLED, _AS, _PART_FIRST, _PROPERTY, _WHOLE_FIRST),
    clause_end=re.compile(r"[;:,.!?()]\s|[;:,.!?()]$|\band\b|\bor\b"),
    list=re.compile(
        r"(?P<first>[\w'\u2019-]+)(?:, (?!and\b|or\b)[\w'\u2019 -]+?)+,? (?:and|or) [\w'\u2019 -]+"
    ),
    separator=re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+"),
    words=_LIST_WORDS,
)
