"""Find the kinds and categories of records that a question asks about.

A category matches by its name, a synonym (`RecordWords.things`), a similar spelling, or by the memories that answer the
question best. Single words decide whether the question wants figures; if that is unclear, figures are returned for a
named category, since a line of figures takes few tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, TypeVar

from rapidfuzz import fuzz, process

from hindsight_integrations.language.categories import KnownCategories, category_key, category_spelling
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.units import canonical_unit, currency_of, physical_symbol, size
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import Granule

LONGEST = 300  # maximum number of characters of a question about records
# Minimum words of a statement (chosen by hand); "my current weight" is a question without a verb.
LEAST_STATED = 5
LONGEST_NAME = 4  # maximum number of words of a category
MOST_SUBJECTS = 3  # maximum number of subjects per question: "coffee, lunch and rent"
UNKNOWN_WORDS = 1  # maximum number of unknown words in a question that lists a whole kind
# Minimum letters of a word that identifies a longer category, as "honey" does honey sales (chosen by hand).
LEAST_PART = 4
# Minimum letters of the first part of a compound, such as "Rad" in Radkilometer (chosen by hand).
LEAST_FORM = 3
CLOSE = 86  # minimum similarity of a misspelling in percent, such as "autbus" for "autobus" (chosen by hand)
CLOSE_LETTERS = 5  # minimum number of letters in a word that may be a misspelling (chosen by hand)
MAJORITY = 0.6  # minimum share of a category among the best memories with a word of the question

VALUED = (RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY)
"""Kinds with numeric values."""
MONEY = (RecordKind.EXPENSE, RecordKind.INCOME)
"""Kinds whose values are amounts of money."""
_NAMED_ALONE = (RecordKind.TASK, RecordKind.EVENT, RecordKind.DOCUMENT_ITEM)
"""Kinds that a question may name by a category only: "which chores are left", "the items on the agenda"."""
T = TypeVar("T")

Best: TypeAlias = tuple[str, Collection[tuple[RecordKind, str]]]
"""A memory that answers the question: its text, and the kinds and categories of its records."""

_WORD = re.compile(r"[^\W_]+(?:['.&+-][^\W_]+)*|[$\u20ac\u00a3]")

PARTS_OF = {
    "food": frozenset(
        {
            "bakery", "breakfast", "brunch", "coffee", "dessert", "dinner", "fast food", "fruit", "groceries",
            "ice cream", "juice", "lunch", "meals", "meat", "pizza", "restaurant", "snacks", "sweets", "takeaway", "tea",
            "vegetables",
        }
    ),
    "meals": frozenset({"breakfast", "brunch", "dinner", "lunch"}),
}  # fmt: skip
"""The specific things that a more general thing includes."""
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
"""Momentary measurements, whose sum is meaningless."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The records that a question asks about.

    Attributes:
        kind: the records' kind.
        categories: the bank's category names; empty means any.
        unit: canonical unit of the figures; None means the most frequent unit.
        period: granule to group by ("on which day"); None for no grouping.
    """

    kind: RecordKind
    categories: tuple[str, ...] = ()
    unit: str | None = None
    period: Granule | None = None


class KnownThings:
    """A lookup table of a bank's record categories by the words of a question.

    Args:
        categories: the bank's categories, with their units.
        languages: possible languages of questions and categories.
    """

    def __init__(self, categories: Sequence[RecordCategory], languages: Sequence[Language]) -> None:
        self._languages = languages
        self._known = KnownCategories(categories)
        self._kinds = {
            kind: [c for c in categories if c.kind is kind]
            for kind in dict.fromkeys(c.kind for c in categories)
        }
        self._inflected = [each for each in languages if each.code != "en"]
        self._things: dict[str, set[str]] = {c.name: self._things_of(c) for c in categories}
        self._by_thing = _index((c.kind, thing, c.name) for c in categories for thing in self._things[c.name])
        self._by_stems = _index(
            (c.kind, stems, c.name) for c in categories for stems in self._stems(c.name, c.kind)
        )
        self._by_part = _index(
            (c.kind, part, c.name) for c in categories for part in self._own_parts(c, categories)
        )
        meant = set().union(*self._things.values())
        synonyms = (
            form for each in languages for form, thing in each.records.things.items() if thing in meant
        )
        self._forms = list(dict.fromkeys((*self._things, *synonyms)))
        self._stated = {*self._things, *(form for each in languages for form in each.records.things)}

    def of_kind(self, kind: RecordKind) -> list[RecordCategory]:
        """Return the bank's categories of a kind."""
        return self._kinds.get(kind, [])

    def thing(self, words: str) -> str | None:
        """Return the English name of the thing that words denote in any language, or None."""
        spelled = category_spelling(words)
        return next(
            (each.records.things[spelled] for each in self._languages if spelled in each.records.things), None
        )

    def named(self, words: str) -> list[Subject]:
        """Return a subject for each kind with a category that the words name, or with parts of a thing they name."""
        return [Subject(kind, names) for kind in self._kinds if (names := self._named(words, kind))]

    def _named(self, words: str, kind: RecordKind) -> tuple[str, ...]:
        meant = self.thing(words) or ""
        names = dict.fromkeys(self._known.named(words, kind))
        names |= dict.fromkeys(self._by_thing.get((kind, meant), ()))
        names |= dict.fromkeys(
            name for each in self._stems(words, kind) for name in self._by_stems.get((kind, each), ())
        )
        names = names or dict.fromkeys(self._by_part.get((kind, words), ()))
        if kind is RecordKind.EXPENSE:
            names |= dict.fromkeys(
                n for part in sorted(PARTS_OF.get(meant, ())) for n in self._by_thing.get((kind, part), ())
            )
        return tuple(names)

    def close_to(self, word: str) -> str | None:
        """Return the category name or synonym that a word is a compound or misspelling of, or None."""
        for end in range(len(word) - 1, LEAST_FORM - 1, -1):
            tails = (each.records.tail.fullmatch(word, end) for each in self._languages)
            if word[:end] in self._stated and any(tails):
                return word[:end]
        if len(word) < CLOSE_LETTERS:
            return None
        found = process.extractOne(word, self._forms, scorer=fuzz.ratio, score_cutoff=CLOSE)
        return found[0] if found else None

    def _things_of(self, category: RecordCategory) -> set[str]:
        """Return the thing that a spelling of the category denotes, else those that the words of its name denote."""
        whole = next(filter(None, map(self.thing, (category.name, *category.spellings))), None)
        return {whole} if whole else set(filter(None, map(self.thing, category.name.split())))

    def _stems(self, words: str, kind: RecordKind) -> list[tuple[str, ...]]:
        """Return (language, *stems) of the words for each language except English.

        English uses singular and plural forms (`category_key`), because its stemmer would conflate university and
        universe.
        """
        key = category_key(words, kind).split()
        return [(language.code, *map(language.stem, key)) for language in self._inflected] if key else []

    def _own_parts(self, category: RecordCategory, categories: Sequence[RecordCategory]) -> list[str]:
        """Return the words of a multi-word name that identify the category alone, such as "choir" for choir practice."""
        words = category.name.lower().split()
        if len(words) < 2:
            return []
        others = {
            word for each in categories if each.name != category.name for word in each.name.lower().split()
        }
        return [w for w in words if len(w) >= LEAST_PART and w not in others and self.thing(w) is None]

    def unit(self, word: str, *, money: bool) -> str | None:
        """Return the unit that a word denotes: a unit of the bank's quantities, a currency or a physical unit; else None.

        Args:
            word: the word, in lower case.
            money: whether the question is about money. If not, ambiguous words ("pounds", "try", "pen", "mop") are not
                read as currencies; if so, only as currencies in which the bank has amounts.
        """
        meant = self.thing(word) or word
        physical = physical_symbol(meant) if len(meant) > 1 else None
        own = canonical_unit(meant)
        if own != physical and any(own in each.units for each in self.of_kind(RecordKind.QUANTITY)):
            return own
        code = currency_of(word, money=True) if money else None
        if code and any(code in each.units for kind in MONEY for each in self.of_kind(kind)):
            return code
        return currency_of(meant) or physical

    def measured_in(self, unit: str) -> Subject | None:
        """Return the only quantity measured in a unit or one that converts to it; None if there are none or several."""
        names = [c.name for c in self.of_kind(RecordKind.QUANTITY) if any(converts(unit, u) for u in c.units)]
        return Subject(RecordKind.QUANTITY, (names[0],)) if len(names) == 1 else None

    def given_in(self, subject: Subject, unit: str) -> bool:
        """Return whether a subject has values in a unit, or in one that converts to it."""
        of_kind = [c for c in self.of_kind(subject.kind) if c.name in subject.categories]
        return any(converts(unit, other) for category in of_kind for other in category.units)

    def adds_up(self, subject: Subject) -> bool:
        """Return whether a subject's values may be summed; measurements such as a weight, and rates, may not."""
        of_kind = [c for c in self.of_kind(subject.kind) if c.name in subject.categories]
        return not any(self._things[c.name] & NEVER_SUMMED or any("/" in u for u in c.units) for c in of_kind)


def converts(unit: str, other: str) -> bool:
    """Return whether one canonical unit converts to another."""
    if unit == other:
        return True
    one, two = size(unit), size(other)
    return one is not None and two is not None and one[0] == two[0]


def _index(rows: Iterable[tuple[RecordKind, T, str]]) -> dict[tuple[RecordKind, T], list[str]]:
    """Group names by (kind, key), in order, without duplicates."""
    found: dict[tuple[RecordKind, T], dict[str, None]] = {}
    for kind, key, name in rows:
        found.setdefault((kind, key), {})[name] = None
    return {key: list(names) for key, names in found.items()}


@lru_cache(maxsize=64)
def known_things(categories: tuple[RecordCategory, ...], languages: tuple[Language, ...]) -> KnownThings:
    """Return the cached lookup table of a bank's categories."""
    return KnownThings(categories, languages)


def subjects_of(
    question: str,
    known: KnownThings,
    languages: Sequence[Language],
    *,
    time: str = "",
    best: Callable[[], Sequence[Best]] = tuple,
) -> tuple[Subject, ...]:
    """Return at most three subjects whose figures or list a question asks for; empty if none.

    Args:
        question: the question's text.
        known: the bank's categories.
        languages: possible languages of the question.
        time: its time expression; empty if there is none.
        best: returns the memories that answer it best; called only if no word names a category.
    """
    if len(question) > LONGEST:
        return ()
    asked = _Question.parse(question, time, known, languages)
    if not asked.words or asked.advice or asked.states:
        return ()
    if asked.otherwise and not asked.figures and not asked.goals:
        return ()
    subjects = list(dict.fromkeys((*asked.subjects_with_figures(), *asked.listed_subjects())))
    if not subjects and asked.figures:
        subjects = asked.measured_subjects() or asked.subjects_of_memories(best())
    subjects = (subjects or asked.whole_kinds())[:MOST_SUBJECTS]
    return tuple(replace(each, unit=asked.unit_of(each), period=asked.period) for each in subjects)


@dataclass(frozen=True, slots=True)
class _NamedCategories:
    """Consecutive words of a question that name categories.

    Attributes:
        start: index of the first word.
        length: number of words.
        subjects: the categories they name.
    """

    start: int
    length: int
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    """A parsed question about records.

    Attributes:
        text: its text in lower case.
        words: its words without the time expression.
        timed: whether it has a time expression.
        kinds: the record kinds it names.
        advice, figures, lists, goals, otherwise: whether the pattern of that name in `RecordWords` matches.
        yes_or_no: whether it starts like a yes-or-no question.
        states: whether it is a statement.
        names: the words that name categories, in order.
        known: the bank's categories.
        languages: possible languages of the question.
    """

    text: str
    words: tuple[str, ...]
    timed: bool
    kinds: frozenset[RecordKind]
    advice: bool
    figures: bool
    lists: bool
    goals: bool
    otherwise: bool
    yes_or_no: bool
    states: bool
    names: tuple[_NamedCategories, ...]
    known: KnownThings
    languages: Sequence[Language]

    @classmethod
    def parse(cls, question: str, time: str, known: KnownThings, languages: Sequence[Language]) -> _Question:
        """Match a question against the record words of all languages and the bank's categories."""
        text = question.replace("\u2019", "'").lower()
        words = tuple(_WORD.findall(text.replace(time.lower(), " ", 1) if time else text))
        every = [each.records for each in languages]
        kinds = {kind for each in every for kind, pattern in each.kinds.items() if pattern.search(text)}
        figures = any(each.figures.search(text) for each in every)
        states = any(each.questions.statement.search(question) for each in languages)
        return cls(
            text=text,
            words=words,
            timed=bool(time),
            kinds=frozenset(kinds),
            advice=any(each.advice.search(text) for each in every),
            figures=figures,
            lists=any(each.lists.search(text) for each in every),
            goals=any(each.goals.search(text) for each in every),
            otherwise=any(each.otherwise.search(text) for each in every),
            yes_or_no=any(each.yes_or_no.match(text) for each in every),
            states=states and len(words) >= LEAST_STATED and not figures,
            names=tuple(_named_categories(words, known, languages, goals=RecordKind.GOAL in kinds)),
            known=known,
            languages=languages,
        )

    def subjects_with_figures(self) -> Iterator[Subject]:
        """Yield the named categories with numeric values whose figures the question wants."""
        kinds = self.kinds - {RecordKind.GOAL}  # "my coffee budget" asks about expenses for coffee
        for name in self.names:
            if self._wants_figures(name):
                for subject in name.subjects:
                    if subject.kind in VALUED and (not kinds or subject.kind in kinds):
                        yield subject

    def _wants_figures(self, name: _NamedCategories) -> bool:
        before = self.words[name.start - 1] if name.start else ""
        if any(before in each.records.which for each in self.languages):  # "what coffee"
            return False
        if self.figures or self.goals:
            return True
        return not self.otherwise and (self.timed or not self.yes_or_no)

    def listed_subjects(self) -> list[Subject]:
        """Return the named categories of tasks, events and other kinds without figures, if the question wants a list."""
        if not self.lists or self.otherwise or len(self.unknown_words()) > UNKNOWN_WORDS:
            return []
        if self.kinds == {RecordKind.GOAL}:
            return [Subject(RecordKind.GOAL)]  # goals are few, so all are listed
        kinds = self.kinds or _NAMED_ALONE
        return [each for name in self.names for each in name.subjects if each.kind in kinds]

    def measured_subjects(self) -> list[Subject]:
        """Return the quantities that the question names by unit only: "how many kilometres"."""
        units = [unit for unit in self._units() if not currency_of(unit)]
        return [subject for unit in units if (subject := self.known.measured_in(unit))]

    def subjects_of_memories(self, best: Sequence[Best]) -> list[Subject]:
        """Return the most common category among memories that share an unknown word with the question, such as "tank"."""
        stems = {each.stem(word) for word in self.unknown_words() for each in self.languages}
        alike = [
            set(sorts)
            for text, sorts in best
            if stems & {each.stem(word) for word in _WORD.findall(text.lower()) for each in self.languages}
        ]
        counted = Counter(each for sorts in alike for each in sorts if each[0] in VALUED and each[1])
        return [
            Subject(kind, (name,))
            for (kind, name), count in counted.most_common(1)
            if count > 1 and count >= MAJORITY * len(alike)
        ]

    def whole_kinds(self) -> list[Subject]:
        """Return a subject for the whole kind that the question names, if it has few unknown words."""
        kinds = self.kinds
        if len(kinds) > 1 and RecordKind.GOAL in kinds:
            kinds = frozenset({RecordKind.GOAL})
        if len(kinds) != 1 or self.otherwise or not (self.figures or self.lists or self.timed):
            return []
        (kind,) = kinds
        most = 0 if kind in VALUED else UNKNOWN_WORDS
        return [Subject(kind)] if len(self.unknown_words()) <= most else []

    @property
    def period(self) -> Granule | None:
        """The day, week or month by which the question groups the records, in addition to its time."""
        periods = {word: period for each in self.languages for word, period in each.records.periods.items()}
        return next((periods[word] for word in self.words if word in periods), None)

    def unit_of(self, subject: Subject) -> str | None:
        """Return the unit that the question names, if the quantity's values can be converted to it; else None."""
        if subject.kind is not RecordKind.QUANTITY:
            return None
        return next((unit for unit in self._units() if self.known.given_in(subject, unit)), None)

    def _units(self) -> list[str]:
        content = [word for word in self.words if not _is_idle(word, self.languages)]
        return [unit for word in content if (unit := self._unit(word))]

    def _unit(self, word: str) -> str | None:
        return self.known.unit(word, money=not self.kinds.isdisjoint(MONEY))

    def unknown_words(self) -> list[str]:
        """Return the content words that match neither a category nor a record word."""
        named = {place for name in self.names for place in range(name.start, name.start + name.length)}
        rest = " ".join(word for place, word in enumerate(self.words) if place not in named)
        for language in self.languages:
            words = language.records
            for pattern in (words.figures, words.lists, words.goals, *words.kinds.values()):
                rest = pattern.sub(" ", rest)
        return [
            word
            for word in _WORD.findall(rest)
            if not (_is_idle(word, self.languages) or word[0].isdigit() or self._unit(word))
        ]


def _named_categories(
    words: Sequence[str], known: KnownThings, languages: Sequence[Language], *, goals: bool
) -> Iterator[_NamedCategories]:
    """Yield the longest names of categories from left to right; those of goals only if `goals`."""

    def named(text: str) -> tuple[Subject, ...]:
        return tuple(each for each in known.named(text) if goals or each.kind is not RecordKind.GOAL)

    def longest_at(start: int) -> _NamedCategories:
        for length in range(min(LONGEST_NAME, len(words) - start), 0, -1):
            if length == 1 and _is_idle(words[start], languages):
                break
            if subjects := named(" ".join(words[start : start + length])):
                return _NamedCategories(start, length, subjects)
        word = words[start]
        close = None if _is_idle(word, languages) or known.thing(word) else known.close_to(word)
        return _NamedCategories(start, 1, named(close) if close else ())

    start = 0
    while start < len(words):
        name = longest_at(start)
        if name.subjects:
            yield name
        start += name.length


def _is_idle(word: str, languages: Sequence[Language]) -> bool:
    return any(word in each.stop_words or word in each.records.idle for each in languages)


def open_tasks(entries: Sequence[RecordEntry], languages: Sequence[Language]) -> list[RecordEntry]:
    """Return the tasks that neither their own text nor a later record marks as done or cancelled.

    Args:
        entries: records of tasks.
        languages: their possible languages.
    """
    found: list[RecordEntry] = []
    for entry in sorted(entries, key=lambda each: each.memory.mentioned_at):
        said = str(entry.record.value)
        bare = next(filter(None, (_without_done(said, each) for each in languages)), None)
        if bare is None:
            found.append(entry)
        else:
            found = [each for each in found if str(each.record.value).casefold() != bare.casefold()]
    return found


def _without_done(text: str, language: Language) -> str | None:
    """Return a done task's text without the mark; None if it is not marked as done."""
    bare, done = language.records.done.subn("", text)
    return bare.strip() if done else None
