"""Language: all we know of one language, one value; what lies in a folder of `languages/`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hindsight_integrations.text.time_expressions.grammar import TimeRules

NEVER = re.compile(r"(?!)")  # matches nothing: what a language without such phrases has


def unchanged(word: str) -> str:
    """The stem of a word in a language without a stemmer: the word."""
    return word


@dataclass(frozen=True, slots=True, eq=False)
class NameWords:
    """What tells names from other capitalised words.

    Attributes:
        no_names: words, case-folded, that are capitalised without being names.
        titles: words, case-folded, in front of a name that are no part of it.
        abbreviations: titles written with a full stop, which ends no sentence.
        connectors: small words, with the spaces around them, inside a name.
        verb: a capitalised verb, which may begin a sentence in front of a name.
        shouted: words in capitals that are no acronyms.
        organisation: a word in the name of an organisation.
        possessive: the ending of a name whose owner it names.
    """

    no_names: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    abbreviations: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    verb: re.Pattern[str] = NEVER
    shouted: frozenset[str] = frozenset()
    organisation: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWords:
    """What kind of question a text is.

    Attributes:
        cause: words that ask for a cause.
        chain: a chain of two or more possessives ("Alice's manager's team").
        possessive: one link of such a chain.
    """

    cause: re.Pattern[str] = NEVER
    chain: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class WithdrawalWords:
    """How a message takes something back.

    Attributes:
        cues: each matches a sentence that does; its group `withdrawn` is what no longer holds, and `whole`, if it has
            that group, what it was part of.
        negation: what is left out of `withdrawn`, so that it resembles what was said before.
        vague: how a phrase begins that names nothing in particular.
        when: times, which name nothing that happened then.
        pointer: a phrase that only points ("that").
        is_part_of: joins part and whole to a statement that `PartWords` reads.
    """

    cues: tuple[re.Pattern[str], ...] = ()
    negation: re.Pattern[str] = NEVER
    vague: re.Pattern[str] = NEVER
    when: re.Pattern[str] = NEVER
    pointer: re.Pattern[str] = NEVER
    is_part_of: str = ":"


@dataclass(frozen=True, slots=True, eq=False)
class PartWords:
    """How a statement says that something belongs to something, and how a text lists things.

    Attributes:
        relations: patterns of whole statements with groups `part`, `whole` and perhaps `noun` (of the part), the first
            that matches counting.
        clause_end: what ends a clause or an item.
        list: a plain list of three or more; its group `first` is the last word of the first item.
        separator: what stands between the items of one.
    """

    relations: tuple[re.Pattern[str], ...] = ()
    clause_end: re.Pattern[str] = field(default_factory=lambda: re.compile(r"[;:,.!?()]\s|[;:,.!?()]$"))
    list: re.Pattern[str] = NEVER
    separator: re.Pattern[str] = field(default_factory=lambda: re.compile(r",\s+"))


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language; a part that is left out finds nothing.

    Attributes:
        code: ISO 639-1.
        times: its words and phrases of time.
        names: what tells names from other words.
        questions: kinds of questions.
        withdrawals: how something is taken back.
        parts: part and whole, clauses and lists.
        stop_words: words, case-folded, that tell no two memories apart.
        stem: a case-folded word without its inflection.
    """

    code: str
    times: TimeRules
    names: NameWords = field(default_factory=NameWords)
    questions: QuestionWords = field(default_factory=QuestionWords)
    withdrawals: WithdrawalWords = field(default_factory=WithdrawalWords)
    parts: PartWords = field(default_factory=PartWords)
    stop_words: frozenset[str] = frozenset()
    stem: Callable[[str], str] = unchanged
