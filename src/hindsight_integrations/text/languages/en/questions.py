"""English questions: for a cause, and chains of possessives."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import QuestionWords

QUESTIONS = QuestionWords(
    cause=re.compile(
        r"\b(why|because|cause[ds]?|reason|led to|result(?:ed)? (?:of|in)|prevent\w*|enabled?)\b",
        re.IGNORECASE,
    ),
    chain=re.compile(  # of names: the first "'s" of "What's Alice's team" is a verb
        r"\b(?!(?:what|who|where|when|why|how|it|he|she|that|this|there|here|let)['\u2019])\w+(?:['\u2019]s \w+){2,}",
        re.IGNORECASE,
    ),
    possessive=re.compile(r"['\u2019]s ", re.IGNORECASE),
    fact=re.compile(
        r"^(?!.*\b(?:should|shall|can|could|would|may|might|must|good|best|better|worth|allowed|fine|safe|possible)\b)\W*(?:(?:and|so|but|hey|hi|ok(?:ay)?|well|now|again)\b\W*)*"
        r"(?:what|when|where|who|whom|whose|which|how|why|did|do|does|have|has|had|was|were|is|are|am)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    statement=re.compile(
        r"^(?!.*(?:\?|\b(?:help|looking for|please|recommend\w*|suggest\w*|advice|ideas?|tips?|should|(?:can|could|would) you|wonder\w*"
        r"|need (?:an?|some|your|you)|(?:want|like) (?:you )?to know)\b))\W*(?:(?:and|so|but|oh|well|hey|hi|hello|also|by the way|btw|fyi|ok(?:ay)?|yes|no|thanks)\b\W*)*"
        r"(?:i|we|my|our|he|she|it|they|his|her|its|their|this|that|these|those|there|the|an?|some|today|yesterday|tomorrow|last|tonight)\b",
        re.IGNORECASE | re.DOTALL,
    ),
)
