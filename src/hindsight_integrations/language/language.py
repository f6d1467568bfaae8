"""Language: all that is known of one language, as one value; and which language a text is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.language.times.grammar import TimeRules
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule

NEVER = re.compile(r"(?!)")  # matches nothing: what a language without such phrases has


@dataclass(frozen=True, slots=True, eq=False)
class AskingWords:
    """What tells a sentence that asks from one that states.

    Attributes:
        interjection: a sentence that is a greeting, thanks or "nice!" and no more.
        answer: a yes, a no: an answer where a person says it, small talk where an agent does.
        opener: how a question begins, after "and" or "so".
        unmarked: a question as it is typed without its mark ("when is the dentist"), all of it.
        request: how a sentence begins that asks without a question mark ("Tell me what ...", "I wonder where ...").
        tells: what makes a question tell something as well: a clause of its own, or "did I tell you".
        nothing_known: an agent's words for having no memory of something.
        lead_in: how an agent introduces what it remembers.
        forgetting: how a message begins that asks the memory to forget something.
        all_about: what a request to forget says in front of whom or what it means ("everything you know about").
        recalling: words that ask for whatever is remembered ("What do you know about me?"), beside those that say nothing.
        whatever: words that ask for whatever is of a time ("What happened last week?"), likewise.
    """

    interjection: re.Pattern[str] = NEVER
    answer: re.Pattern[str] = NEVER
    opener: re.Pattern[str] = NEVER
    unmarked: re.Pattern[str] = NEVER
    request: re.Pattern[str] = NEVER
    tells: re.Pattern[str] = NEVER
    nothing_known: re.Pattern[str] = NEVER
    lead_in: re.Pattern[str] = NEVER
    forgetting: re.Pattern[str] = NEVER
    all_about: re.Pattern[str] = NEVER
    recalling: frozenset[str] = frozenset()
    whatever: frozenset[str] = frozenset()


NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, eq=False)
class RecordWords:
    """Words in which a language speaks of records. Patterns are searched for in small letters.

    Attributes:
        figures: asks for a number ("how much", "on average", "the dearest").
        otherwise: asks for something else ("where", "who", "which coffee"), unless a word of `figures` stands beside it.
        advice: asks what should be, or why: never for what was recorded.
        lists: asks for all of something ("list", "which", "what's on").
        yes_or_no: begins a question that is answered with yes or no.
        which: words that, right in front of a thing, ask which one ("what coffee").
        goals: asks how a value stands to its goal.
        kinds: names a kind of record ("spent", "tasks").
        tail: what a compound may end in behind a thing ("Kaffeebudget"); matches nothing in languages without compounds.
        idle: words that name nothing, beside the stop words.
        things: what records may be of, in any form, by what it is called everywhere (English).
        periods: words for a day, a week, a month in the unit of a goal.
        at_most: says in the memory of a goal that it is a limit.
        at_least: says that it is to be reached.
        done: says in the text of a task that it is done or gone.
    """

    figures: re.Pattern[str] = NEVER
    otherwise: re.Pattern[str] = NEVER
    advice: re.Pattern[str] = NEVER
    lists: re.Pattern[str] = NEVER
    yes_or_no: re.Pattern[str] = NEVER
    which: frozenset[str] = frozenset()
    goals: re.Pattern[str] = NEVER
    kinds: Mapping[RecordKind, re.Pattern[str]] = field(default_factory=dict)
    tail: re.Pattern[str] = NEVER
    idle: frozenset[str] = frozenset()
    things: Mapping[str, str] = field(default_factory=dict)
    periods: Mapping[str, Granule] = field(default_factory=dict)
    at_most: re.Pattern[str] = NEVER
    at_least: re.Pattern[str] = NEVER
    done: re.Pattern[str] = NEVER


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


LEAST_SHARE = 0.1  # of a text's words that are stop words of its language; of prose a third to a half are
LEAST_WORDS = 7  # of a text without stop words that is taken for another language; names alone are shorter
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, languages: Sequence[Language]) -> Language:
    """The language with the most words of a text among its stop words; of equal ones the first.

    Args:
        text: in any language.
        languages: at least one, the likeliest first.
    """
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())
    return max(languages, key=lambda language: sum(word in language.stop_words for word in words))


def written_in(text: str, languages: Sequence[Language]) -> Language | None:
    """The language a text is surely in: enough of its words are among that one's stop words; None if of none.

    Args:
        text: in any language.
        languages: that are known, the likeliest first.
    """
    words = _WORD.findall(text.casefold())
    found = [(sum(word in language.stop_words for word in words), language) for language in languages]
    most, language = max(found, key=lambda one: one[0])
    return language if most and most >= LEAST_SHARE * len(words) else None


def in_another_language(text: str, sample: str, languages: Sequence[Language]) -> bool:
    """Whether a text is surely in another language than a sample: by its script, or by its stop words.

    Args:
        text: a sentence or two.
        sample: what it should be in the language of.
        languages: that are known.
    """
    if _is_latin(text) != _is_latin(sample):
        return True
    own = written_in(sample, languages)
    if own is None:
        return False
    words = _WORD.findall(text.casefold())
    common = sum(word in own.stop_words for word in words)
    if len(words) >= LEAST_WORDS and common < LEAST_SHARE * len(words):
        seen = frozenset(_WORD.findall(sample.casefold()))
        if not common or sum(word in seen for word in words) < len(words) / 2:
            return True
    return any(
        sum(word in other.stop_words - own.stop_words for word in words)
        > max(1, sum(word in own.stop_words - other.stop_words for word in words))
        for other in languages
    )


def _is_latin(text: str) -> bool:
    """Whether most letters of a text are Latin; of a text without letters, yes."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters)
