"""Some facts of an entity to its observations, by a model or by choice of facts: Summarize(F_e) of paper eq. 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.observations.checking import Checker, plain
from hindsight_integrations.cara.observations.choosing import chosen_within
from hindsight_integrations.cara.observations.facts import Facts
from hindsight_integrations.cara.observations.representing import represented
from hindsight_integrations.cara.observations.told import told, weight
from hindsight_integrations.cara.observations.tools import ObservationTools
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.observe import observe_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.text.languages import LANGUAGES

LINE_TOKENS = 40  # of a fact's line in the prompt beside its text: number and dates


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation to be: its text and the facts it stands on."""

    text: str
    facts: tuple[MemoryUnit, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was made of some facts.

    Attributes:
        observations: the most telling first.
        read: the facts it was made from; those that did not fit were not looked at.
        tokens_in: prompt tokens of the model, repairs included.
        tokens_out: completion tokens likewise.
        problem: what was wrong with the model's last answer, where nothing of it was sound.
    """

    observations: tuple[Observation, ...]
    read: tuple[MemoryUnit, ...]
    tokens_in: int = 0
    tokens_out: int = 0
    problem: str = ""


async def summarised(entity: Entity, facts: Facts, tools: ObservationTools) -> Summary:
    """Observations of an entity from facts of the same tags.

    By the model, if there is one, the settings want it and there are facts enough; else by choice of facts.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
    """
    model = tools.summarising
    if model is None or len(facts.units) < tools.config.fewest_facts:
        return extractive(entity, facts, tools)
    places = chosen_within(
        [unit.tokens + LINE_TOKENS for unit in facts.units],
        facts.vectors,
        budget=tools.config.prompt_tokens,
        duplicate=tools.embedder.identity.thresholds.duplicate,
    )
    if not places:
        return extractive(entity, facts, tools)
    return await by_model(entity, [facts.units[place] for place in places], model, tools)


async def by_model(
    entity: Entity, facts: Sequence[MemoryUnit], model: LanguageModel, tools: ObservationTools
) -> Summary:
    """Observations that a model writes from the facts it is shown, without those that stay unsound after repairs."""
    checker = Checker(
        names=(entity.name, *entity.names),
        facts=facts,
        most=tools.config.most,
        languages=tuple(dict.fromkeys((*tools.languages, *LANGUAGES.values()))),
    )
    prompt = observe_prompt(
        entity.name, facts, fewest=checker.fewest, most=min(tools.config.most, len(facts))
    )
    answered = await complete_with_repair(model, prompt, check=checker.problems)
    sound = checker.sound(answered.last) if answered.last else []
    observations = tuple(
        Observation(plain(one.text), tuple(facts[number - 1] for number in sorted(set(one.facts))))
        for one in sound
    )
    problem = "" if observations else answered.problem
    return Summary(observations, tuple(facts), answered.tokens_in, answered.tokens_out, problem)


def extractive(entity: Entity, facts: Facts, tools: ObservationTools) -> Summary:
    """The facts that say most of the rest, told in the third person; every other one stands under the one it is near."""
    thresholds = tools.embedder.identity.thresholds
    names = (entity.name, *entity.names)
    weights = [weight(unit.text, names) for unit in facts.units]
    under = represented(facts.vectors, weights, thresholds, most=tools.config.most)
    observations = tuple(
        Observation(
            told(facts.units[place], names, tools.languages), tuple(facts.units[other] for other in others)
        )
        for place, others in under.items()
    )
    return Summary(observations, facts.units)
