"""Language: all we know of one language, one value; what lies in a folder of `languages/`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.text.asking_words import AskingWords
from hindsight_integrations.text.attributes import Attribute
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
    """

    cause: re.Pattern[str] = NEVER
    chain: re.Pattern[str] = NEVER
    possessive: re.Pattern[str] = NEVER


def unchanged_conjunction(conjunction: str, _following: str) -> str:
    """The conjunction of a language whose conjunctions do not change with the word behind them."""
    return conjunction


@dataclass(frozen=True, slots=True, eq=False)
class ListWords:
    """What stands around the items of a list, so that one can be taken out. All words are case-folded.

    Attributes:
        conjunctions: between the last two items.
        before: a conjunction as it is spelled before a word ("e Inés").
        articles: in front of an item, no part of it.
        introducing: the word in front of a list's first item, where no colon is ("the recipients are").
        opening: with which a phrase in front of a sentence begins ("in May, ...").
        pairing: in front of two things that belong together ("between Ann and Bo").
        leaning: with which a sentence begins that leans on the one before it ("it", "also").
        every: that means all items of a field ("both").
        item_nouns: words for an item of anything ("point").
        numerals: the number words from nought on.
        verbs: with which what somebody does, has or is begins ("lives", "works"), so that a subject ends in front of one.
    """

    conjunctions: frozenset[str] = frozenset()
    before: Callable[[str, str], str] = unchanged_conjunction
    articles: frozenset[str] = frozenset()
    introducing: frozenset[str] = frozenset()
    opening: frozenset[str] = frozenset()
    pairing: frozenset[str] = frozenset()
    leaning: frozenset[str] = frozenset()
    every: frozenset[str] = frozenset()
    item_nouns: frozenset[str] = frozenset()
    numerals: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class FrameWords:
    """Grammar that frames what a statement is about and carries no content of its own.

    Attributes:
        frames: what a text says of something ("needs to X", "X as an open task"), in the order in which it is looked for.
        fillers: words without content in a statement: whose it is, that it was so before.
        negation: what makes a clause say that something is not, or no longer, so.
        kin_words: other words for the people around the user, by the word that stands for all of them.
        dependent: a clause that holds only with the one in front of it ("which ...", "because ..."), or only leads in.
        history: a clause that says only what once was so ("used to").
    """

    frames: tuple[re.Pattern[str], ...] = ()
    fillers: re.Pattern[str] = NEVER
    negation: re.Pattern[str] = NEVER
    kin_words: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    dependent: re.Pattern[str] = NEVER
    history: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class PartWords:
    """How a statement says that something belongs to something, and how a text lists things.

    Attributes:
        relations: patterns of whole statements with groups `part`, `whole`, perhaps `noun`; the first match counts.
        clause_end: what ends a clause or an item.
        separator: what stands between the items of a list.
        negation: what makes an item say that something is not so.
        words: what stands around the items of a list.
    """

    relations: tuple[re.Pattern[str], ...] = ()
    clause_end: re.Pattern[str] = field(default_factory=lambda: re.compile(r"[;:,.!?()]\s|[;:,.!?()]$"))
    separator: re.Pattern[str] = field(default_factory=lambda: re.compile(r",\s+"))
    negation: re.Pattern[str] = NEVER
    words: ListWords = field(default_factory=ListWords)


class Person(StrEnum):
    """The grammatical person in which a sentence speaks."""

    FIRST = "first"
    SECOND = "second"
    THIRD = "third"


def _as_it_is(text: str, *_: str) -> str:
    """The text of a language whose persons nobody has taught us."""
    return text


@dataclass(frozen=True, slots=True, eq=False)
class PersonWords:
    """In which grammatical person a text speaks, and how it is put into the first.

    Attributes:
        words: pronouns, possessives and, where they tell it alone, verbs of each person.
        no_person: what looks like such a word and is none ("World War I").
        from_second: a text that speaks to somebody, as that somebody says it of themself.
        from_name: a text that speaks of somebody by the name given second, likewise.
    """

    words: Mapping[Person, re.Pattern[str]] = field(default_factory=dict)
    no_person: re.Pattern[str] = NEVER
    from_second: Callable[[str], str] = _as_it_is
    from_name: Callable[[str, str], str] = _as_it_is


@dataclass(frozen=True, slots=True, eq=False)
class JudgementWords:
    """How whoever writes a text says more than is known.

    Attributes:
        assumption: what marks a guess ("probably", "seems to").
        own: an opinion the writer gives as such ("I believe", "in my view").
        verdict: words that judge ("wonderful", "reliable").
    """

    assumption: re.Pattern[str] = NEVER
    own: re.Pattern[str] = NEVER
    verdict: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class OpinionWords:
    """How somebody states an opinion of their own.

    Attributes:
        held: says that the speaker holds it ("I think", "in my view").
        reason: introduces why, or what follows from a reason ("because", "therefore").
        ignorance: says that the speaker knows too little to have one.
    """

    held: re.Pattern[str] = NEVER
    reason: re.Pattern[str] = NEVER
    ignorance: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class DescriptionWords:
    """How people describe themselves, in the first person. All words are case-folded.

    Attributes:
        attributes: of which each person has one.
        professions: words for what people are, with the field each belongs to; "" for none.
        fields: words for a field, with the one it is known by here.
        kinds: words, with the more general one that each is a kind of.
        alternatives: words of which at most one is true of a person.
        being: what stands in front of such a word.
        preferred: one thing before another; groups `first` and `second`.
        joint: what joins two statements; the second begins with its verb, or with the group `own` where it has its own subject.
        subject: what begins such a statement when it stands alone.
        speaker: a statement with the speaker as its subject.
        liked: what says that the speaker likes something.
        disliked: that they do not.
        negation: that something is not so.
        past: a statement of what was, not of what is.
        former: that something was so before and is no more.
        besides: that something comes to what is there ("also").
    """

    attributes: tuple[Attribute, ...] = ()
    professions: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    alternatives: tuple[frozenset[str], ...] = ()
    being: re.Pattern[str] = NEVER
    preferred: re.Pattern[str] = NEVER
    joint: re.Pattern[str] = NEVER
    subject: str = ""
    speaker: re.Pattern[str] = NEVER
    liked: re.Pattern[str] = NEVER
    disliked: re.Pattern[str] = NEVER
    negation: re.Pattern[str] = NEVER
    past: re.Pattern[str] = NEVER
    former: re.Pattern[str] = NEVER
    besides: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language; a part that is left out finds nothing.

    Attributes:
        code: ISO 639-1.
        times: its words and phrases of time; None if it has no grammar of its own.
        names: what tells names from other words.
        questions: kinds of questions.
        asking: what tells a sentence that asks from one that states.
        parts: part and whole, clauses and lists.
        frames: grammar around what a statement is about.
        person: in which grammatical person a text speaks.
        judgements: opinions and guesses.
        opinions: how the speaker states one of their own.
        description: how people describe themselves.
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
    parts: PartWords = field(default_factory=PartWords)
    frames: FrameWords = field(default_factory=FrameWords)
    person: PersonWords = field(default_factory=PersonWords)
    judgements: JudgementWords = field(default_factory=JudgementWords)
    opinions: OpinionWords = field(default_factory=OpinionWords)
    description: DescriptionWords = field(default_factory=DescriptionWords)
    records: RecordWords = field(default_factory=RecordWords)
    stop_words: frozenset[str] = frozenset()
    stem: Callable[[str], str] = unchanged
    decimal_comma: bool = False
