"""Which named groups a meaning reads from the match of a rule, checked when a language is loaded.

Without the check a rule that lacks a group would fail at the first question it matches, inside recall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from hindsight_integrations.text.time_expressions.patterns import fragments, word
from hindsight_integrations.text.time_expressions.words import Words

Meaning = TypeVar("Meaning", bound=Callable[..., object])

_NEEDS: dict[Callable[..., object], tuple[str, ...]] = {}
_GROUP = re.compile(r"\{([a-z_]+2?)\}|\(\?P<([a-z_]+2?)>")
_SPELLED_OUT = re.compile(r"\(\?P<(?P<group>[a-z_]+?)2?>(?P<words>[^\W_](?:[\w' |-]|\(\?-i:)*)\)")
_FRAGMENTS = {f"{name}{second}" for name in (*fragments(Words()), "time") for second in ("", "2")}
_TABLES: Mapping[str, str] = {
    "month": "months",
    "clear_month": "months",
    "weekday": "weekdays",
    "clear_weekday": "weekdays",
    "unit": "units",
    "short_unit": "short_units",
    "which": "which",
    "season": "seasons",
    "ordinal": "ordinals",
    "portion": "portions",
    "day_part": "day_parts",
    "part_name": "part_names",
    "decade_word": "decades",
    "near": "near",
    "near_part": "near_parts",
    "piece": "pieces",
    "century": "centuries",
    "holiday": "holidays",
}
_SUBSETS = (
    ("clear_months", "months"),
    ("name_months", "months"),
    ("verb_months", "months"),
    ("clear_weekdays", "weekdays"),
    ("plurals", "units"),
    ("multiples", "units"),
    ("coming", "which"),
    ("year_portions", "portions"),
)


class InvalidRule(ValueError):
    """A rule or a table of a language that its grammar cannot use.

    Attributes:
        language: ISO 639-1.
        pattern: of the rule; the table's name where a table is at fault.
        fault: what is wrong with it.
    """

    def __init__(self, language: str, pattern: str, fault: str) -> None:
        super().__init__(f"language {language!r}, {pattern!r}: {fault}")
        self.language, self.pattern, self.fault = language, pattern, fault


def needs(*groups: str) -> Callable[[Meaning], Meaning]:
    """Declares the groups a meaning reads.

    Args:
        groups: names of groups; "a|b" is either of two, "a?" one that is read if it is there.
    """

    def declared(meaning: Meaning) -> Meaning:
        _NEEDS[meaning] = groups
        return meaning

    return declared


def check_rule(language: str, pattern: str, meaning: Callable[..., object], words: Words) -> None:
    """Refuses a rule that lacks a group its meaning reads, or spells out a word its table lacks.

    Args:
        language: ISO 639-1, for the error.
        pattern: as written, with `{fragment}` placeholders.
        meaning: what the rule builds.
        words: the language's tables.

    Raises:
        InvalidRule: the rule cannot be used.
    """
    called = getattr(meaning, "__qualname__", repr(meaning)).replace(".<locals>", "")
    if meaning not in _NEEDS:
        raise InvalidRule(language, pattern, f"its meaning {called} does not declare the groups it needs")
    unknown = {found[1] for found in _GROUP.finditer(pattern) if found[1]} - _FRAGMENTS
    if unknown:
        raise InvalidRule(language, pattern, f"{{{min(unknown)}}} is not a fragment")
    present = {found[1] or found[2] for found in _GROUP.finditer(pattern)}
    for group in _NEEDS[meaning]:
        if not group.endswith("?") and present.isdisjoint(group.split("|")):
            wanted = group.replace("|", " or ")
            raise InvalidRule(language, pattern, f"its meaning {called} needs the group {wanted}")
    for group, missing in _unknown_words(pattern, words):
        raise InvalidRule(
            language, pattern, f"{missing!r} of its group {group} is not in the table {_TABLES[group]}"
        )


def _unknown_words(pattern: str, words: Words) -> Iterator[tuple[str, str]]:
    """Words spelled out in a group, as in "(?P<unit>week|weekend)", that the group's table lacks."""
    for found in _SPELLED_OUT.finditer(pattern):
        table = getattr(words, _TABLES.get(found["group"], ""), None)
        if table is not None:
            yield from ((found["group"], name) for name in found["words"].split("|") if name not in table)


def check_words(language: str, words: Words) -> None:
    """Refuses tables that speak of words which their table of values lacks.

    Raises:
        InvalidRule: a word has no value.
    """
    for table in (*_TABLES.values(), "numbers", "day_numbers", "tail_years"):
        for name in getattr(words, table):
            if word(name.translate(words.folding)) != name:
                raise InvalidRule(
                    language, table, f"{name!r} is not as texts are read: {word(name)!r}, folded"
                )
    for part, whole in _SUBSETS:
        missing = set(getattr(words, part)) - set(getattr(words, whole))
        if missing:
            raise InvalidRule(language, part, f"{min(missing)!r} is not in the table {whole}")
