"""Options of `bank.recall` and `bank.reflect`: each with its shape, unit and range, and the value that stands for one left out.

Every method and integration that takes them takes `**options: Unpack[RecallOptions]` and passes them on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from hindsight_integrations.model.metadata import GivenMetadata
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    GivenScores,
    RelevanceLevel,
    ResultOrder,
    Strategy,
    TagsMatch,
    TextForm,
)
from hindsight_integrations.model.time import Moment, Window
from hindsight_integrations.model.units import FactType

Embedding: TypeAlias = Sequence[float] | Sequence[str] | npt.NDArray[np.floating[Any]] | None
"""A vector, or texts of which the mean vector is taken; None for the question's own."""

Method = TypeVar("Method", bound=Callable[..., object])


class RecallOptions(TypedDict, total=False):
    """Options of `bank.recall`. The defaults are `RECALL_DEFAULTS`; an integration's own are on docs/integrations.md.

    Attributes:
        max_tokens: what the texts of the memories returned may cost together, 1 to 10,000,000.
        budget: effort: low, mid or high; how many candidates are looked at, apart from what is returned.
        types: networks to search: world, experience, opinion, observation. None means all, without observations unless
            `ObservationConfig.searchable` says so.
        tags: visibility tags; none means any memory.
        tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged memories.
        tag_groups: further conditions, all of which must hold, and `tags` too: {"tags": [...], "match": "any_strict"},
            {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf, TagAnd, TagOr, TagNot.
        metadata: what came with the memories: {"channel": "mail"} (each equal), `MetadataFilter`, `MetadataGroup`, their
            JSON forms, or a list of these, all of which must hold; None means any memory.
        window: (start, end) of the time the question is about; None means find it in the question.
        as_of: a moment of conversation time; what was valid then. None means what is valid now.
        query_timestamp: the moment from which "yesterday" and recency count; now if None.
        include_invalidated: also return what is no longer valid, marked.
        k: at most this many memories, 1 to 10,000; None means tokens alone decide.
        min_scores: what a memory must reach at each stage that scores it; see `MinScores`.
        include_entities: also return observations of the entities met: those made of their facts in the background, and
            those you retained.
        max_entity_tokens: what those observations may cost, 1 to 10,000,000.
        include_chunks: also return the passages that the memories came from.
        max_chunk_tokens: what those passages may cost, 1 to 10,000,000.
        include_source_facts: also return the facts on which observations among the memories stand.
        max_source_fact_tokens: what those facts may cost, 1 to 10,000,000.
        include_records: also return exact figures and all rows of the records that the question touches, as "what did I
            spend on food this week?" does.
        max_record_tokens: what these digests may cost together, 1 to 10,000,000.
        text: "full", or "compact": what each memory says with its date, so that more fit the budget.
        relevance: "all" fills the budget, "likely" stops where evidence gives out.
        order: "rank", best first, or "time", oldest first; which memories are returned is not changed by it.
        include_core: also return core memory, as what is written into a prompt unasked does: the user's lasting facts
            first, at most a fifth of `max_tokens` and 400 tokens, and everything of a bank that fits into half of
            `max_tokens`; small talk gets core memory alone. Not with `k`.
        speaker: who asks, as in `Message.speaker`: where several people speak in a bank, core memory is theirs.
        trace: also record how every candidate fared; `RecallResult.explain` shows it.
        embedding: the question's vector, where you have it of the bank's own embedder (it need not be of unit length); or
            texts to embed in the question's place, whose mean vector is taken. Words, names and times are read from the
            question all the same. None means embed the question.
    """

    max_tokens: int
    budget: Budget | str
    types: Iterable[FactType | str] | None
    tags: Iterable[str]
    tags_match: TagsMatch | str
    tag_groups: GivenGroup | Sequence[GivenGroup]
    metadata: GivenMetadata
    window: Window
    as_of: datetime | str | None
    query_timestamp: Moment
    include_invalidated: bool
    k: int | None
    min_scores: GivenScores
    include_entities: bool
    max_entity_tokens: int
    include_chunks: bool
    max_chunk_tokens: int
    include_source_facts: bool
    max_source_fact_tokens: int
    include_records: bool
    max_record_tokens: int
    text: TextForm | str
    relevance: RelevanceLevel | str
    order: ResultOrder | str
    include_core: bool
    speaker: str
    trace: bool
    embedding: Embedding


RECALL_DEFAULTS: Final[RecallOptions] = {
    "max_tokens": 4096,
    "budget": Budget.MID,
    "types": None,
    "tags": (),
    "tags_match": TagsMatch.ANY,
    "tag_groups": (),
    "metadata": None,
    "window": None,
    "as_of": None,
    "query_timestamp": None,
    "include_invalidated": False,
    "k": None,
    "min_scores": None,
    "include_entities": False,
    "max_entity_tokens": 500,
    "include_chunks": False,
    "max_chunk_tokens": 8192,
    "include_source_facts": False,
    "max_source_fact_tokens": 4096,
    "include_records": False,
    "max_record_tokens": 2048,
    "text": TextForm.FULL,
    "relevance": RelevanceLevel.ALL,
    "order": ResultOrder.RANK,
    "include_core": False,
    "speaker": "user",
    "trace": False,
    "embedding": None,
}


class ReflectOptions(TypedDict, total=False):
    """Options of `bank.reflect`, `bank.reflect_stream` and `bank.reflect_stages`. The defaults are `REFLECT_DEFAULTS`.

    Attributes:
        strategy: single (one recall, one model call) or agentic (the model looks for what it needs, step by step).
        budget: effort of recall: low, mid or high; agentic may take more steps with it, too.
        max_tokens: budget of the memories the answer may use, 1 to 10,000,000.
        max_answer_tokens: of the answer; a longer one is asked for again, then cut at the end of a sentence. A streamed
            one ends there, and a note says so.
        response_schema: a pydantic model; the answer comes in its form, too, as `Reflection.structured`: by the same call
            with single, else by one more. Where nothing is known there is none.
        tools: functions and LangChain tools that the model may call besides memory's own, agentic only.
        context: your words about the situation, up to 8,000 characters, shown to the model as data.
        form_opinions: whether opinions may be formed. None are, and a note says so, with `as_of`, on a bank
            `with_profile`, on a read-only engine and without a model.
        operation: a key of this reflection (thread and run, say), up to 512 characters: a retry under it forms nothing
            twice.
        tags: visibility tags; none means any memory.
        tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged memories.
        tag_groups: further conditions on tags, as in `RecallOptions`.
        window: (start, end) of the time the question is about; None means find it in the question.
        as_of: a moment; the answer of then: from the memories that were valid, in the character that the bank had (see
            `profile.history`), to the question as asked then ("yesterday"). None means now.
        query_timestamp: the moment from which "yesterday" and recency count; `as_of`, else now, if None.
    """

    strategy: Strategy | str
    budget: Budget | str
    max_tokens: int
    max_answer_tokens: int
    response_schema: type[BaseModel] | None
    tools: Iterable[Callable[..., object]] | None
    context: str | None
    form_opinions: bool
    operation: str | None
    tags: Iterable[str]
    tags_match: TagsMatch | str
    tag_groups: GivenGroup | Sequence[GivenGroup]
    window: Window
    as_of: datetime | str | None
    query_timestamp: Moment


REFLECT_DEFAULTS: Final[ReflectOptions] = {
    "strategy": Strategy.SINGLE,
    "budget": RECALL_DEFAULTS["budget"],
    "max_tokens": RECALL_DEFAULTS["max_tokens"],
    "max_answer_tokens": 2048,
    "response_schema": None,
    "tools": None,
    "context": None,
    "form_opinions": True,
    "operation": None,
    "tags": (),
    "tags_match": TagsMatch.ANY,
    "tag_groups": (),
    "window": None,
    "as_of": None,
    "query_timestamp": None,
}


def shows_options(
    options: type[RecallOptions | ReflectOptions], defaults: RecallOptions | ReflectOptions | None = None
) -> Callable[[Method], Method]:
    """List the options of a `**options` one by one in `inspect.signature`, which `help`, notebooks and agents' frameworks read.

    Args:
        options: what `**options` unpacks.
        defaults: of an integration, where they differ from the bank's.
    """
    own: Mapping[str, object] = {
        **(RECALL_DEFAULTS if options is RecallOptions else REFLECT_DEFAULTS),
        **(defaults or {}),
    }

    def show(method: Method) -> Method:
        signature = inspect.signature(method)
        listed = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        listed += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=own[name],
                annotation=getattr(kind, "__forward_arg__", kind),
            )
            for name, kind in options.__annotations__.items()
        ]
        method.__signature__ = signature.replace(parameters=listed)  # type: ignore[attr-defined] # inspect reads it
        unpacked = {name for name, each in signature.parameters.items() if each.kind is each.VAR_KEYWORD}
        kept = {name: kind for name, kind in method.__annotations__.items() if name not in unpacked}
        method.__annotations__ = {
            **kept,
            **options.__annotations__,
        }  # for frameworks that make a tool of the method
        return method

    return show
