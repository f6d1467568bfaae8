"""Names and titles as a text writes them. Pure."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.names import USER_NAMES
from hindsight_integrations.text.titles import TITLE

_TOKEN = re.compile(r"[\w][\w./&@+'\u2019-]*[\w]|\w")
_ABBREVIATED = 3  # letters: "Dr. Sommer" is one name, "... and Bo. Key points ..." are two sentences
_POSSESSIVE = re.compile(r"['\u2019]s?$")


def designations(text: str, language: Language) -> list[tuple[str, ...]]:
    """Titles in quotes and runs of words with capitals or digits that begin with a capital, case-folded, in order."""
    found = [tuple(match.group(2).casefold().split()) for match in TITLE.finditer(text)]
    bare = TITLE.sub(" , ", text)
    run: list[str] = []
    end = 0
    for match in _TOKEN.finditer(bare):
        word = _POSSESSIVE.sub("", match.group())
        named = word[:1].isupper() or (bool(run) and word[:1].isdigit())
        between = bare[end : match.start()].strip()
        adjoins = not between or (between == "." and bool(run) and len(run[-1]) <= _ABBREVIATED)
        if run and not (named and adjoins):
            found.append(tuple(run))
            run = []
        if named and (run or word.casefold() not in language.stop_words | USER_NAMES):
            run.append(word.casefold())
        if run and word != match.group():
            found.append(tuple(run))
            run = []
        end = match.end()
    return [*found, tuple(run)] if run else found
