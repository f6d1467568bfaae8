"""English: how an opinion is held, reasoned and declined."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import OpinionWords

_ADVERB = r"(?:(?:\w+ly|still|now|also|just|do|always|never|no longer|rather|quite|very|much|would|don['\u2019]t|do not) )*"
_VERB = (
    r"think|believe|feel (?:that|like|strongly|sure|certain|confident)|consider|find (?!out)|hold (?:that|the view)|reckon|suspect|guess"
    r"|suppose|assume|doubt|prefer|favou?r|regard|judge|trust|admire|like|love|dislike|hate|appreciate|value|agree|disagree|maintain"
    r"|argue|conclude|sense|worry|rate|rank|respect|distrust|mistrust|recommend|see [^.,;]{1,60}? as|view [^.,;]{1,60}? as|say that"
)
_STATE = (
    r"convinced|certain|sure|confident|persuaded|inclined to|of the (?:opinion|view)|s[kc]eptical|doubtful|wary|optimistic|pessimistic"
    r"|worried|concerned|impressed|in favou?r|against|(?:beginning|starting|coming) to (?:think|believe|feel|see|doubt|suspect)"
)
_I = r"(?<![\w.])[Ii]"
_IS = r"(?:['\u2019]m| am)"
_ABOUT_MEMORY = r"(?:the|my|these|those|your) (?:\w+ )?(?:facts?|memor(?:y|ies)|records?|context|conversations?|notes?|information|data)"
_LITTLE = r"(?:no|not enough|not sufficient|insufficient|too little|too few|little|any|enough|sufficient|limited|the)"
_INFORMATION = r"(?:information|data|details?|facts?|context|memor(?:y|ies)|knowledge|evidence|basis|grounds)"
_TELL = r"(?:say|tell|judge|answer|determine|assess|evaluate|comment|decide|conclude|know|draw|provide|give|offer|form|make|express)"

OPINIONS = OpinionWords(
    held=re.compile(
        rf"{_I} {_ADVERB}(?:{_VERB})\b|{_I}['\u2019]d (?:\w+ )?(?:say|argue|rather|think|prefer|call|rate|rank|recommend)\b"
        rf"|{_I}{_IS} (?:\w+ )?(?:{_STATE})\b"
        rf"|{_I}(?:['\u2019]ve| have) (?:\w+ )?(?:come|grown|begun|started|learned|learnt) to (?:\w+ )?(?:think|believe|feel|see|doubt|trust|value|appreciate|prefer|regard)\b"
        r"|\b(?i:in|to|from|by) (?:my|mine) (?:\w+ )?(?:opinion|view|mind|eyes|judg(?:e)?ment|experience|perspective|point of view|estimation|book)\b"
        r"|\b(?i:my) (?:\w+ )?(?:opinion|view|belief|impression|sense|feeling|conviction|conclusion|take|verdict|judg(?:e)?ment|preference|position)\b(?: \w+){0,4}? (?:is|remains|has become)\b"
        r"|\b(?i:(?:it )?(?:seems|appears|looks|feels) to me)\b|\b(?i:strikes me as)\b|\b(?i:if you ask me|as I see it|for my part)\b"
        r"|(?:^|[.!?;,] )(?i:to|for) me,? |\b(?i:as far as I['\u2019]m concerned)\b|\b(?i:I can['\u2019]t help (?:thinking|feeling))\b"
    ),
    reason=re.compile(
        r"\b(?:because|given|due to|owing to|thanks to|considering|on the grounds|in (?:light|view) of|based on|judging (?:by|from)"
        r"|on account of|on the basis of|(?:as )?(?:shown|evidenced|proven|proved|demonstrated) by|seeing (?:that|how|as)|insofar as|inasmuch as"
        r"|the reason|for (?:this|that) reason|(?:that|this|which) is why|that['\u2019]s why|therefore|hence|thus|consequently"
        r"|so (?:I|to me|in my)|after (?:\w+ly )?\w+ing|having \w+|now that|by \w+ing)\b"
        r"|\bsince (?!\d|(?:then|last|this|the (?:start|beginning|early|late)|january|february|march|april|may|june|july|august|september|october"
        r"|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|spring|summer|autumn|fall|winter|\w+ (?:ago|last))\b)"
        r"|, (?:as|for) (?:it|he|she|they|we|you|the|this|that|these|those|there|her|his|its|their|my|our|no|most|many|all|every|each|such|people)\b"
        r"|\b(?:which|that) (?:\w+ly )?(?:means|shows|makes|gives|lets|allows|leads|proves|suggests|tells me)\b",
        re.IGNORECASE,
    ),
    ignorance=re.compile(
        rf"\bI(?:['\u2019]m| am| was)? (?:\w+ly )?(?:can(?:not|['\u2019]t| not)|could(?: not|n['\u2019]t)|(?:not|un)able to|not in a position to) (?:\w+ly )?{_TELL}\b"
        rf"|\bI (?:\w+ly )?(?:do not|don['\u2019]t|did not|didn['\u2019]t) (?:\w+ly |yet )?have (?:an opinion|a view|{_LITTLE} (?:\w+ )?{_INFORMATION})\b"
        rf"|\bI (?:\w+ly )?(?:have no (?:opinion|view|idea|{_INFORMATION})|(?:have|know) too little|lack (?:the |any |enough |sufficient )?(?:\w+ )?{_INFORMATION})\b"
        rf"|\bI have (?:insufficient|not enough|too little|little|limited) (?:\w+ )?{_INFORMATION}\b"
        r"|\bI (?:do not|don['\u2019]t) (?:\w+ly )?know (?:enough|what|whether|if|how|who|which|why|where|when|much|anything|about)\b"
        r"|\bI(?:['\u2019]m| am) (?:not sure|unsure|uncertain|not certain) (?:whether|if|what|who|how|which|about|of)\b"
        r"|\bI(?:['\u2019]d| would) need (?:\w+ )?(?:more|further|additional)\b|\bI need (?:more|further) (?:\w+ )?(?:information|data|details?|context)\b"
        rf"|\b{_ABOUT_MEMORY}(?: \w+){{0,4}}? (?:do(?:es)?(?: not|n['\u2019]t)|did(?: not|n['\u2019]t)|fails? to|(?:is|are) (?:silent|insufficient|not (?:enough|sufficient)|missing|unavailable)|lacks?|says? nothing|gives? no)\b"
        rf"|\b(?:not enough|insufficient|too little|too few|no) (?:\w+ )?{_INFORMATION}(?: \w+){{0,5}}? to (?:\w+ly )?{_TELL}\b"
        rf"|\b(?:think|believe|feel|say|find|suspect)(?: that)? (?:there (?:is|are|['\u2019]s|isn['\u2019]t|aren['\u2019]t)|that there['\u2019]s|{_ABOUT_MEMORY}) (?:simply |currently |just )?(?:no|not enough|insufficient|too little|enough|any) (?:\w+ )?{_INFORMATION}\b"
        rf"|\b(?:there['\u2019]s|there is|there are) (?:simply |currently )?(?:no|not enough|insufficient|too little) (?:\w+ )?{_INFORMATION} (?:about|on|regarding|available|in (?:my )?memory)\b"
        rf"|\b(?:no|insufficient|not enough) (?:\w+ )?{_INFORMATION} (?:was|were|is|are|has been|have been) (?:\w+ )?(?:given|provided|available|found|known|recorded|stored|mentioned)\b"
        r"|\b(?:nothing|little|not much) (?:can|could) be (?:said|concluded|told|known|determined)\b|\b(?:it is|it['\u2019]s) (?:\w+ )?(?:impossible|not possible) to (?:tell|judge|know|determine|assess|conclude|answer)\b"
        r"|\b(?:nothing|not much) (?:\w+ ){0,2}(?:is|was) (?:\w+ )?known\b|\bmore (?:information|context|data|details?) (?:is|are|would be) (?:needed|required|necessary)\b",
        re.IGNORECASE,
    ),
)
