"""German words of opinions and guesses."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import JudgementWords

# Stems of adjectives; each is met with any ending.
_VERDICTS = """
    ausgezeichnet außergewöhnlich aufmerksam begabt beeindruckend bewundernswert best besser bemerkenswert brillant charmant
    dumm engagiert erstaunlich exzellent fabelhaft fantastisch faszinierend faul fleißig freundlich furchtbar fähig fürsorglich
    genial großartig großherzig grauenhaft gut herausragend hervorragend herzlich hilfsbereit hässlich inspirierend interessant
    klug kreativ langweilig lieb liebenswert liebevoll loyal mitfühlend mittelmäßig mutig nett perfekt rücksichtslos
    rücksichtsvoll schlecht schlimm schrecklich schön sorgfältig super sympathisch talentiert toll treu unglaublich
    unzuverlässig verlässlich vertrauenswürdig warmherzig weise wertvoll wunderbar wunderschön zuverlässig
"""


def _any(words: str) -> str:
    return "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))


JUDGEMENTS = JudgementWords(
    assumption=re.compile(
        r"\b(?:wahrscheinlich|vermutlich|möglicherweise|vielleicht|offenbar|offensichtlich|anscheinend|mutmaßlich|augenscheinlich|womöglich|eventuell"
        r"|scheint|scheinen|schien|schienen|dürfte|dürften|könnte|könnten|müsste|müssten)\b"
        r"|\b(?:ist|sind|war|hat|haben|wird|mag) wohl\b|\bwirkt (?:wie|als)\b"
        r"|\b(?:deute[nt]{1,2} (?:\w+ )?darauf hin|lässt (?:darauf )?(?:schließen|vermuten)|legt nahe|zeugt von|es ist anzunehmen|man kann annehmen)\b",
        re.IGNORECASE,
    ),
    own=re.compile(
        r"\b(?:ich|wir) (?:\w+ )?(?:glauben?|denken?|finden?|meinen?|vermuten?|schätzen?)\b"
        r"|\b(?:glaube|denke|finde|meine|vermute) ich\b|\b(?:meiner|unserer) (?:Meinung|Ansicht|Auffassung) nach\b|\baus meiner Sicht\b",
        re.IGNORECASE,
    ),
    verdict=re.compile(
        rf"(?<![\w-])(?:{_any(_VERDICTS)})(?:e|er|es|en|em|ste[rsnm]?)?(?![\w-])", re.IGNORECASE
    ),
)
