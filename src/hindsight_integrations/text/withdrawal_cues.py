"""Cues of withdrawal in plain messages: what "no longer", "cancelled" or "moved to" take back, as statements. Pure.

For verbatim mode, where no model says what a message makes obsolete. A statement is the sentence without its cue, so
that it resembles what was said before; whether anything matches is for retraction to decide, with a stricter bar.
"""

from __future__ import annotations

import re

from hindsight_integrations.text.wording import content_stems

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE_END = r"(?=,|;|\.|!|\?|\bso\b|\bbut\b|\bbecause\b|\band\b|$)"
_SHORTEST = 2  # words of a statement that can mean one thing


def _cue(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Each cue's `gone` group is what is taken back.
CUES = (
    _cue(
        rf"\bused to (?P<gone>(?:really |actually |absolutely )?(?:like|love|enjoy|dislike|hate|be|want|need|have|use|work|live|play|drink|eat)\b.+?){_CLAUSE_END}"
    ),
    _cue(
        rf"\b(?:i|we)(?:'ve| have)? (?:just |actually |finally |already )*(?:finished|completed|done with|wrapped up|got done with)\s+(?P<gone>.+?){_CLAUSE_END}"
    ),
    _cue(
        rf"\b(?:i|we)(?:'ve| have)? (?:just |finally |already )+(?P<gone>(?:fixed|booked|bought|completed|finished|did|set up|sent|paid|configured|submitted|scheduled|optimi[sz]ed|refactored|cleaned)\b.+?){_CLAUSE_END}"
    ),
    _cue(rf"\b(?:remove|cross|delete|drop)\s+(?P<gone>.+?)\s+(?:from|off)\s+(?P<whole>.+?){_CLAUSE_END}"),
    _cue(  # one takes things off a list, but a break from work and one's mind off things
        rf"\btake\s+(?P<gone>.+?)\s+(?:from|off)\s+(?P<whole>(?:[\w-]+\s+)*?(?:list|calendar|agenda|schedule|plan|menu)\b){_CLAUSE_END}"
    ),
    _cue(rf"\b(?:cancel(?:l?ed)?|called off)\s+(?P<gone>.+?){_CLAUSE_END}"),
    _cue(
        r"(?P<gone>[^,;.!?]+?)\s+(?:is|was|has been|got|been)\s+(?:now |just )?(?:cancel(?:l?ed)|called off)\b"
    ),
    _cue(
        r"\b(?P<gone>(?:don't|do not|doesn't|does not|not|isn't|aren't|no longer)\s+.+?)\s+(?:any ?more|any longer)\b"
    ),
    _cue(
        rf"\bno longer\s+(?:(?:need|want|have) to (?:track|do)\s+)?(?P<gone>.+?)(?:\s+(?:from|on) (?:my|the|our)\b|{_CLAUSE_END})"
    ),
    _cue(rf"\binstead of\s+(?P<gone>.+?){_CLAUSE_END}"),
    _cue(
        r"\b(?:moved?|changed?|rescheduled?|switch(?:ed)?|push(?:ed)?|postponed?)\s+(?P<gone>(?!it\b|that\b|this\b).+?)\s+(?:from|to|until)\b"
    ),
    _cue(r"\b(?:i|we)\s+had\s+(?P<gone>an? .+?)\s+scheduled\b"),
    _cue(
        r"(?P<gone>(?:the|my|our)\s+[^,;.!?]+?)\s+(?:is|was|has been|got)\s+(?:moved|changed|rescheduled|pushed)\b"
    ),
)
_NEGATION = re.compile(
    r"\b(?:don't|do not|doesn't|does not|isn't|aren't|not|no longer|really|actually)\b\s*", re.IGNORECASE
)
_VAGUE = re.compile(r"^(?:some|any|a few|all|every|more)\b", re.IGNORECASE)
_WHEN = re.compile(  # "did it yesterday" names a time and nothing that happened then
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next|a|few|two) (?:week(?:end)?|month|year|night|days?)|ago)\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"^(?:it|that|this|them|those|these|something|anything|one)\b(?:\W+(?:is|for|to|me|us))*\W*$",
    re.IGNORECASE,
)


def withdrawals(text: str, speaker: str) -> list[str]:
    """Statements of what a message takes back, each beginning with who said it, in order and each once.

    Args:
        text: what was said; each sentence is read by itself.
        speaker: who said it.
    """
    found: dict[str, None] = {}
    for sentence in _SENTENCE.split(text):
        for cue in CUES:
            match = cue.search(sentence)
            gone = _positive(match.group("gone")) if match else ""
            if match and gone:
                whole = match.groupdict().get("whole")
                found.setdefault(f"{speaker}: {gone} is part of {whole}" if whole else f"{speaker}: {gone}")
                break
    return list(found)


def _positive(gone: str) -> str:
    """What was taken back, said positively; empty where it only points ("that") or says too little."""
    said = " ".join(_NEGATION.sub("", gone).split()).strip(" ,;:")
    if _POINTER.match(said) or _VAGUE.match(said) or not content_stems(_WHEN.sub("", said)):
        return ""
    return said if len(said.split()) >= _SHORTEST or said[:1].isupper() else ""
