"""English sentences that ask, and an agent's words for what it remembers or does not."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import AskingWords

_ASKED = r"(?:what|when|where|who|whom|whose|which|how|why|if|whether|about)"

ASKING = AskingWords(
    interjection=re.compile(
        r"(?:(?:hi|hello|hey|yo|thanks?(?: you)?(?: so much| very much| a lot| again| for (?:your|the|all your) help)?|thx|ty|ta|cheers|o?k(?:ay|k)?|alright|please|nice(?: one)?|cool|great"
        r"|lovely|wow|good (?:morning|evening|afternoon|night)|g[mn]|(?:good|nice|great) (?:job|work)|well|h+m+|sorry|(?:good ?)?bye|see you(?: later)?|perfect"
        r"|awesome|amazing|excellent|brilliant|sweet|fair enough|makes sense|sounds good|good to know|will do|never ?mind|no worries|my pleasure|(?:same to )?you too|(?:that'?s|nothing) (?:all|it|else)(?: for now)?|you'?re welcome|noted|got it|i see|understood|glad to hear(?: it| that)?|no problem|(?:ha|he|hi){2,}h?|lo+l|lmao|rofl|yay"
        r"|oh|ah|aha|uh[- ]?huh|mhm|continue|go on|carry on|keep going|next|how are you(?: doing)?(?: today)?|what'?s up|sup)(?: there| then)?[\s,.!…]*)+",
        re.IGNORECASE,
    ),
    answer=re.compile(r"(?:yes|yeah|yep|yup|no|nope|sure|right|of course|exactly)[\s,.!…]*", re.IGNORECASE),
    opener=re.compile(
        r"(?:(?:and|so|but|ok|okay|well|hey|hi|hello|please|now|then|oh|thanks|great|nice|cool|wow)[,!.]? )*"
        r"(?:(?:by|for|in|on|at|to|from|since|until|with|of|about) )?"
        r"(?:what|when|where|who|whom|whose|which|how|why|is|are|was|were|am|do|does|did|have|has|had|can|could|will|would"
        r"|should|shall|may|might|must|isn'?t|aren'?t|wasn'?t|weren'?t|don'?t|doesn'?t|didn'?t|haven'?t|hasn'?t|can'?t|couldn'?t"
        r"|won'?t|wouldn'?t|shouldn'?t|what'?s|where'?s|who'?s|when'?s|how'?s|any|anything)\b",
        re.IGNORECASE,
    ),
    unmarked=re.compile(
        r"(?:(?:and|so|but) )?(?:what|when|where|who|why|how)(?:'s| is| are| was| were| do| does| did| should| will)"
        r"(?!.*\b(?:is|are|was|were)\b)(?: [\w']+){1,7}",
        re.IGNORECASE,
    ),
    request=re.compile(
        rf"(?:please )?(?:can you |could you |would you )?(?:please )?(?:tell|remind|show|let) (?:me|us)(?: know)?(?: again)? {_ASKED}\b(?! to\b)"
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
        r"|\b(?:since|as) (?:i|we) (?:am|are|have|had|moved|started|got|only|can)\b"
        r"|\b(?:my|our|his|her|their|the) \w+(?: \w+)?, (?:who|which|whose)\b|\bit (?:\w+ ){1,3}that (?:i|we|he|she|they|my|our)\b"
        r"|(?<!know )(?<!me )(?<!wonder )(?<!remember )\bif (?:i'?m|i am|(?:i|we) (?:don'?t|can'?t|only|never|have no))\b"
        r"|^(?:can|could|may|should|shall|must|is it|would it) .*\b(?:after|before|despite|because of|due to|with) (?:my|our) \w+"
        r"|^(?:(?:and|so|but) )?(?:why|how come)\b.*\b(?:i|i'm|me|my|we|our|us)\b|\bfrom now on\b|\bthat (?:i|we|my|our)\b|\bbelieve (?:i|we)\b"
        r"|^\S+ \S+ \S+.*, (?:who|whose|where)\b|\b(?:with|from) my \w+|^(?:isn'?t|is) it (?:\w+ ){1,3}that\b|\bfor (?:me|us) and my\b|\b(?:although|even though|as an? \w+|considering)\b|^(?:can|could|may|should|shall|must|would) (?:i|we)\b.*\b(?:my|our)\b"
        r"|^(?:is|are) there\b.*\b(?:my|our)\b|^(?:do|does|is|are|can|could|should|will|would|may)\b.*\b\w+ (?:i|we) (?:bought|got|made|sold|lost|found|took|gave|have)\b"
        r"|^(?:please )?(?:can|could|would|will) you (?:please )?(?:stop|start|always|never|call me|write|note|save|remember that|remind me (?:to|that))\b",
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
    forgetting=re.compile(
        r"^\W*(?:(?:please|pls|plz|oh|hey|ok(?:ay)?|and|also|sorry|actually|can you|could you|would you|i want you to|i'd like you to|you (?:can|should|must))\b[,\s]*)*"
        r"(?:(?:forget|unlearn)\b(?! to\b)|(?:erase|wipe|clear|delete|remove)\b.*\b(?:(?:from )?(?:your |the )?memory|(?:yo)?u (?:know|remember|saved|stored)|memories)\b|(?:erase|wipe|delete) (?:all |everything about )?my (?:personal )?(?:data|address|adress|name|number|phone|birthday|details|information)\b|stop remembering\b|would you mind forgetting\b|i (?:do not|don'?t) want you to (?:keep|remember|save|store)\b"
        r"|(?:do not|don'?t|never) (?:remember|save|store|keep|memori[sz]e) (?:this|that|it|my|any(?:thing)?|everything|what)\b|ignore (?:my|the|what i) (?:last|previous|just)\b)",
        re.IGNORECASE | re.DOTALL,
    ),
    all_about=re.compile(
        r"\W*(?:please )?(?:everything|anything|all|whatever|what)(?: (?:that )?(?:you|we|i) (?:know|have|remember|saved|stored|said|told you))? (?:about|on|concerning|regarding|of) ",
        re.IGNORECASE,
    ),
    recalling=frozenset(
        [
            "anything",
            "everything",
            "heard",
            "know",
            "knows",
            "known",
            "learn",
            "learned",
            "learnt",
            "memories",
            "memory",
            "remember",
            "remembered",
            "said",
            "say",
            "saved",
            "something",
            "stored",
            "summarise",
            "summarize",
            "tell",
            "told",
        ]
    ),
)
