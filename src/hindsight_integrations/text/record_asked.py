"""A question over records whose words were read, understood: its operation, its subject, its goal. Pure (decision 135)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hindsight_integrations.model.record_answers import RecordOperation, RecordQuestion, Standing, Target
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_cues import Piece
from hindsight_integrations.text.record_operations import (
    ASKING,
    BOUNDS,
    EXTREMES,
    KINDS,
    MONEY,
    STANDINGS,
    SUMS,
    VALUED,
    makes_sense,
    operation_of,
)
from hindsight_integrations.text.record_subjects import ALWAYS_PAID, DONE_BY, KnownThings, Subject
from hindsight_integrations.text.record_words import Cue
from hindsight_integrations.text.vocabulary.currencies import currency_of

_LENGTH, _TIME = "[length]1", "[time]1"
_NOT_OF_GOALS = frozenset(
    {
        Cue.TOTAL,
        Cue.NUMBER,
        Cue.AVERAGE,
        Cue.LAST,
        *EXTREMES,
        Cue.EVENTS,
        Cue.TASKS,
        Cue.GOALS,
        Cue.PER_RECORD,
    }
)
_SAYING = frozenset({Cue.TOTAL, Cue.SPENDING, Cue.AVERAGE, Cue.INCOME})
_TERSE = _SAYING | {Cue.NUMBER, Cue.PER_PERIOD, Cue.PURCHASES}
"""What may be said without a sentence, and what of it there must be."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, word by word.

    Attributes:
        pieces: its phrases.
        known: what the bank has records of.
        code: ISO 639-1, of its language.
        terse: it is no sentence.
        timed: it names a time.
    """

    pieces: tuple[Piece, ...]
    known: KnownThings
    code: str
    terse: bool = False
    timed: bool = False

    def question(self) -> RecordQuestion | None:
        """What it wants, without its time; None where that is not sure."""
        # "did I" asks for yes or no where it begins the question alone
        pieces = [p for place, p in enumerate(self.pieces) if p.cue != Cue.WHETHER or place == 0]
        asked = replace(self, pieces=tuple(pieces))
        cues = [piece.cue for piece in pieces if piece.cue]
        asking = [cue for cue in cues if cue in ASKING]
        said = frozenset(cues)
        if len(asking) > 1 or (self.terse and said and not (said <= _TERSE and said & _SAYING)):
            return None
        if said & {Cue.GOAL, Cue.HOW_MANY_PERIODS}:
            return asked.of_goals(said)
        judged = said & (STANDINGS.keys() | BOUNDS.keys() | {Cue.WHETHER})
        return None if judged or asked.numbers else asked.of_records(said)

    @property
    def things(self) -> list[str]:
        """Words that are no cue: what the records are of."""
        return [piece.words for piece in self.pieces if piece.cue is None and piece.number is None]

    @property
    def numbers(self) -> list[Piece]:
        """The numbers it names."""
        return [piece for piece in self.pieces if piece.number is not None]

    def periods(self, *cues: Cue) -> set[Granule]:
        """The days, weeks or months it names, by such cues."""
        return {piece.period for piece in self.pieces if piece.cue in cues and piece.period}

    def of_goals(self, cues: frozenset[Cue]) -> RecordQuestion | None:
        """Whether a goal is met, or how many periods met it."""
        counting = bool(cues & {Cue.HOW_MANY_PERIODS, Cue.HOW_OFTEN})
        asked = counting or cues & {Cue.WHETHER, Cue.HOW_DOING} or self.pieces[0].cue in STANDINGS
        standings = {STANDINGS[cue] for cue in cues if cue in STANDINGS}
        if not asked or cues & _NOT_OF_GOALS:
            return None
        if Cue.GOAL not in cues:
            return None if standings else self.of_threshold(cues)
        periods = self.periods(Cue.HOW_MANY_PERIODS, Cue.PER_PERIOD)
        if (
            len(standings) != 1
            or len(self.things) > 1
            or cues & BOUNDS.keys()
            or self.numbers
            or len(periods) > 1
        ):
            return None
        subject = self._goal_subject(cues)
        if subject is None:
            return None
        return RecordQuestion(
            RecordOperation.PERIODS if counting else RecordOperation.GOAL,
            subject.kind,
            self.code,
            subject.categories,
            " ".join(self.things),
            period=next(iter(periods), None),
            standing=standings.pop(),
        )

    def _goal_subject(self, cues: frozenset[Cue]) -> Subject | None:
        """What the goal is for: a category of expenses or quantities, or something counted; unsaid, the bank's one goal."""
        kinds = {KINDS[cue] for cue in cues if cue in KINDS} or set(VALUED)
        if not self.things:
            return Subject(RecordKind.GOAL) if len(kinds) > 1 else Subject(kinds.pop())
        words = self.things[0]
        found = self.known.subject(words, sorted(kinds))
        if found is None and RecordKind.QUANTITY in kinds and (unit := self.known.unit(words)):
            return self.known.measured_in(unit)
        return found

    def of_threshold(self, cues: frozenset[Cue]) -> RecordQuestion | None:
        """On how many days a number that the question gives was reached."""
        bounds = [BOUNDS[cue] for cue in cues if cue in BOUNDS]
        periods = self.periods(Cue.HOW_MANY_PERIODS)
        if len(bounds) != 1 or len(self.numbers) != 1 or Cue.PER_PERIOD in cues or len(periods) != 1:
            return None
        number, period = self.numbers[0], periods.pop()
        place = self.pieces.index(number)
        if place == 0 or self.pieces[place - 1].cue not in BOUNDS:
            return None
        behind = self.pieces[place + 1] if place + 1 < len(self.pieces) else Piece("")
        named, rest = self._unit_and_rest(behind.words) if behind.cue is None and behind.words else (None, "")
        unit = named or (currency_of(number.sign) if number.sign else None)
        left = [p for p in self.pieces if p.number is None and p.cue not in BOUNDS]
        pieces = [Piece(rest) if p is behind and named else p for p in left]
        asked = replace(self, pieces=tuple(p for p in pieces if p.words))
        subject = asked.subject(cues)
        if subject is None and named and not currency_of(named):  # "walk more than 10,000 steps"
            asked = replace(self, pieces=tuple(left))
            subject = asked.subject(cues)
        money = unit is not None and currency_of(unit) is not None
        if subject is None or subject.kind not in (
            MONEY if money else {RecordKind.QUANTITY} if unit else VALUED
        ):
            return None
        return RecordQuestion(
            RecordOperation.PERIODS,
            subject.kind,
            self.code,
            subject.categories,
            " ".join(asked.things),
            unit=unit or subject.unit,
            period=period,
            standing=Standing.MET,
            target=Target(number.number or Decimal(0), bounds[0], unit or subject.unit or "", period),
        )

    def of_records(self, cues: frozenset[Cue]) -> RecordQuestion | None:
        """What is wanted of records themselves."""
        operation = operation_of(cues)
        subject = self.subject(cues)
        if subject is None:
            return None
        if operation is None and cues <= {Cue.WHAT} and self.known.counts_itself(subject):
            operation = RecordOperation.TOTAL  # "what was my step count yesterday"
        titles = operation == RecordOperation.LIST and subject.categories and Cue.BUY in cues
        if operation is None or titles:  # "which books did I buy" asks for more than prices
            return None
        adds_up, unit = self.known.adds_up(subject), subject.unit is not None
        if not makes_sense(operation, subject.kind, cues, unit=unit, adds_up=adds_up):
            return None
        periods = self.periods(Cue.WHICH_PERIOD, Cue.PER_PERIOD)
        if len(periods) > 1:
            return None
        if operation == RecordOperation.TOTAL and Cue.HOW_MANY in cues and not unit:
            operation = RecordOperation.COUNT
        elif operation == RecordOperation.COUNT and Cue.NUMBER in cues and unit:
            operation = RecordOperation.TOTAL
        extreme = operation in {RecordOperation.MOST, RecordOperation.LEAST}
        return RecordQuestion(
            operation,
            subject.kind,
            self.code,
            subject.categories,
            " ".join(self.things),
            unit=subject.unit,
            period=next(iter(periods), None),
            counted=extreme and subject.kind == RecordKind.EXPENSE and not cues & SUMS,
        )

    def subject(self, cues: frozenset[Cue]) -> Subject | None:
        """Of which records: the kind its verbs and nouns say, the category that the words left over name."""
        kinds, things = {KINDS[cue] for cue in cues if cue in KINDS}, self.things
        if len(kinds) > 1 or len(things) > 2:
            return None
        if not things:
            return (
                Subject(kinds.pop()) if kinds and Cue.COST not in cues else None
            )  # what "it" cost is not known
        counted = self._counted()
        unit, rest = self._unit_and_rest(counted) if counted else (None, "")
        if unit and (currency_of(unit) or not kinds):
            others = [rest, *(thing for thing in things if thing is not counted)]
            return self._in_unit(unit, list(filter(None, others)), kinds)
        if len(things) > 1:
            doing = self._counted_by_doing(things)
            return self.known.measured_in(doing) if doing and not kinds else None
        return self._of_thing(things[0], kinds, cues)

    def _counted(self) -> str | None:
        """The words right behind "how many", "number of" and "how much"."""
        seen = False
        for piece in self.pieces:
            if piece.cue in {Cue.HOW_MANY, Cue.HOW_MUCH, Cue.NUMBER}:
                seen = True
            elif seen and piece.cue not in {Cue.TOTAL, Cue.AVERAGE, Cue.PER_PERIOD}:
                return piece.words if piece.cue is None else None
        return None

    def _unit_and_rest(self, counted: str) -> tuple[str | None, str]:
        """The unit that counted words begin with, and the words behind it."""
        first, _, rest = counted.partition(" ")
        whole = self.known.unit(counted)
        return (whole, "") if whole else (self.known.unit(first), rest)

    def _counted_by_doing(self, things: Sequence[str]) -> str | None:
        """The unit, where what is done goes with it of itself: "walk" beside "steps"."""
        for doing, words in (things, reversed(things)):
            unit = self.known.unit(words)
            if unit and (self.known.thing(doing), unit) in DONE_BY:
                return unit
        return None

    def _in_unit(self, unit: str, rest: list[str], kinds: set[RecordKind]) -> Subject | None:
        """Values counted in a unit that the question names: of what the other words say, else of all that is measured so."""
        if len(rest) > 1:
            return None
        if currency_of(unit):
            kind = next(iter(kinds & MONEY), None)
            found = None if kind is None else self.known.subject(rest[0], [kind]) if rest else Subject(kind)
            return None if found is None else replace(found, unit=unit)
        alone = self.known.measured_in(unit)
        named = self.known.subject(rest[0], [RecordKind.QUANTITY]) if rest else None
        if named is not None and self.known.given_in(named, unit):
            return replace(named, unit=unit)
        return alone if not rest or (self.known.thing(rest[0]), unit) in DONE_BY else None

    def _of_thing(self, words: str, kinds: set[RecordKind], cues: frozenset[Cue]) -> Subject | None:
        if not kinds:
            kinds = {RecordKind.QUANTITY, RecordKind.EVENT}
            paid = self.timed and self.known.thing(words) in ALWAYS_PAID
            priced = Cue.HOW_MUCH in cues and (paid or cues & {Cue.LAST, Cue.AVERAGE})
            if priced or self.terse:  # "how much was my last coffee", "coffee total May"
                kinds |= MONEY
        found = self.known.subject(words, sorted(kinds))
        if found is None and RecordKind.QUANTITY in kinds and (unit := self.known.unit(words)):
            found = None if currency_of(unit) else self.known.measured_in(unit)
        far, long = cues & {Cue.HOW_FAR, Cue.FARTHEST}, Cue.HOW_LONG in cues
        if found is None or (far and not self.known.measures(found, _LENGTH)):
            return None
        return None if long and not self.known.measures(found, _TIME) else found
