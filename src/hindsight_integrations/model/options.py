"""Options of `bank.recall` and `bank.reflect`, with their defaults.

Methods and integrations accept them as `**options: Unpack[RecallOptions]` and pass them on.
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
"""A vector, or texts whose mean vector is used; None embeds the question."""

Method = TypeVar("Method", bound=Callable[..., object])


class RecallOptions(TypedDict, total=False):
    """Options of `bank.recall`. Defaults are in `RECALL_DEFAULTS`; integrations' own are in docs/integrations.md.

    Attributes:
        max_tokens: token budget for the texts of all memories returned, 1 to 10,000,000.
        budget: search effort: low, mid or high; the number of candidates examined, not returned.
        types: networks to search: world, experience, opinion, observation. None means all, but observations
            only if `ObservationConfig.searchable` is set.
        tags: visibility tags; empty means any memory.
        tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged
            memories.
        tag_groups: further conditions, all of which must match in addition to `tags`: {"tags": [...],
            "match": "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf, TagAnd, TagOr,
            TagNot.
        metadata: filter on the caller's metadata: {"channel": "mail"} (all keys must be equal),
            `MetadataFilter`, `MetadataGroup`, their JSON forms, or a list of these, all of which must match;
            None means any memory.
        window: (start, end) of the time the question is about; None means detect it in the question.
        as_of: a moment of conversation time; return what was valid then. None means what is valid now.
        query_timestamp: the reference time for "yesterday" and recency; None means now.
        include_invalidated: also return memories that are no longer valid, marked as such.
        k: maximum number of memories, 1 to 10,000; None means only the token budget limits them.
        min_scores: minimum scores at each stage; see `MinScores`.
        include_entities: also return observations of the entities mentioned: those made from their facts, and
            those you retained.
        max_entity_tokens: token budget for those observations, 1 to 10,000,000.
        include_chunks: also return the passages the memories came from.
        max_chunk_tokens: token budget for those passages, 1 to 10,000,000.
        include_source_facts: also return the facts that returned observations are based on.
        max_source_fact_tokens: token budget for those facts, 1 to 10,000,000.
        include_records: also return exact figures and all rows of the records the question is about, as in
            "what did I spend on food this week?".
        max_record_tokens: token budget for these digests together, 1 to 10,000,000.
        text: "full", or "compact": what each memory says with its date, so that more fit the budget.
        relevance: "all" fills the budget, "likely" stops where the evidence of relevance ends.
        order: "rank", best first, or "time", oldest first; does not affect which memories are returned.
        include_core: also return core memory, for prompts that are filled unasked: the user's lasting facts
            first, at most a fifth of `max_tokens` and 400 tokens, and the whole bank if it fits into half of
            `max_tokens`; for small talk only core memory. Not with `k`.
        speaker: who asks, as in `Message.speaker`; in a bank with several speakers, core memory is theirs.
        trace: also record what happened to every candidate; `RecallResult.explain` shows it.
        embedding: the question's vector by the bank's own embedder (of any length), or texts to embed instead
            of the question, whose mean vector is used. Words, names and times are still read from the
            question. None means embed the question.
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
    """Options of `bank.reflect`, `bank.reflect_stream` and `bank.reflect_stages`; defaults in `REFLECT_DEFAULTS`.

    Attributes:
        strategy: single (one recall, one model call) or agentic (the model searches step by step).
        budget: effort of recall: low, mid or high; also the number of steps of agentic.
        max_tokens: token budget for the memories the answer may use, 1 to 10,000,000.
        max_answer_tokens: token limit of the answer; a longer one is requested again, then cut at the end of
            a sentence. A streamed one is cut there with a note.
        response_schema: a pydantic model; the answer is also returned in this form as
            `Reflection.structured`: by the same call with single, otherwise by one more. None is returned if
            memory has no answer.
        tools: functions and LangChain tools the model may call besides memory's own, agentic only.
        context: your description of the situation, up to 8,000 characters, shown to the model as data.
        form_opinions: whether opinions may be formed. Never with `as_of`, on a bank `with_profile`, on a
            read-only engine or without a model; a note says so.
        operation: a key of this reflection (thread and run, for example), up to 512 characters; a retry with
            the same key forms nothing twice.
        tags: visibility tags; empty means any memory.
        tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged
            memories.
        tag_groups: further conditions on tags, as in `RecallOptions`.
        window: (start, end) of the time the question is about; None means detect it in the question.
        as_of: a moment; answer as of then: from the memories valid then, with the bank's profile at that time
            (see `profile.history`), and relative times ("yesterday") counted from it. None means now.
        query_timestamp: the reference time for "yesterday" and recency; None means `as_of`, else now.
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
    """List the options of a `**options` in `inspect.signature`, for `help`, notebooks and agent frameworks.

    Args:
        options: the TypedDict that `**options` unpacks.
        defaults: an integration's defaults, if they differ from the bank's.
    """
    own: Mapping[str, object] = {
        **(RECALL_DEFAULTS if options is RecallOptions else REFLECT_DEFAULTS),
        **(defaults or {}),
    }

    def show(method: Method) -> Method:
        signature = inspect.signature(method)
        listed = [own for own in signature.parameters.values() if own.kind is not own.VAR_KEYWORD]
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
        unpacked = {
            name
            for name, parameter in signature.parameters.items()
            if parameter.kind is parameter.VAR_KEYWORD
        }
        kept = {name: kind for name, kind in method.__annotations__.items() if name not in unpacked}
        method.__annotations__ = {
            **kept,
            **options.__annotations__,
        }  # for frameworks that make a tool of the method
        return method

    return show
