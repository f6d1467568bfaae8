"""Part and whole in statements and texts: what belongs to what, and the items of lists. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.titles import hidden, shown, titles

# Characters. Patterns look from each word to the end of what they are given; longer texts are lists, logs or code, whose
# grammar nobody reads.
LONGEST_TEXT = 5_000


@dataclass(frozen=True, slots=True)
class NamedItem:
    """An item as a statement names it.

    Attributes:
        text: the item's words.
        field: the statement's other words, which may say what it is an item of ("a recipient of the email").
    """

    text: str
    field: str


def named_items(statement: str, language: Language) -> list[NamedItem]:
    """The items a statement may speak of, the likeliest first: what it can be read to call a part, else all of it.

    "Head of Sales is a recipient of the letter" can be read two ways; of a part with one quoted title that is the item.
    """
    found = []
    for part in [part for part, _ in _parts_and_wholes(statement, language)] or [statement]:
        quoted = titles(part)
        item = quoted[0] if len(quoted) == 1 else part.strip()
        found.append(NamedItem(item, statement.replace(item, " ", 1)))
    return found


def _parts_and_wholes(statement: str, language: Language) -> Iterator[tuple[str, str]]:
    """What each relation that the statement can be read as calls a part, and of what."""
    text, quoted = hidden(statement.strip().rstrip("."))
    for relation in language.parts.relations:
        match = relation.match(text)
        if match is not None:
            groups = match.groupdict()
            part = f"{groups.get('noun') or ''} {groups['part']}"
            yield shown(part, quoted), shown(groups["whole"], quoted)


def account(text: str) -> str:
    """What a unit's text tells, without the dimensions (when, where, why) that drafts append behind bars."""
    return text.split(" | ", 1)[0]
