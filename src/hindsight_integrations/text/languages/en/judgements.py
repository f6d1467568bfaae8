"""English words of opinions and guesses."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import JudgementWords

_VERDICTS = """
    admirable amazing awesome awful bad beautiful best better boring brilliant careless charming clever compassionate considerate
    courageous decent delightful dependable dull excellent exceptional extraordinary fabulous fantastic fascinating gifted good
    hardworking horrible impressive incredible inspiring inspirational insightful interesting kind-hearted lazy lovely loving loyal
    magnificent marvellous marvelous mediocre nice outstanding passionate perfect reliable remarkable resilient selfish skilled
    skilful skillful smart stunning stupid superb supportive talented terrible terrific thoughtful trustworthy ugly unreliable
    useless valuable warm-hearted wise wonderful worst worthless
"""
_NOT_ALWAYS = r"caring(?! for)|fine(?! arts?\b)|great(?!-| (?:aunt|uncle)s?\b)|kind(?! of\b)"


def _any(words: str) -> str:
    return "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))


JUDGEMENTS = JudgementWords(
    # A capital marks the month of May; who "appears in" or "suggests" something did so.
    assumption=re.compile(
        r"\b(?i:probably|presumably|perhaps|maybe|possibly|supposedly|apparently|seemingly|evidently|arguably|doubtless)\b"
        r"|\b(?i:likely|unlikely)\b(?! (?:stor(?:y|ies)|candidates?)\b)"
        r"|\b(?i:seem(?:s|ed|ing)?|appears? to|appeared to|appears? as if)\b"
        r"|\b(?:may|might)(?: (?:not|well|also|have|be))?(?= [a-z])|\b(?i:could (?:well )?be|must (?:be|have been)(?= (?:an?|the|so|very|quite)\b))"
        r"|\b(?i:(?:which|this|that|it) (?:suggest|indicate|implie|reveal|demonstrate|underscore|highlight|reflect)s)\b"
        r"|, (?i:suggesting|indicating|implying|demonstrating|underscoring|highlighting|reflecting|revealing)\b"
        r"|\b(?i:one (?:can|may|could) (?:assume|suppose|infer)|it can be (?:assumed|inferred))\b"
    ),
    own=re.compile(
        r"\b(?:I|we) (?:\w+ly )?(?:think|believe|feel|guess|suppose|assume|suspect|find|would say|reckon|imagine)\b"
        r"|\b(?:in|to) (?:my|our) (?:opinion|view|mind|eyes|impression|knowledge)\b|\bif you ask me\b",
        re.IGNORECASE,
    ),
    verdict=re.compile(rf"(?<![\w-])(?:{_NOT_ALWAYS}|{_any(_VERDICTS)})(?![\w-])", re.IGNORECASE),
)
