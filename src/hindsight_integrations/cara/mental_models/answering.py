"""A standing question answered from facts alone, so that each thing the answer says can be withdrawn fact by fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.cara.grounds import Ground, completed_grounds
from hindsight_integrations.cara.mental_models.staleness import scope
from hindsight_integrations.cara.reflection.length import shortened
from hindsight_integrations.cara.reflection.reflecting import reflect
from hindsight_integrations.cara.reflection.tools import RECORD_TOKENS, Recall, ReflectTools, no_mental_models
from hindsight_integrations.model.mental_models import MentalModel, ModelAnswer
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import RecallQuery, ReflectQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.units import OBSERVED_NETWORKS, UnitKind
from hindsight_integrations.text.language import Language

READ_TOKENS = 4_096  # what the memories an answer is written from may cost, as of `reflect` by default


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to a standing question.

    Attributes:
        answer: to be kept.
        read: ids of all facts that its writer was shown.
        tokens_in: prompt tokens of the model.
        tokens_out: completion tokens likewise.
    """

    answer: ModelAnswer
    read: tuple[str, ...]
    tokens_in: int = 0
    tokens_out: int = 0


async def answered(model: MentalModel, now: datetime, tools: ReflectTools) -> Answered:
    """Answer a mental model's question from facts with its tags, or none; no opinion is formed, no model is shown.

    Records answer exactly where the question is one for them. Without a language model the text is theirs, else the best facts. Where memory has no answer the text is empty.

    Args:
        model: whose question it is.
        now: the moment it is asked.
        tools: of reflect.

    Raises:
        ModelError: the model failed.
    """
    query = ReflectQuery(
        recall=RecallQuery(
            text=model.question,
            query_timestamp=now,
            max_tokens=READ_TOKENS if tools.model else model.max_tokens,
            types=OBSERVED_NETWORKS,
            tags=model.tags,
            tag_groups=(scope(model.tags),),
            record_tokens=RECORD_TOKENS,
        ),
        max_answer_tokens=model.max_tokens,
        form_opinions=False,
    )
    own = replace(
        tools,
        recall=_facts_alone(tools.recall),
        mental_models=no_mental_models,
    )
    reflection = await reflect(query, own)
    entered = [each for digest in reflection.records for each in digest.unit_ids]
    read = tuple(dict.fromkeys((*(item.unit.id for item in reflection.recalled.units), *entered)))
    known = (reflection.sufficient or reflection.extractive) and bool(reflection.units or entered)
    quoted = [each.text for each in reflection.records] or [item.text for item in reflection.units]
    text = "\n".join(quoted) if reflection.extractive else reflection.text
    text, _ = shortened(text, model.max_tokens, tools.tokens)
    answer = ModelAnswer(
        text=text if known else "",
        extractive=known and reflection.extractive,
        based_on=_grounds(model.question, reflection, tools.languages) if known else (),
        refreshed_at=now,
    )
    return Answered(answer, read, reflection.tokens_in, reflection.tokens_out)


def _grounds(question: str, reflection: Reflection, languages: Sequence[Language]) -> tuple[str, ...]:
    """Ids of the facts that the answer stands on, those it took something from without naming them included."""
    cited = [Ground(item.text, (item.unit.id,)) for item in reflection.units]
    shown = [Ground(item.text, (item.unit.id,)) for item in reflection.recalled.units]
    cited += [Ground(digest.text, digest.unit_ids) for digest in reflection.records]
    return completed_grounds(reflection.text, [*cited, Ground(question)], shown, languages)


def _facts_alone(recall: Recall) -> Recall:
    """Recall of world and experience memories: no opinion, no observation, no turn that waits."""

    async def facts(query: RecallQuery) -> RecallResult:
        """As `recall`, of facts."""
        types = tuple(kind for kind in OBSERVED_NETWORKS if kind in query.types)
        if not types:
            return RecallResult((), 0, query=query)
        found = await recall(replace(query, types=types, entity_tokens=0))
        return replace(found, units=tuple(item for item in found.units if item.unit.kind is UnitKind.MEMORY))

    return facts
