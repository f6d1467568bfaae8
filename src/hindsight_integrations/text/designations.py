"""Names and titles as a text writes them, and whether two of them can be one thing. Pure.

"Nordwind Energy" is not "Nordwind AG", and who says "Elm" means the room Elm where there is an Elm West as well.
"""

from __future__ import annotations

import re
from enum import StrEnum

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.names import USER_NAMES
from hindsight_integrations.text.titles import TITLE

_TOKEN = re.compile(r"[\w][\w./&@+'\u2019-]*[\w]|\w")
_ABBREVIATED = 3  # letters: "Dr. Sommer" is one name, "... and Bo. Key points ..." are two sentences
_POSSESSIVE = re.compile(r"['\u2019]s?$")


class Naming(StrEnum):
    """How a text names what another one designates."""

    OTHERWISE = "otherwise"
    """It names something else that begins alike."""
    LONGER = "longer"
    """It names something whose name begins so, and goes on."""
    UNNAMED = "unnamed"
    """It does not."""
    SHORTER = "shorter"
    """It has the beginning of the name: "Alice" of "Alice Chen"."""
    SAME = "same"


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


def naming(designation: tuple[str, ...], others: list[tuple[str, ...]]) -> Naming:
    """How the designations of another text name the same thing, at best."""
    found = {_compared(designation, other) for other in others}
    return next(
        (each for each in (Naming.SAME, Naming.LONGER, Naming.SHORTER, Naming.OTHERWISE) if each in found),
        Naming.UNNAMED,
    )


def _compared(one: tuple[str, ...], other: tuple[str, ...]) -> Naming:
    if one == other:
        return Naming.SAME
    shared = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    if shared is None:
        return Naming.LONGER if len(other) > len(one) else Naming.SHORTER
    if len(one) == len(other) == 1:
        longer = other[0].startswith(one[0]) and not other[0][len(one[0]) :].isalpha()
        return Naming.LONGER if longer else Naming.UNNAMED
    return Naming.OTHERWISE if shared else Naming.UNNAMED
