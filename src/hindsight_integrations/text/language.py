"""Language: all we know of one language, one value; what lies in a folder of `languages/`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.text.asking_words import AskingWords
from hindsight_integrations.text.record_words import RecordWords
from hindsight_integrations.text.time_expressions.grammar import TimeRules

NEVER = re.compile(r"(?!)")  # matches nothing: what a language without such phrases has


def unchanged(word: str) -> str:
    """The stem of a word in a language without a stemmer: the word."""
    return word


@dataclass(frozen=True, slots=True, eq=False)
class NounWords:
    """What tells names from nouns in a language that writes both with a capital. All words are case-folded.

    Attributes:
        given_names: names of people.
        other_names: places, companies and products.
        nouns: that stand where a name could, without an article.
        noun_ending: of words made from others, which name nobody.
        inflection: endings of cases and plurals.
        plural: the ending of plurals, which need no article.
        before: prepositions in front of a name.
        naming: words in front of a name ("called").
        meeting: verbs in front of a person.
        singular: a verb of the third person behind a name; a noun would have an article.
        roles: nouns in front of a name that are no part of it ("my brother Emre").
        heads: nouns in front of a name that are part of it ("Hotel Adler").
        measures: nouns in front of another noun ("a cup of coffee" in two words).
        adjective: the ending of an adjective, which may begin a sentence in front of a noun.
        place: the ending of places that have an article.
        tail: what may follow the name of a place ("Frankfurt am Main").
        of: small words, with the spaces around them, between a given and a family name.
        letters: the letters of the language's own words.
        borrowed: its words with other letters.
    """

    given_names: frozenset[str] = frozenset()
    other_names: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    noun_ending: re.Pattern[str] = NEVER
    inflection: re.Pattern[str] = NEVER
    plural: re.Pattern[str] = NEVER
    before: frozenset[str] = frozenset()
    naming: frozenset[str] = frozenset()
    meeting: frozenset[str] = frozenset()
    singular: re.Pattern[str] = NEVER
    roles: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    measures: frozenset[str] = frozenset()
    adjective: re.Pattern[str] = NEVER
    place: re.Pattern[str] = NEVER
    tail: re.Pattern[str] = NEVER
    of: tuple[str, ...] = ()
    letters: re.Pattern[str] = NEVER
    borrowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class NameWords:
    """What tells names from other capitalised words.

    Attributes:
        no_names: words, case-folded, that are capitalised without being names.
        titles: words, case-folded, in front of a name that are no part of it.
        abbreviations: titles written with a full stop, which ends no sentence.
        connectors: patterns of small words, with the spaces around them, inside a name.
        articles: words, case-folded, that belong to a name where they are capitalised inside a sentence ("en La Habana").
        verb: a capitalised verb, which may begin a sentence in front of a name.
        shouted: words in capitals that are no acronyms.
        organisation: a word in the name of an organisation.
        possessive: the ending of a name whose owner it names.
        nouns: given where nouns are capitalised too, so that a capital alone says nothing.
    """

    no_names: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    abbreviations: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    articles: frozenset[str] = frozenset()
    verb: re.Pattern[str] = NEVER
    shouted: frozenset[str] = frozenset()
    organisation: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER
    nouns: NounWords | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWords:
    """What kind of question a text is.

    Attributes:
        cause: words that ask for a cause.
        chain: a chain of two or more possessives ("Alice's manager's team").
        possessive: one link of such a chain.
        fact: a question for what is or was the case ("What size are my shoes?"), not for advice ("What should I wear?").
        statement: a text that begins as a statement does, and asks for nothing.
    """

    cause: re.Pattern[str] = NEVER
    chain: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER
    fact: re.Pattern[str] = NEVER
    statement: re.Pattern[str] = NEVER


class Person(StrEnum):
    """The grammatical person in which a sentence speaks."""

    FIRST = "first"
    SECOND = "second"


def _as_it_is(text: str) -> str:
    """The text in a language without such rules."""
    return text


@dataclass(frozen=True, slots=True, eq=False)
class PersonWords:
    """In which grammatical person a text speaks, and how it is put into the first.

    Attributes:
        words: pronouns, possessives and, where they tell it alone, verbs of each person.
        no_person: what looks like such a word and is none ("World War I").
        from_second: a text that speaks to somebody, as that somebody says it of themself.
        unique: statements in the first person of what a person has one of, by its name; group 1 is the value.
    """

    words: Mapping[Person, re.Pattern[str]] = field(default_factory=dict)
    no_person: re.Pattern[str] = NEVER
    from_second: Callable[[str], str] = _as_it_is
    unique: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language; a part that is left out finds nothing.

    Attributes:
        code: ISO 639-1.
        times: its words and phrases of time; None if it has no grammar of its own.
        names: what tells names from other words.
        questions: kinds of questions.
        asking: what tells a sentence that asks from one that states.
        negation: what makes a sentence say that something is not, or no longer, so.
        person: in which grammatical person a text speaks.
        records: how people ask about records.
        stop_words: words, case-folded, that tell no two memories apart.
        stem: a case-folded word without its inflection.
        decimal_comma: whether "3,40" is a fraction and "8.000" are thousands.
    """

    code: str
    times: TimeRules | None = None
    names: NameWords = field(default_factory=NameWords)
    questions: QuestionWords = field(default_factory=QuestionWords)
    asking: AskingWords = field(default_factory=AskingWords)
    negation: re.Pattern[str] = NEVER
    person: PersonWords = field(default_factory=PersonWords)
    records: RecordWords = field(default_factory=RecordWords)
    stop_words: frozenset[str] = frozenset()
    stem: Callable[[str], str] = unchanged
    decimal_comma: bool = False
