"""Options of `bank.recall` and `bank.reflect`, with their defaults.

Methods and integrations accept and forward them as `**options: Unpack[RecallOptions]`.
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
"""The question's vector, or texts whose mean vector is used; None embeds the question."""

Method = TypeVar("Method", bound=Callable[..., object])


class RecallOptions(TypedDict, total=False):
    """Options of `bank.recall`. The defaults are in `RECALL_DEFAULTS`; for integrations, see docs/integrations.md.

    Attributes:
        max_tokens: the token budget for the texts of all returned memories, 1 to 10,000,000.
        budget: the search effort: low, mid or high. It sets the number of candidates examined, not returned.
        types: the networks to search: world, experience, opinion, observation. None means all, but observations
            only if `ObservationConfig.searchable` is set.
        tags: the visibility tags; empty means any memory.
        tags_match: the mode of `tags`: any, all, any_strict, all_strict or exact; any and all also include untagged
            memories.
        tag_groups: further conditions on tags, all of which must match in addition to `tags`: {"tags": [...],
            "match": "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf, TagAnd, TagOr,
            TagNot.
        metadata: a filter on the caller's metadata: {"channel": "mail"} (all values must be equal),
            `MetadataFilter`, `MetadataGroup`, their JSON forms, or a list of these, all of which must match;
            None means any memory.
        window: the time range (start, end) of the question; None detects it in the question.
        as_of: a conversation time; the memories that were valid at that time are searched. None means now.
        query_timestamp: the reference time for "yesterday" and recency; None means now.
        include_invalidated: True also returns memories that are no longer valid, marked as such.
        k: the maximum number of memories, 1 to 10,000; None means that only the token budget limits them.
        min_scores: the minimum scores at each stage; see `MinScores`.
        include_entities: True also returns observations of the mentioned entities, both derived from their facts and
            retained by you.
        max_entity_tokens: the token budget for these observations, 1 to 10,000,000.
        include_chunks: True also returns the passages from which the memories were made.
        max_chunk_tokens: the token budget for these passages, 1 to 10,000,000.
        include_source_facts: True also returns the facts that support returned observations.
        max_source_fact_tokens: the token budget for these facts, 1 to 10,000,000.
        include_records: True also returns exact figures and all rows of the relevant records, for a question such as
            "what did I spend on food this week?".
        max_record_tokens: the total token budget for these figures and rows, 1 to 10,000,000.
        text: "full", or "compact" for a short text with a date, so that more memories fit the budget.
        relevance: "all" fills the budget; "likely" omits memories without evidence of relevance.
        order: "rank" for best first, or "time" for oldest first; does not affect the selection.
        include_core: True also returns core memory, for prompts that always include memories: first the user's lasting
            facts, with at most a fifth of `max_tokens` and 400 tokens, and the whole bank if it fits into half of
            `max_tokens`. For small talk, only core memory is returned. Cannot be combined with `k`.
        speaker: the person who asks, as in `Message.speaker`; in a bank with several speakers, this selects whose core
            memory is returned.
        trace: True also records the outcome of every candidate; `RecallResult.explain` shows it.
        embedding: the question's vector from the bank's embedder (of any norm), or texts to embed instead, whose mean
            vector is used. Keywords, names and times still come from the question. None embeds the question.
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
    """Options of `bank.reflect`, `bank.reflect_stream` and `bank.reflect_stages`, with defaults in `REFLECT_DEFAULTS`.

    Attributes:
        strategy: single (one recall, one model call) or agentic (the model searches step by step).
        budget: the search effort: low, mid or high. For agentic, it also sets the maximum number of steps.
        max_tokens: the token budget for the memories used for the answer, 1 to 10,000,000.
        max_answer_tokens: the token limit of the answer. A longer answer is requested again, then cut at the end of a
            sentence; a streamed answer is cut without a second request, with a note.
        response_schema: a pydantic model; the answer is also returned in this form as `Reflection.structured`. With
            single this takes no further model call, otherwise one more. None is returned if memory has no answer.
        tools: functions and LangChain tools that the model may call in addition to the memory tools, with agentic.
        context: your description of the situation, up to 8,000 characters, shown to the model as data.
        form_opinions: True allows the answer to form opinions. None are formed with `as_of`, on a bank `with_profile`,
            on a read-only engine or without a model; a note says so.
        operation: a key of this reflection, such as thread and run, of up to 512 characters; a retry with the same key
            does not form an opinion twice.
        tags: the visibility tags; empty means any memory.
        tags_match: the mode of `tags`: any, all, any_strict, all_strict or exact; any and all also include untagged
            memories.
        tag_groups: further conditions on tags, as in `RecallOptions`.
        window: the time range (start, end) of the question; None detects it in the question.
        as_of: a conversation time; the answer uses the memories valid at that time and the profile of that time (see
            `profile.history`), and relative times ("yesterday") refer to it. None means now.
        query_timestamp: the reference time for "yesterday" and recency; None means `as_of`, or else now.
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
    """Show the names behind `**options` in `inspect.signature`, for `help`, notebooks and agent frameworks.

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
        listed = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
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
        }  # for frameworks that create a tool from the method
        return method

    return show
