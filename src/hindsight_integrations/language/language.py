"""The words and rules of a language as one value, and detection of a text's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.language.times.grammar import TimeRules
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule

NEVER = re.compile(r"(?!)")  # matches nothing; the default for languages without such phrases


@dataclass(frozen=True, slots=True, eq=False)
class AskingWords:
    """Patterns and words that distinguish questions and requests from statements.

    Attributes:
        interjection: a whole sentence that is only a greeting, thanks or "nice!".
        answer: a yes or no, which is an answer from a person but small talk from an agent.
        opener: start of a question, after "and" or "so".
        unmarked: a whole question without a question mark ("when is the dentist").
        request: start of a request without a question mark ("Tell me what ...", "I wonder where ...").
        tells: marks a question that also states something: a clause of its own, or "did I tell you".
        nothing_known: an agent saying that it has no memory of something.
        lead_in: an agent's introduction of a memory.
        forgetting: the start of a request to forget something.
        all_about: the words before the subject of a request to forget ("everything you know about").
        recalling: words that ask for everything remembered ("What do you know about me?"), besides stop words.
        whatever: words that ask for everything in a period ("What happened last week?"), besides stop words.
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


@dataclass(frozen=True, slots=True, eq=False)
class RecordWords:
    """Words and patterns of questions about records. Patterns are searched in lower-case text.

    Attributes:
        figures: asks for a number ("how much", "on average", "the dearest").
        otherwise: asks for something else ("where", "who", "which coffee"), unless `figures` matches too.
        advice: asks for advice or a reason, never for recorded values.
        lists: asks for a list ("list", "which", "what's on").
        yes_or_no: start of a yes-or-no question.
        which: words that directly precede a thing and ask which one it is ("what coffee").
        goals: asks how a value compares with its goal.
        kinds: pattern per kind of record ("spent", "tasks").
        tail: second part of a compound that begins with a thing ("budget" in "Kaffeebudget"); matches nothing in
            languages without compounds.
        idle: words without content, besides the stop words.
        things: maps every form of a recordable thing to its English name.
        periods: words for a day, week or month in the unit of a goal.
        at_most: marks a goal as an upper limit.
        at_least: marks a goal as a minimum.
        done: marks a task as done or cancelled.
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


def unchanged(text: str) -> str:
    """Return a text unchanged; the default of `Language.stem` and `PersonWords.from_second`."""
    return text


@dataclass(frozen=True, slots=True, eq=False)
class NounWords:
    """Rules that distinguish names from nouns in a language that capitalises both. All words are case-folded.

    Attributes:
        given_names: given names.
        other_names: places, companies and products.
        nouns: nouns that appear without an article where a name could.
        noun_ending: suffix of derived nouns, which are never names.
        inflection: case and plural endings.
        plural: plural ending; a word with it is not taken for a name, since plural nouns need no article.
        before: prepositions before a name.
        naming: words before a name ("called").
        meeting: verbs whose object is a person ("met").
        singular: a third-person singular verb. A capitalised word that begins a sentence and precedes such a verb is a
            name, since a noun would need an article.
        roles: nouns before a name that are not part of it ("my brother Emre").
        heads: nouns before a name that are part of it ("Hotel Adler").
        measures: nouns that directly precede another noun (German "Tasse Kaffee", a cup of coffee).
        adjective: ending of an adjective, which may start a sentence before a noun.
        place: ending of places that take an article.
        tail: a phrase that may follow a place name ("Frankfurt am Main").
        of: lower-case words between given and family name, with surrounding spaces.
        letters: letters of native words.
        borrowed: words of the language that contain other letters.
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
    """Rules that distinguish names from other capitalised words.

    Attributes:
        no_names: case-folded words that are capitalised without being names.
        titles: case-folded words before a name that are not part of it.
        abbreviations: titles written with a full stop, which does not end a sentence.
        connectors: patterns of lower-case words inside a name, with surrounding spaces.
        articles: case-folded words that belong to a name if capitalised within a sentence ("en La Habana").
        verb: a capitalised verb, which may start a sentence before a name.
        shouted: upper-case words that are not acronyms.
        organisation: a word in the name of an organisation.
        possessive: possessive ending of a name.
        nouns: set for languages that capitalise all nouns.
        uncounted: words after a name and a number that cannot be a counted noun ("Apollo 2 was").
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
    uncounted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWords:
    """Patterns of question kinds.

    Attributes:
        cause: words that ask for a cause.
        chain: a chain of two or more possessives ("Alice's manager's team").
        possessive: one link of such a chain.
        fact: a question for a fact ("What size are my shoes?"), not for advice ("What should I wear?").
        statement: a text that starts like a statement and asks nothing.
    """

    cause: re.Pattern[str] = NEVER
    chain: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER
    fact: re.Pattern[str] = NEVER
    statement: re.Pattern[str] = NEVER


class Person(StrEnum):
    """The grammatical person of a sentence."""

    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True, eq=False)
class PersonWords:
    """Rules that detect the grammatical person of a text and rewrite it in the first.

    Attributes:
        words: pronouns, possessives and unambiguous verb forms of each person.
        no_person: phrases that only look like such words ("World War I").
        from_second: rewrites a text from the second to the first person.
        unique: first-person statements of a person's single-valued attributes, by name; group 1 is the value.
    """

    words: Mapping[Person, re.Pattern[str]] = field(default_factory=dict)
    no_person: re.Pattern[str] = NEVER
    from_second: Callable[[str], str] = unchanged
    unique: Mapping[str, re.Pattern[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language; omitted parts match nothing.

    Attributes:
        code: ISO 639-1 code.
        times: time expressions; None if the language has no time grammar.
        names: rules for names.
        questions: patterns of question kinds.
        asking: rules for questions and requests.
        negation: pattern of negations, including "no longer".
        person: rules for the grammatical person.
        records: rules for questions about records.
        stop_words: case-folded words without content.
        stem: stemmer for case-folded words.
        decimal_comma: whether "3,40" is a fraction and "8.000" is eight thousand.
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


# Minimum share of stop words in a text of a language; prose has a third to a half.
LEAST_SHARE = 0.1
# Minimum words of a text without stop words to count as another language; shorter ones may list names.
LEAST_WORDS = 7
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, languages: Sequence[Language]) -> Language:
    """Return the language whose stop words are most frequent in a text; the first in a tie.

    Args:
        text: a text in any language.
        languages: at least one, the likeliest first.
    """
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())
    return max(languages, key=lambda language: sum(word in language.stop_words for word in words))


def written_in(text: str, languages: Sequence[Language]) -> Language | None:
    """Return the language of a text if enough of its words are stop words of that language, else None.

    Args:
        text: a text in any language.
        languages: the candidates, the likeliest first.
    """
    words = _WORD.findall(text.casefold())
    found = [(sum(word in language.stop_words for word in words), language) for language in languages]
    most, language = max(found, key=lambda one: one[0])
    return language if most and most >= LEAST_SHARE * len(words) else None


def in_another_language(text: str, sample: str, languages: Sequence[Language]) -> bool:
    """Return whether a text is certainly in another language than a sample; the script and the stop words decide.

    Args:
        text: one or two sentences.
        sample: a text in the expected language.
        languages: the known languages.
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
    """Return whether most letters of a text are Latin; True without letters."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters)
