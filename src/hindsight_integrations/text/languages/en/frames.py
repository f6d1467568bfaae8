"""English grammar around what a statement is about: "as an open task", "the user's liking for", "no longer"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import FrameWords

_OPEN = r"(?:open|outstanding|pending|remaining|unfinished|unresolved|uncompleted|active|tracked|listed|due)"
_SORT = r"(?:personal|private|work|household|home|family)"
_VERY = r"(?:(?:really|very|so|quite|totally|absolutely|always|currently|also|most|pretty|such|particularly|especially|just) )*"
_BE = r"(?:is|are|was|were|be|been|being|am|'m|'s)"
_LIST = r"(?:to-?do|task|work task)s?"

_TO_DO = (
    rf"\b(?:(?:one of|among|an?|the|{_OPEN}|{_SORT}) )*(?:to-?dos?|tasks?|chores?|errands?|reminders?)\b(?:[ -](?:lists?|items?|entr(?:y|ies)))*",
    rf"\b{_OPEN} (?:items?|points?|entr(?:y|ies)|things?|matters?|issues?)\b",
    r"\b(?:items?|entr(?:y|ies)|points?|something) (?:on|in|from) (?=.*\blist\b)",
    rf"\b(?:on|in|from) (?:the |my |our |their |his |her )?(?:users?'s? )?(?:{_LIST} )?list\b(?! (?:for|of))",
    r"\b(?:still )?(?:needs?|has|have|had|having|ought) (?:still )?to\b(?: remember to\b)?(?: be (?:done|completed|finished|made)\b)?",
    r"\bmust(?: still)?\b(?! not)",
    r"\b(?:needs?|needing|requires?|requirement|obligation|duty|commitment)\b(?: (?:to|for|of)\b)?",
    r"\b(?:still )?(?:yet )?to be (?:done|completed|finished|made)\b",
    r"\bstill to be\b",
    r"\bstill (?:(?:open|pending|outstanding|due|undone|ahead|waiting)\b|to come\b)",
    r"\b(?:still )?not (?:yet )?(?:having (?:yet )?been|being)\b(?: (?:done|completed|finished|made)\b)?(?: yet\b)?",
    r"\bwaiting to be\b",
    r"\bnot yet (?:done|completed|finished|made)\b|\bnot yet\b",
    r"\b(?:wants?|(?:plans?|planning|intends?|intending|wants?|wanting|wishes|aims?|means|hopes?|hoping) (?:still )?to)\b",
    r"\b(?:plan|intention|intent|wish|aim|idea|promise) (?:to|of|for)\b",
    r"\b(?:wish|intention)\b",
)
_DISLIKED = (
    r"\bdislik(?:es?|ed|ing)\b(?: (?:of|for)\b)?",
    r"\bhat(?:es?|ed|ing|red)\b(?: (?:of|for)\b)?",
    r"\b(?:detest|loathe|despise|avoid)(?:s|ed|ing)?\b",
    r"\b(?:aversion|objections?|opposition|resistance) to\b|\bdistaste for\b",
    r"\brefus(?:es?|ed|ing|al)\b(?: to\b)?",
    r"\b(?:can't|cannot|can not|couldn't|could not) (?:stand|bear)\b",
    (
        r"\b(?:(?:does|do|did|is|are|was|has|have)(?:n't| not)|no longer|never|not) (?:(?:really|very|so|quite|a|any|much|particularly|that|all) )*"
        r"(?:likes?|loves?|enjoys?|prefers?|wants?(?: to)?|into|fond of|(?:big )?fan of|interested in|keen on|cares? for)\b"
    ),
    r"\b(?:has|have|had|of) no (?:interest in|liking for|taste for|love for)\b",
    r"\b(?:disinterest|lack of interest) in\b",
)
_LIKED = (
    r"(?:(?<=^)|(?<=: )|\b(?:i|you|we|they|users?|to|really|always|not|also) )like\b",
    rf"\b{_VERY}(?:likes|liked|liking|loves?|loved|enjoys?|enjoyed|enjoying|adores?|adored|prefers?|preferred|favou?rs?)\b(?: most\b)?",
    (
        r"\b(?:liking|fondness|preferences?|taste|enthusiasm|passion|affection|appreciation|enjoyment|interest|weakness|penchant|admiration)"
        r"\b(?: (?:for|of|in|as)\b)?"
    ),
    r"\blove (?:for|of)\b",
    r"\b(?:dream(?:s|ed|t|ing)? of|drawn to|gravitat(?:es?|ed|ing) (?:to|towards?))\b",
    r"\b(?:as (?:an? )?(?:\w+ )?|the )(?:artist|author|band|musician|writer|director|genre|topic|theme|sport|hobby|activity|food|drink)s?\b",
    rf"\b(?:{_BE} )?(?:fond|(?:(?:a |an |big |huge|great|longtime) ?)*(?:fan|lover|admirer)s?) of\b",
    rf"\b{_BE} {_VERY}(?:into|keen on|interested in|drawn (?:more )?to)\b",
    r"\b(?:one of )?(?:the )?(?:user's |users' )?(?:favou?rites?|interests|hobbies|likes|pastimes?)\b",
)


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_KIN_WORDS = {
    "mother": "mum|mom|mummy|mommy|mama",
    "father": "dad|daddy|papa",
    "grandmother": "grandma|granny|gran|nana",
    "grandfather": "grandpa|granddad|grandad",
    "child": "kid|kids|children",
    "colleague": "co-?workers?|workmates?|colleagues",
    "flatmate": "roommates?|housemates?|flatmates",
    "spouse": "wife|husband",
}

FRAMES = FrameWords(
    frames=(_any(_DISLIKED), _any(_TO_DO), _any(_LIKED)),
    fillers=re.compile(
        r"\b(?:the )?users?(?:'s?)?(?![\w:])|\b(?:by|of) (?:the )?user\b|\b(?:still|as|being|part of|currently|previous(?:ly)?|earlier|former(?:ly)?"
        r"|prior|original(?:ly)?|that held before|the fact|(?:the )?idea of|visiting|travell?ing to|going to see|something|someone|(?:the )?role)\b",
        re.IGNORECASE,
    ),
    negation=re.compile(
        r"\b(?:not|never|no longer|nobody|cannot|without|lacks?|lacking|absent|missing|unable|prohibited|forbidden|banned|stopped|cancell?ed|quit|(?:gave|given|giving) up(?! (?:at|in|on|after)\b)|ended)\b(?! forget)"
        r"|n't\b(?! forget)|\b\w+-free\b",
        re.IGNORECASE,
    ),
    kin_words={word: re.compile(rf"\b(?:{others})\b", re.IGNORECASE) for word, others in _KIN_WORDS.items()},
    history=re.compile(r"\bused to\b", re.IGNORECASE),
    dependent=re.compile(
        r"^\W*(?:which|who|whose|whom|where|because|since|as|so|so that|although|though|(?:speaking|talking) of|by the way|on that note"
        r"|anyway|oh|well|yes|yeah|yep|sure|thanks|thank you|hi|hey|hello|that's)\b",
        re.IGNORECASE,
    ),
)
