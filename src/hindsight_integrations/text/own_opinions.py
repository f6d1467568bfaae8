"""Whether a text states an opinion of its speaker's, with a reason (paper section A.2; decision 132). Pure.

What stands in quotes is somebody else's.
"""

from __future__ import annotations

import re

from hindsight_integrations.text.grammatical_person import unquoted
from hindsight_integrations.text.language import Language

LEAST_REASON = 3  # words of a clause that gives a reason without a word that says so

_SET_OFF = re.compile(r"(?:[:;]|\s[\u2013\u2014-]|\u2014)\s+|(?<=[^\W\d_]{2}[.!])\s+")
_WORD = re.compile(r"[^\W\d_]+")


def is_held(text: str, language: Language) -> bool:
    """Whether the speaker says that they hold something to be so: "I think ...", "In my view ..."."""
    return language.opinions.held.search(unquoted(text)) is not None


def has_reason(text: str, language: Language) -> bool:
    """Whether it says why: by a word for it ("because"), or in a clause of its own behind a colon, a dash or a full stop."""
    plain = unquoted(text)
    if language.opinions.reason.search(plain):
        return True
    clauses = [clause for clause in _SET_OFF.split(plain) if clause.strip()]
    return any(
        len(_WORD.findall(clause)) >= LEAST_REASON and not language.opinions.held.search(clause)
        for clause in clauses[1:]
    )


def declines(text: str, language: Language) -> bool:
    """Whether it says that too little is known to have an opinion."""
    return language.opinions.ignorance.search(unquoted(text)) is not None
