"""English cues of withdrawal: "no longer", "cancelled", "used to", "moved to"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import WithdrawalWords, cue

_CLAUSE_END = r"(?=,|;|\.|!|\?|\bso\b|\bbut\b|\bbecause\b|\band\b|$)"
_OFF = "{withdrawn} is part of {whole}"

_ASKED = r"(?:^|[,;:.!?]\s*|\b(?:please|kindly|(?:can|could|would|will) you(?: please)?|(?:want|like) you to|(?:you|and|so) (?:can|may|should))\s+)"
_ABOUT = r"(?:(?:that |all |everything |what (?:i|we) (?:said|told you|mentioned) )?(?:about |on )|the (?:bit|part|thing|remark|note|stuff|story) (?:about|on|with) |(?:the fact )?that )?"
_MEMORY = r"(?:from|out of|off) (?:your|the) (?:memory|memories|notes|records|mind|files?)"
_HAVE = r"\b(?:i|we)(?:'ve| have)(?: just| finally| now| already)* "
_DID = r"\b(?:i|we)(?: just| finally)? "
_NO_MORE = r"(?:cancel(?:l?ed)|quit|sold|scrapped|dropped|thrown out|given up|stopped|ended|parted with|resigned from|moved out of|unsubscribed from|closed)"
_OVER = r"(?:sold|gone|scrapped|history|over|out|finished|dropped|off|discontinued|dissolved|a thing of the past|no more)"

_CUES = (
    cue(rf"{_ASKED}(?:forget|erase)\s+{_ABOUT}(?P<withdrawn>.+?)(?:\s+{_MEMORY})?{_CLAUSE_END}"),
    cue(rf"{_ASKED}(?:delete|remove|wipe|strike|drop|scrub|purge)\s+{_ABOUT}(?P<withdrawn>.+?)\s+{_MEMORY}"),
    cue(rf"{_HAVE}(?:{_NO_MORE}|left)\s+(?P<withdrawn>.+?){_CLAUSE_END}"),
    cue(
        rf"{_DID}(?:cancel(?:l?ed)|quit|sold|scrapped|dropped|threw (?:out|away)|gave up|stopped|parted with|resigned from)\s+(?P<withdrawn>.+?){_CLAUSE_END}"
    ),
    cue(
        rf"(?P<withdrawn>(?:the|my|our|his|her|their)\s+[^,;.!?]+?|[A-Z][\w'-]*(?:\s[A-Z\d][\w'-]*)*)\s*(?:is|are|'s|has been|have been|was|were)\s+(?:now |all )?{_OVER}{_CLAUSE_END}"
    ),
    cue(rf"\bno more\s+(?P<withdrawn>[^,;.!?]+?)(?:\s+for (?:me|us)\b|{_CLAUSE_END})"),
    cue(
        rf"\b(?:i'm|i am|we're|we are)\s+(?:over|(?:done|through|finished) with)\s+(?P<withdrawn>.+?){_CLAUSE_END}"
    ),
    cue(
        rf"\bused to (?P<withdrawn>(?:really |actually |absolutely )?(?:like|love|enjoy|dislike|hate|prefer|dream of|think|be all about|be|want|need|have|use|work|live|play|drink|eat)\b.+?){_CLAUSE_END}"
    ),
    cue(
        rf"\b(?:i|we)(?:'ve| have)? (?:just |actually |finally |already |also )*(?:finished|completed|done with|wrapped up|got done with)\s+(?P<withdrawn>.+?){_CLAUSE_END}"
    ),
    cue(
        rf"\b(?:i|we)(?:'ve| have)? (?:actually )?(?:just |finally |already )+(?P<withdrawn>(?:fixed|booked|bought|completed|finished|did|set up|sent|paid|configured|submitted|scheduled|optimi[sz]ed|refactored|cleaned)\b.+?){_CLAUSE_END}"
    ),
    cue(
        rf"\b(?:remove|cross|delete|drop)\s+(?P<withdrawn>.+?)\s+(?:from|off)\s+(?P<whole>.+?){_CLAUSE_END}",
        _OFF,
    ),
    cue(  # one takes things off a list, but a break from work and one's mind off things
        rf"\btake\s+(?P<withdrawn>.+?)\s+(?:from|off)\s+(?P<whole>(?:[\w-]+\s+)*?(?:list|calendar|agenda|schedule|plan|menu)\b){_CLAUSE_END}",
        _OFF,
    ),
    cue(r"\breschedul(?:ed?|ing)\s+(?P<withdrawn>(?!(?:it|that|this)\b)[^,;.!?]+?)\s+(?:for|to|until)\b"),
    cue(rf"\b(?:cancel(?:l?ed)?|called off)\s+(?P<withdrawn>.+?){_CLAUSE_END}"),
    cue(
        r"(?P<withdrawn>[^,;.!?]+?)\s+(?:is|was|has been|got|been)\s+(?:now |just )?(?:cancel(?:l?ed)|called off)\b"
    ),
    cue(
        r"\b(?P<withdrawn>(?:don't|do not|doesn't|does not|not|isn't|aren't|no longer)\s+.+?)\s+(?:any ?more|any longer)\b"
    ),
    cue(
        rf"\bno longer\s+(?:(?:need|want|have) to (?:track|do)\s+)?(?P<withdrawn>.+?)(?:\s+(?:from|on) (?:my|the|our)\b|{_CLAUSE_END})"
    ),
    cue(
        r"\b(?:updat|chang|rais|cut|increas|decreas|reduc|revert|lower|adjust)\w*\s+(?P<withdrawn>(?!(?:it|that|this)\b)(?:[\w'-]+ ){0,3}[\w'-]+)\s+from\s+(?P<whole>[$\u20ac\u00a3]?\d[\d.,]*\w*)\s+(?:back )?to\b",
        "{withdrawn} is {whole}",
    ),
    cue(
        rf"\b(?:more|rather) (?:\w+ )?than\s+(?P<withdrawn>(?!(?:ever|before|usual|expected|i|we|you|he|she|they|that|this|just|a few|one|two|\d)\b)[^,;.!?]+?)(?:\s+(?:lately|now|these days)\b|{_CLAUSE_END})"
    ),
    cue(r"\b(?:i|we)(?: just)? updated\s+(?P<withdrawn>(?!my calendar\b|the calendar\b)[^,;.!?]+?)\s+to\b"),
    cue(r"\bupdated (?:my|the|our) calendar\b.*?\bthat\s+(?P<withdrawn>[^,;.!?]+?)\s+(?:is|are|has been)\b"),
    cue(rf"\binstead of\s+(?P<withdrawn>.+?){_CLAUSE_END}"),
    cue(
        r"\b(?<!the )(?<!a )(?:moved?|changed?|rescheduled?|switch(?:ed)?|push(?:ed)?|postponed?)\s+(?P<withdrawn>(?!(?:it|that|this|i|up)\b).+?)\s+(?:from|to|until)\b"
    ),
    cue(r"\b(?:i|we)\s+had\s+(?P<withdrawn>an? .+?)\s+scheduled\b"),
    cue(
        r"(?P<withdrawn>(?:the|my|our)\s+[^,;.!?]+?)\s+(?:is|was|has been|got)\s+(?:moved|changed|rescheduled|pushed)\b"
    ),
)

WITHDRAWALS = WithdrawalWords(
    cues=_CUES,
    negation=re.compile(
        r"\b(?:don't|do not|doesn't|does not|isn't|aren't|not|no longer|really|actually)\b\s*", re.IGNORECASE
    ),
    vague=re.compile(r"^(?:some|any|a few|all|every|more)\b", re.IGNORECASE),
    when=re.compile(  # "did it yesterday" names a time and nothing that happened then
        r"\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next|a|few|two) (?:week(?:end)?|month|year|night|days?)|ago)\b",
        re.IGNORECASE,
    ),
    updated=re.compile(
        r"\b(?:now|nowadays|these days|from now on|from here on|as of (?:today|now)|starting (?:next \w+|today|tomorrow)|instead|these days"
        r"|(?:have|has|had|'ve|'s)? ?(?:been )?(?:changed|switched|moved|shifted|extended|postponed|rescheduled?|brought forward|upgraded|renamed)(?: back)?(?: (?:to|over to|into|until))?"
        r"|went (?:up|down) to|is up to|is down to|rose to|dropped to|fell to|back to|back on|took over(?: from)?"
        r"|has become|became|settled on)\b",
        re.IGNORECASE,
    ),
    past=re.compile(
        r"\b(?:was|were|had|used to|ago|once|last (?:week|month|year|night|spring|summer|autumn|fall|winter)|yesterday|back then|in (?:19|20)\d\d"
        r"|spent|bought|paid|got|went|ate|took|made|met|saw|came|gave|found|told|said|read|ran|won|lost)\b"
        r"|(?<!is )(?<!are )(?<!am )(?<!be )(?<!'s )(?<!'re )\b\w{2,}ed\b",
        re.IGNORECASE,
    ),
    day=re.compile(
        r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december)\b",
        re.IGNORECASE,
    ),
    numeral=re.compile(
        r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|half)\b",
        re.IGNORECASE,
    ),
    pointer=re.compile(
        r"^(?:it|that|this|them|those|these|something|anything|one)\b(?:\W+(?:is|for|to|me|us))*\W*$",
        re.IGNORECASE,
    ),
)
