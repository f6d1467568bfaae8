"""Faults of a text as an opinion of the agent's, in words for the model that wrote it (paper section A.2). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hindsight_integrations.model.text import clean_text
from hindsight_integrations.text.language import Language, Person, written_in
from hindsight_integrations.text.person import persons, unquoted

LONGEST_OPINION = 500  # characters; the prompts ask for 300
FEWEST_WORDS = 4  # of a statement with a reason


def fault(text: str, languages: Sequence[Language]) -> str:
    """What makes a text no opinion that can be kept; "" if nothing does.

    Whether it is reasoned and known well enough is the model's to judge; the prompts ask for it. In a language without words
    for its persons the first person is not asked for.

    Args:
        text: the opinion as it would be kept.
        languages: it may be in.
    """
    return next(filter(None, _faults(plain(text), languages)), "")


def plain(text: str) -> str:
    """An opinion as it is stored: on one line, without characters that cannot be, and without quotes around the whole."""
    found = " ".join(clean_text(text).split())
    return found[1:-1].strip() if len(found) > 1 and found[0] + found[-1] in _AROUND else found


_AROUND = frozenset(['""', "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb"])


def _faults(text: str, languages: Sequence[Language]) -> Iterator[str]:
    yield "" if text else "it says nothing"
    if len(text) > LONGEST_OPINION:
        yield f"it has {len(text)} characters, and at most {LONGEST_OPINION} are allowed"
    yield "it is a question" if text.rstrip("\"'\u201d\u201c\u00bb ").endswith("?") else ""
    yield "it is too short to say why" if len(text.split()) < FEWEST_WORDS else ""
    yield "it only quotes somebody" if not any(map(str.isalpha, unquoted(text))) else ""
    language = written_in(text, languages)
    if language is not None and Person.FIRST not in persons(text, language):
        yield "it does not say in the first person that you think so (I think ...)"
