"""German statements of part and whole, clauses and lists."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import PartWords

# "gehört zu", "steht auf", "wurde aus ... entfernt": a part before, the whole after. And the other way about.
_PART_FIRST = re.compile(
    r"^(?P<part>.+?)\s(?:(?:gehören|gehört|gehörte|gehörten)\s(?:auch\s|noch\s)?(?:zu|zum|zur)"
    r"|(?:ist|sind|war|waren)\s(?:jetzt\s|noch\s|auch\s)?(?:(?:ein\s)?teil\s(?:von|des|der)|eine[rs]?\s(?:der|von)|unter|auf|in)"
    r"|(?:ist|sind|war|waren)\s(?:ein|eine|der|die|das)\s[\w-]+\s(?:der|des|von|im|in)"
    r"|(?:steht|stehen|stand|standen)\s(?:auf|in|im)|nehmen?\san|nimmt\san)\s(?P<whole>.+?)(?:\steil)?$",
    re.IGNORECASE,
)
_REMOVED = re.compile(
    r"^(?P<part>.+?)\s(?:wurde|wurden|ist|sind)\s(?:aus|von|vom)\s(?P<whole>.+?)\s(?:entfernt|gestrichen|gelöscht)(?:\sworden)?$",
    re.IGNORECASE,
)
_WHOLE_FIRST = re.compile(
    r"^(?P<whole>.+?)\s(?:(?:auch|noch|jetzt)\s)?(?:enthält|enthalten|umfasst|umfassen|erwähnt|hat|haben)\s(?P<part>.+)$",
    re.IGNORECASE,
)
# "Die Laufzeit des Projekts ist 14 Monate": a property of the whole.
_PROPERTY = re.compile(
    r"^(?:der\s|die\s|das\s)?(?P<noun>[\w-]+)\s(?:von|des|der)\s(?P<whole>.+?)\s(?:ist|sind|war|waren|beträgt|lautet)\s"
    r"(?P<part>(?!(?:ein\s)?teil\s).+)$",
    re.IGNORECASE,
)

PARTS = PartWords(
    relations=(_REMOVED, _PROPERTY, _WHOLE_FIRST, _PART_FIRST),
    clause_end=re.compile(r"[;:,.!?()]\s|[;:,.!?()]$|\bund\b|\boder\b|\bsowie\b"),
    list=re.compile(
        r"(?P<first>[\w'\u2019-]+)(?:, (?!und\b|oder\b)[\w'\u2019 -]+?)+,? (?:und|oder|sowie) [\w'\u2019 -]+"
    ),
    separator=re.compile(r",\s+(?:(?:und|oder|sowie)\s+)?|\s+(?:und|oder|sowie)\s+"),
)
