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
    also and another but each he her his however it its she such that their then these they this those too which who whose
"""
_ITEM_NOUNS = """
    bullet entry entries item items line point points topic topics
"""
_VERBS = """
    can't cannot doesn't don't
    am are arrive arrived arrives ate attend attended attends bake baked bakes be began begin begins believe
    believed believes belong belonged belongs book booked books bought bred breed breeds bring brings brought
    buy buys call called calls came can carried carries carry chaired chairs charge charged charges close
    closed closes coach coached coaches collect collected collects come comes contain contained contains cook
    cooked cooks cost costs could cover covered covers dance danced dances deliver delivered delivers did
    dislike disliked dislikes do does drank draw draws drew drink drinks drive drives drove earn earned earns
    eat eats end ended ends enjoy enjoyed enjoys feel feels felt fit fits fitted flew flies fly follow
    followed follows gave get gets give gives go goes got grew grow grows had hang hangs has hate hated hates
    have heads held hold holds hope hoped hopes host hosted hosts hung include included includes is keep keeps
    kept knew know knows last lasted lasts lay lead leads learn learned learns leave leaves led left lie lies
    like liked likes listen listened listens live lived lives love loved loves made make makes manage managed
    manages may measure measured measures meet meets mentored mentors met might move moved moves must need
    needed needs offer offered offers open opened opens own owned owns paid paint painted paints pay pays plan
    planned plans play played plays practice practiced practices practise practised practises prefer preferred
    prefers raise raised raises ran read reads receive received receives rent rented rents ride rides rode run
    runs sang sat save saved saves saw see sees sell sells send sends sent serve served serves shall share
    shared shares should sing sings sit sits sleep sleeps slept sold speak speaks spoke stand stands start
    started starts stay stayed stays stood store stored stores studied studies study suffer suffered suffers
    supplied supplies supply support supported supports swam swim swims take takes taught teach teaches think
    thinks thought took train trained trains travel traveled travelled travels use used uses visit visited
    visits volunteer volunteered volunteers walk walked walks want wanted wants was watch watched watches wear
    wears weigh weighed weighs went were will wore work worked works would write writes wrote
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
    verbs=frozenset(_VERBS.split()),
)

PARTS = PartWords(
    relations=(_TITLED, _AS, _PART_FIRST, _PROPERTY, _WHOLE_FIRST),
    clause_end=re.compile(r"[;:,.!?()]\s|[;:,.!?()]$|\band\b|\bor\b"),
    separator=re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+"),
    negation=re.compile(
        r"\b(?:don't|do not|doesn't|does not|isn't|aren't|not|no longer|really|actually)\b\s*", re.IGNORECASE
    ),
    words=_LIST_WORDS,
)
