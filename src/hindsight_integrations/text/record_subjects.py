"""What a question over records is about: which of the bank's categories a word means, and which unit. Pure (decision 135)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.vocabulary.categories import category_key, category_spelling
from hindsight_integrations.text.vocabulary.currencies import currency_of
from hindsight_integrations.text.vocabulary.known_categories import KnownCategories
from hindsight_integrations.text.vocabulary.physical_units import physical_symbol, size
from hindsight_integrations.text.vocabulary.units import canonical_unit

FOOD = "food"
PARTS_OF = {
    FOOD: frozenset(
        {
            "bakery", "breakfast", "bread", "brunch", "coffee", "dessert", "dinner", "fast food", "fruit", "groceries",
            "ice cream", "juice", "lunch", "meals", "meat", "pizza", "restaurant", "snacks", "sweets", "takeaway", "tea",
            "vegetables",
        }
    ),
    "meals": frozenset({"breakfast", "brunch", "dinner", "lunch"}),
}  # fmt: skip
"""What belongs to a more general thing. A category in no language's table of things may belong to it or not."""
ALWAYS_PAID = frozenset({"bills", "insurance", "rent", "salary", "subscriptions", "tax", "utilities"})
"""What is money whatever else is said: "how high was the rent"."""
NEVER_SUMMED = frozenset(
    {
        "weight",
        "height",
        "temperature",
        "heart rate",
        "blood pressure",
        "mood",
        "body fat",
        "speed",
        "pace",
        "price",
        "score",
    }
)
"""What is measured at a moment: two of them add up to nothing."""
DONE_BY = frozenset({("walking", "steps"), ("running", "steps"), ("reading", "pages"), ("sleep", "h")})
"""What is done, with the unit in which it is counted where nobody says what of: "how many pages did I read"."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What records are of.

    Attributes:
        kind: of the records.
        categories: by the bank's names; empty for any.
        unit: in which their values are asked for, canonical.
    """

    kind: RecordKind
    categories: tuple[str, ...] = ()
    unit: str | None = None


class KnownThings:
    """What a bank has records of, found by the words of a question.

    Args:
        categories: of the bank, with their units.
        languages: in which questions and categories may be.
    """

    def __init__(self, categories: Sequence[RecordCategory], languages: Sequence[Language]) -> None:
        self._categories, self._languages = categories, languages
        self._known = KnownCategories(categories)

    def of_kind(self, kind: RecordKind) -> list[RecordCategory]:
        """The bank's categories of a kind."""
        return [category for category in self._categories if category.kind == kind]

    def thing(self, words: str) -> str | None:
        """What words mean in any of the languages, by its English name; None for words in no table."""
        spelled = category_spelling(words)
        return next(
            (each.records.things[spelled] for each in self._languages if spelled in each.records.things), None
        )

    def subject(self, words: str, kinds: Iterable[RecordKind]) -> Subject | None:
        """The one category, or sort of categories, that words mean; None where none or several do."""
        found = [Subject(kind, names) for kind in kinds if (names := self._named(words, kind)) is not None]
        return found[0] if len(found) == 1 and found[0].categories else None

    def _named(self, words: str, kind: RecordKind) -> tuple[str, ...] | None:
        """The category of a kind that words mean; empty where several do, None where none does."""
        meant, wider = self.thing(words), self._parts(words, kind)
        names = dict.fromkeys(self._known.named(words, kind))
        names |= dict.fromkeys(c.name for c in self.of_kind(kind) if meant and self._thing_of(c) == meant)
        names |= dict.fromkeys(c.name for c in self.of_kind(kind) if self._alike(c, words))
        if wider is not None and not names:
            return wider
        if not names:
            return None
        return tuple(names) if len(names) == 1 and not wider else ()

    def _parts(self, words: str, kind: RecordKind) -> tuple[str, ...] | None:
        """All categories that belong to a more general thing; empty where that is not sure of one; None if it is none."""
        parts = PARTS_OF.get(self.thing(words) or "")
        if parts is None or kind != RecordKind.EXPENSE:
            return None
        things = {c.name: self._thing_of(c) for c in self.of_kind(kind) if c.records}
        inside = tuple(name for name, thing in things.items() if thing in parts)
        if not inside:
            return None
        return inside if all(thing is not None for thing in things.values()) else ()

    def perhaps_parts(self, words: str, kind: RecordKind) -> tuple[str, ...]:
        """All categories that belong to a more general thing, those of which nobody knows included; empty if it is none."""
        parts = PARTS_OF.get(self.thing(words) or "")
        if parts is None or kind != RecordKind.EXPENSE:
            return ()
        things = {c.name: self._thing_of(c) for c in self.of_kind(kind) if c.records}
        return tuple(name for name, thing in things.items() if thing is None or thing in parts)

    def _thing_of(self, category: RecordCategory) -> str | None:
        return next(filter(None, map(self.thing, (category.name, *category.spellings))), None)

    def _alike(self, category: RecordCategory, words: str) -> bool:
        """Whether words differ from a category's name by their endings alone, in a language other than English.

        English has its singulars and plurals (`category_key`); a stemmer makes one of university and universe.
        """
        name = category_key(category.name, category.kind).split()
        said = category_key(words, category.kind).split()
        return len(name) == len(said) and any(
            all(language.stem(a) == language.stem(b) for a, b in zip(name, said, strict=True))
            for language in self._languages
            if language.code != "en"
        )

    def unit(self, words: str) -> str | None:
        """The unit that words name: money, a measure, or what the bank counts in; None for other words."""
        meant = self.thing(words) or words
        money = currency_of(meant) or currency_of(words.upper() if len(words) == 3 else words, money=True)
        known = money or (physical_symbol(meant) if len(meant) > 1 else None)
        if known:
            return known
        counted = canonical_unit(meant)
        return counted if any(counted in c.units for c in self.of_kind(RecordKind.QUANTITY)) else None

    def measured_in(self, unit: str) -> Subject | None:
        """The quantity that alone is measured in a unit, or in one that converts to it."""
        names = [c.name for c in self.of_kind(RecordKind.QUANTITY) if any(converts(unit, u) for u in c.units)]
        return Subject(RecordKind.QUANTITY, (names[0],), unit) if len(names) == 1 else None

    def given_in(self, subject: Subject, unit: str) -> bool:
        """Whether values of a subject are in a unit, or in one that converts to it."""
        of_kind = [c for c in self.of_kind(subject.kind) if c.name in subject.categories]
        return any(converts(unit, other) for category in of_kind for other in category.units)

    def measures(self, subject: Subject, dimension: str) -> bool:
        """Whether all values of a subject are lengths, or times."""
        units = {u for c in self.of_kind(subject.kind) if c.name in subject.categories for u in c.units}
        sizes = [size(unit) for unit in units]
        return bool(sizes) and all(found is not None and found[0] == dimension for found in sizes)

    def counts_itself(self, subject: Subject) -> bool:
        """Whether a subject is what its values count: steps, pages."""
        of_kind = [c for c in self.of_kind(RecordKind.QUANTITY) if c.name in subject.categories]
        return subject.kind == RecordKind.QUANTITY and any(
            canonical_unit(self._thing_of(c) or c.name) in c.units for c in of_kind
        )

    def adds_up(self, subject: Subject) -> bool:
        """Whether values of a subject may be added: not weights, and not what is per something."""
        of_kind = [c for c in self.of_kind(subject.kind) if c.name in subject.categories]
        return not any(self._thing_of(c) in NEVER_SUMMED or any("/" in u for u in c.units) for c in of_kind)


def converts(unit: str, other: str) -> bool:
    """Whether values in one canonical unit can be given in another."""
    if unit == other:
        return True
    one, two = size(unit), size(other)
    return one is not None and two is not None and one[0] == two[0]
