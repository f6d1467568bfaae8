"""AskingWords: what a language says of sentences that ask."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, eq=False)
class AskingWords:
    """What tells a sentence that asks from one that states.

    Attributes:
        interjection: a sentence that is a greeting, thanks or "nice!" and no more.
        answer: a yes, a no: an answer where a person says it, small talk where an agent does.
        opener: how a question begins, after "and" or "so".
        unmarked: a question as it is typed without its mark ("when is the dentist"), all of it.
        request: how a sentence begins that asks without a question mark ("Tell me what ...", "I wonder where ...").
        tells: what makes a question tell something as well: a clause of its own, or "did I tell you".
        nothing_known: an agent's words for having no memory of something.
        lead_in: how an agent introduces what it remembers.
        forgetting: how a message begins that asks the memory to forget something.
        all_about: what a request to forget says in front of whom or what it means ("everything you know about").
        recalling: words that ask for whatever is remembered ("What do you know about me?"), beside those that say nothing.
    """

    interjection: re.Pattern[str] = _NEVER
    answer: re.Pattern[str] = _NEVER
    opener: re.Pattern[str] = _NEVER
    unmarked: re.Pattern[str] = _NEVER
    request: re.Pattern[str] = _NEVER
    tells: re.Pattern[str] = _NEVER
    nothing_known: re.Pattern[str] = _NEVER
    lead_in: re.Pattern[str] = _NEVER
    forgetting: re.Pattern[str] = _NEVER
    all_about: re.Pattern[str] = _NEVER
    recalling: frozenset[str] = frozenset()
