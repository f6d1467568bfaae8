"""English sentences that ask, and an agent's words for what it remembers or does not."""

from __future__ import annotations

import re

from hindsight_integrations.text.asking_words import AskingWords

_ASKED = r"(?:what|when|where|who|whom|whose|which|how|why|if|whether|about)"

ASKING = AskingWords(
    interjection=re.compile(
        r"(?:hi|hello|hey|thanks?(?: you)?(?: so much| a lot| again)?|ok(?:ay)?|please|nice|cool|great|wow|good (?:morning|evening|afternoon|night)|yes|no|sure|right|well|hm+|sorry|bye|perfect|awesome|you'?re welcome|noted|got it|glad to hear(?: it| that)?|of course|no problem)(?: there)?[\s,.!…]*",
        re.IGNORECASE,
    ),
    opener=re.compile(
        r"(?:(?:and|so|but|ok|okay|well|hey|hi|hello|please|now|then|oh|thanks|great|nice|cool|wow)[,!.]? )*"
        r"(?:(?:by|for|in|on|at|to|from|since|until|with|of|about) )?"
        r"(?:what|when|where|who|whom|whose|which|how|why|is|are|was|were|am|do|does|did|have|has|had|can|could|will|would"
        r"|should|shall|may|might|must|isn'?t|aren'?t|wasn'?t|weren'?t|don'?t|doesn'?t|didn'?t|haven'?t|hasn'?t|can'?t|couldn'?t"
        r"|won'?t|wouldn'?t|shouldn'?t|what'?s|where'?s|who'?s|when'?s|how'?s|any|anything)\b",
        re.IGNORECASE,
    ),
    request=re.compile(
        rf"(?:please )?(?:can you |could you |would you )?(?:please )?(?:tell|remind|show|let) (?:me|us)(?: know)?(?: again)? {_ASKED}\b"
        rf"|(?:i (?:just )?wonder(?:ed)?|i'?m wondering|i was wondering|i(?:'d| would) (?:like|love) to know|i want to know"
        rf"|i (?:forgot|forget|can'?t remember|don'?t remember)|do you know|do you remember|any idea) {_ASKED}\b"
        r"|(?:please )?(?:list|summari[sz]e|recap|repeat) (?:all|my|the|what|everything|our)\b",
        re.IGNORECASE,
    ),
    tells=re.compile(
        r"\b(?:did|have|had) i (?:ever |already |not )*(?:tell|told|mention|mentioned|say|said)\b|\bdid you (?:know|hear) (?:that )?(?:i|my|we|our|the)\b"
        r"|\b(?:you know|do you remember) (?:that )(?:i|my|we|our)\b|\bguess what\b"
        r"|[,;:\u2013\u2014-] ?(?:but |and |since |because |as |now that |given that |so )?(?:i|we|he|she|they|my (?!or\b)[a-z]+|our [a-z]+)"
        r"(?:'m|'ve|'re|'s|'d)?(?: (?:also |just |really |already |only |have |has |had |am |is |are |was |were |got |don'?t |didn'?t |can'?t ))?"
        r"\b(?! (?:ask|mean)\b)"
        r"|\b(?:because|now that|given that|seeing that|since) (?:i|we|he|she|they|my|our)(?:'m|'ve|'re)?\b"
        r"|\b(?:since|as) (?:i|we) (?:am|are|have|had|moved|started|got|only|can)\b",
        re.IGNORECASE,
    ),
    nothing_known=re.compile(
        r"\b(?:i (?:do not|don'?t|cannot|can'?t|could not|couldn'?t) (?:know|recall|remember|have|find|seem)|i(?:'m| am) not (?:sure|aware)"
        r"|i have no (?:memory|memories|record|information|idea)|no (?:memories|memory|record)\b|nothing (?:is |was )?(?:known|remembered|found|stored)"
        r"|(?:recall|remember|know|found|memory)\w*:? nothing|haven'?t (?:told|mentioned))\b|\b(?:recall|remember)\w*: ?(?:nothing|none)\b",
        re.IGNORECASE,
    ),
    lead_in=re.compile(
        r"^(?:(?:yes|sure|well|ok|okay|of course)[,!.]? )?(?:as )?(?:(?:i|we) (?:also )?(?:recall|remember|know|see|found)(?: (?:that|it))?"
        r"|you(?:'ve| have)? (?:once |also |already )?(?:told me|said|mentioned|wrote)(?: that)?|from (?:memory|what i (?:recall|remember))"
        r"|according to (?:my memory|what you (?:said|told me))|here is what i (?:recall|remember|know)|memor(?:y|ies))[\s:,\-\u2013\u2014\"\u201c]*",
        re.IGNORECASE,
    ),
)
