"""Spanish words of opinions and guesses."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import JudgementWords

# Stems, met with the endings of gender and number; and words that are met with the ending of number alone.
_GENDERED = """
    aburrid asombros atent bell bonit buen cariños compasiv comprensiv creativ dedicad delicios encantador espléndid estupend
    estúpid extraordinari fabulos fantástic fe generos hermos inspirador magnífic mal maravillos perezos perfect pésim precios sabi
    simpátic solidari talentos valient valios
"""
_COMMON = """
    admirable amable brillante capaz capaces confiable encantador espectacular excelente excepcional fascinante fenomenal fiable
    genial horrible impresionante increíble inspirador inteligente interesante leal mediocre mejor notable peor responsable terrible
    valiente
"""


def _any(words: str) -> str:
    return "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))


JUDGEMENTS = JudgementWords(
    assumption=re.compile(
        r"\b(?:probablemente|posiblemente|quizás?|tal vez|a lo mejor|seguramente|supuestamente|al parecer|aparentemente|presumiblemente"
        r"|parece|parecen|parecía|parecían|podría|podrían|pudiera|debe de|deben de|puede que|es posible que|es probable que)\b"
        r"|\b(?:lo que|esto|eso) (?:sugiere|indica|implica|demuestra|refleja)\b|\bda a entender\b|\bse puede suponer\b",
        re.IGNORECASE,
    ),
    own=re.compile(
        r"\b(?:creo|pienso|opino|supongo|me parece|considero|creemos|pensamos|opinamos) que\b|\ben (?:mi|nuestra) opinión\b|\ba mi (?:juicio|parecer)\b",
        re.IGNORECASE,
    ),
    verdict=re.compile(
        rf"(?<![\w-])(?:(?:{_any(_GENDERED)})(?:o|a|os|as)|buen|mal|(?:{_any(_COMMON)})(?:s|es)?)(?![\w-])",
        re.IGNORECASE,
    ),
)
