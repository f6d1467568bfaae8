"""The categories a bank has: which of them a spelling names, and which of them a model is shown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from hindsight_integrations.model.names import names_any
from hindsight_integrations.model.records import RecordCategory, RecordKind, spelling_key
from hindsight_integrations.text.vocabulary.categories import category_key, category_name


class KnownCategories:
    """A bank's categories, found by what is stated.

    Args:
        categories: of the bank, the most used of a kind first.
    """

    def __init__(self, categories: Iterable[RecordCategory]) -> None:
        self._spelt: dict[tuple[RecordKind, str], str] = {}
        self._alike: dict[tuple[RecordKind, str], list[str]] = {}
        for category in categories:
            for spelling in (category.name, *category.spellings):
                self._add(category.kind, spelling, category.name)

    def named(self, stated: str, kind: RecordKind) -> tuple[str, ...]:
        """Names of the categories a spelling means: the one that has it, else all that have one like it, most used first.

        Whoever parts two spellings by hand that are alike has them apart from then on.

        Args:
            stated: as it was given.
            kind: of record.
        """
        for spelling in (stated, category_name(stated, kind)):
            if found := self._spelt.get((kind, spelling_key(spelling))):
                return (found,)
        return tuple(self._alike.get((kind, category_key(stated, kind)), ()))

    def resolved(self, stated: str, kind: RecordKind) -> str:
        """Name of the category a spelling means; one that means none is known from now on, by its own name."""
        found = self.named(stated, kind)
        name = found[0] if found else category_name(stated, kind)
        self._add(kind, stated, name)
        return name

    def _add(self, kind: RecordKind, spelling: str, name: str) -> None:
        self._spelt.setdefault((kind, spelling_key(spelling)), name)
        alike = self._alike.setdefault((kind, category_key(spelling, kind)), [])
        if name not in alike:
            alike.append(name)


def categories_to_show(
    categories: Sequence[RecordCategory],
    passage: str = "",
    *,
    limit: int,
    count: Callable[[Sequence[str]], Sequence[int]] | None = None,
) -> dict[RecordKind, tuple[str, ...]]:
    """Names of categories for a model to choose from, by kind, within a budget of tokens.

    Those the passage names come first, then each kind's most used in turn, so that 1,900 films crowd out no expense. What
    does not fit is left out: a model that states it anyway is understood all the same (`KnownCategories`).

    Args:
        categories: of the bank.
        passage: what the model is to read.
        limit: tokens the names may cost together.
        count: gives the tokens of texts (`TokenCounter.count`); None takes a token for every three characters. One more is
            taken for what parts a name from the next.
    """
    names = [category.name for category in categories]
    costs = [-(-len(name) // 3) for name in names] if count is None else count(names)
    cost_of = dict(zip(names, costs, strict=True))
    shown: dict[RecordKind, list[str]] = {}
    left = limit
    for category in dict.fromkeys([*_in_passage(categories, passage), *_in_turn(categories)]):
        cost = cost_of[category.name] + 1
        if cost <= left:
            left -= cost
            shown.setdefault(category.kind, []).append(category.name)
    return {kind: tuple(shown[kind]) for kind in RecordKind if kind in shown}


def _in_passage(categories: Iterable[RecordCategory], passage: str) -> list[RecordCategory]:
    found = [c for c in categories if names_any(passage, {spelling_key(c.name), *c.spellings})]
    return sorted(found, key=lambda c: (-c.records, c.kind, c.name))


def _in_turn(categories: Iterable[RecordCategory]) -> Iterator[RecordCategory]:
    by_kind: dict[RecordKind, list[RecordCategory]] = {kind: [] for kind in RecordKind}
    for category in sorted(categories, key=lambda c: (-c.records, c.name)):
        by_kind[category.kind].append(category)
    for turn in zip_longest(*by_kind.values()):
        yield from (category for category in turn if category is not None)
