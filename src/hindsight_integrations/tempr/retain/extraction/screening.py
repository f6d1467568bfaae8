"""Screening: what a model wrote that fits the schema and still is no memory. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.facts import ExtractedChange, ExtractedFact, MemoryChange
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped
from hindsight_integrations.prompts.answered_facts import AnsweredFact

LONGEST_FACT = 8000  # characters; a passage has about 3,000 [config.RetainConfig.chunk_characters]
LONGEST_NAME = 200  # characters of an entity; the longest titles have fewer
MOST_FACTS = 100  # of one passage, at 2 to 5 an exchange [paper 4.1.2]: one for every 30 characters
MOST_ENTITIES = 50  # of one fact
MOST_CHANGES = 8  # memories one fact ends: half of those shown; more is no withdrawal but a sweep

LOOP_WINDOW = 200  # characters below which repetition proves nothing
LOOP_TAIL = 1000  # a loop often begins after a sound start
GRAM = 8  # characters compared
LEAST_VARIETY = 0.1  # distinct share of grams; prose has over 0.9, a numbered list of like items 0.2, a phrase 12 times over 0.08

_ASIDE = ("when", "where", "who", "why")


def variety(text: str) -> float:
    """Share of distinct runs of 8 characters among all of `text`, in (0, 1]; 1 for short texts."""
    total = len(text) - GRAM + 1
    if total < 1:
        return 1.0
    return len({text[at : at + GRAM] for at in range(total)}) / total


def repeats_endlessly(text: str) -> bool:
    """Whether the text, or its end, repeats one thing over and over, as a model in a loop does."""
    if len(text) < LOOP_WINDOW:
        return False
    return min(variety(text), variety(text[-LOOP_TAIL:])) < LEAST_VARIETY


def problem_of(text: str) -> str:
    """Why a text is no memory; empty if it may be one."""
    if len(text) > LONGEST_FACT:
        return f"it has {len(text):,} characters, over the limit of {LONGEST_FACT:,}"
    return "it repeats itself endlessly" if repeats_endlessly(text) else ""


def screen(
    answered: Sequence[AnsweredFact], *, shown: int = 0
) -> tuple[tuple[ExtractedFact, ...], tuple[Dropped, ...]]:
    """The facts worth keeping, causal targets counted in what is kept, and what was left out with its reason.

    Args:
        answered: the model's list.
        shown: how many memories it was shown; it can name no others.
    """
    kept: dict[int, ExtractedFact] = {}
    dropped: list[Dropped] = []
    for index, item in enumerate(answered):
        dropped.extend(Dropped(item.excerpt, problem) for problem in item.problems)
        if item.fact is None:
            continue
        refused = _refusal(item.fact, kept)
        if refused:
            dropped.append(Dropped(item.fact.what[:EXCERPT_CHARACTERS], refused))
            continue
        trimmed, asides = _trimmed(item.fact)
        kept[index], unnamed = _naming_what_was_shown(trimmed, shown)
        dropped.extend((*asides, *unnamed))
    facts, claims = _renumbered(kept)
    return facts, (*dropped, *claims)


def _refusal(fact: ExtractedFact, kept: dict[int, ExtractedFact]) -> str:
    if len(kept) >= MOST_FACTS:
        return f"its passage gave more than {MOST_FACTS} facts"
    if not fact.what:
        return "it says nothing"
    # Twice in one answer is a stutter; again in another message is another memory.
    return problem_of(fact.what) or ("the same answer says it twice" if fact in kept.values() else "")


def _trimmed(fact: ExtractedFact) -> tuple[ExtractedFact, list[Dropped]]:
    """The fact without asides, names, statements and records that are no sound text."""
    bad = {name: problem for name in _ASIDE if (problem := problem_of(getattr(fact, name)))}
    named = [e for e in fact.entities if e.text and len(e.text) <= LONGEST_NAME][:MOST_ENTITIES]
    stated = [text for text in fact.invalidates if text and not problem_of(text)]
    records = [r for r in fact.records if not problem_of(f"{r.kind}{r.category}{r.unit}{r.value}")]
    if len(records) < len(fact.records):
        bad["records"] = f"{len(fact.records) - len(records)} are no values"
    if len(named) < len(fact.entities):
        bad["entities"] = f"{len(fact.entities) - len(named)} are empty, too long or too many"
    if len(stated) < len(fact.invalidates):
        bad["invalidates"] = "a statement is empty or no sound text"
    update = {name: "" for name in bad if name in _ASIDE}
    trimmed = fact.model_copy(update={**update, "entities": named, "invalidates": stated, "records": records})
    return trimmed, [Dropped(fact.what[:EXCERPT_CHARACTERS], f"{name}: {why}") for name, why in bad.items()]


def _naming_what_was_shown(fact: ExtractedFact, shown: int) -> tuple[ExtractedFact, list[Dropped]]:
    """The fact without changes of memories that were not shown, or that say nothing; with none if there are too many."""
    if not fact.changes:
        return fact, []
    problems = [_problem_of_change(change, shown) for change in fact.changes]
    if len(fact.changes) > MOST_CHANGES:
        problems = [f"it names {len(fact.changes)} memories, over the limit of {MOST_CHANGES}"]
        kept = []
    else:
        kept = [change for change, problem in zip(fact.changes, problems, strict=True) if not problem]
    excerpt = fact.what[:EXCERPT_CHARACTERS]
    dropped = [Dropped(excerpt, f"changes: {problem}") for problem in problems if problem]
    return fact.model_copy(update={"changes": kept}), dropped


def _problem_of_change(change: ExtractedChange, shown: int) -> str:
    if change.memory is None:
        return "it names a memory otherwise than by its number"
    if change.memory > shown:
        return f"it names memory {change.memory}, and {shown} were shown"
    if change.change is MemoryChange.REMOVES and not change.items:
        return f"it removes items of memory {change.memory}, and does not say which"
    return ""


def _renumbered(kept: dict[int, ExtractedFact]) -> tuple[tuple[ExtractedFact, ...], list[Dropped]]:
    """The facts with causal targets counted in what is kept; claims about themselves or about nothing are dropped."""
    positions = {index: position for position, index in enumerate(kept)}
    facts, dropped = [], []
    for index, fact in kept.items():
        claims = []
        for claim in fact.causal_relations:
            target = positions.get(claim.target_fact_index)
            if target is None or claim.target_fact_index == index:
                about = "itself" if target is not None else f"no fact kept ({claim.target_fact_index})"
                dropped.append(
                    Dropped(fact.what[:EXCERPT_CHARACTERS], f"causal_relations: it is about {about}")
                )
            else:
                claims.append(claim.model_copy(update={"target_fact_index": target}))
        facts.append(fact.model_copy(update={"causal_relations": claims}))
    return tuple(facts), dropped
