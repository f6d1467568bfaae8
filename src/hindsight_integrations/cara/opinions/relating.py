"""How new opinions relate to those that are held, as a model says (paper section 5.4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_integrations.cara.opinions.near import Held
from hindsight_integrations.model.opinions import EvidenceStrength
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.relate_opinions import (
    AnsweredRelation,
    AnsweredRelations,
    NewOpinion,
    Relation,
    relate_opinions_prompt,
)
from hindsight_integrations.prompts.repairing import complete_with_repair


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A new opinion and those it is compared with."""

    text: str
    held: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """How one new opinion relates to one that is held.

    Attributes:
        relation: how.
        strength: how much the new one says for or against it.
        reason: in words, for people.
    """

    relation: Relation
    strength: EvidenceStrength
    reason: str


@dataclass(slots=True)
class Relations:
    """What a model said of pairs, and what that cost.

    Attributes:
        found: by new text and unit id of the held one's wording; of pairs it said nothing usable of there is none.
        asked: the pairs it was asked of, answered or not: none is asked of twice for one answer.
        calls: how often it was called.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
    """

    found: dict[tuple[str, str], Related] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


async def relate(compared: Sequence[Compared], model: LanguageModel, known: Relations) -> None:
    """Ask of all pairs that were not asked of yet, in one call, and add what is usable of the answer to what is known.

    Raises:
        ModelError: the model failed.
    """
    asked = [
        Compared(each.text, missing)
        for each in compared
        if (missing := tuple(one for one in each.held if (each.text, one.wording.unit_id) not in known.asked))
    ]
    if not asked:
        return
    known.asked.update((each.text, one.wording.unit_id) for each in asked for one in each.held)
    held = list({one.wording.unit_id: one for each in asked for one in each.held}.values())
    numbers = {one.wording.unit_id: number for number, one in enumerate(held, 1)}
    new = [NewOpinion(each.text, tuple(numbers[one.wording.unit_id] for one in each.held)) for each in asked]
    prompt = relate_opinions_prompt(new, [one.wording.text for one in held])
    done = await complete_with_repair(model, prompt, check=lambda answer: relation_problems(answer, new))
    known.calls += done.tries
    known.tokens_in += done.tokens_in
    known.tokens_out += done.tokens_out
    for one in usable(done.last, new):
        known.found[new[one.new - 1].text, held[one.held - 1].wording.unit_id] = Related(
            one.relation, one.strength, " ".join(one.reason.split())
        )


def relation_problems(answer: AnsweredRelations, new: Sequence[NewOpinion]) -> str:
    """What is wrong with an answer, in words for the model; "" if nothing is."""
    asked = {(number, held) for number, each in enumerate(new, 1) for held in each.held}
    given = Counter((one.new, one.held) for one in answer.relations)
    faults = (
        ("pairs nobody asked for", sorted(given.keys() - asked)),
        ("pairs without an answer", sorted(asked - given.keys())),
        ("pairs with several answers", sorted(pair for pair, count in given.items() if count > 1)),
    )
    return "; ".join(
        f"{what}: {', '.join(f'new {one} with held {other}' for one, other in pairs)}"
        for what, pairs in faults
        if pairs
    )


def usable(answer: AnsweredRelations | None, new: Sequence[NewOpinion]) -> list[AnsweredRelation]:
    """What an answer says of pairs that were asked for and that it speaks of once."""
    if answer is None:
        return []
    asked = {(number, held) for number, each in enumerate(new, 1) for held in each.held}
    given = Counter((one.new, one.held) for one in answer.relations)
    return [one for one in answer.relations if (one.new, one.held) in asked and given[one.new, one.held] == 1]
