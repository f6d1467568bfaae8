"""Inputs: messages and documents to retain, and validated queries for recall and reflect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, Field

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.metadata import MetadataTest
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import TOLD_NETWORKS, FactType

GivenTime: TypeAlias = Annotated[datetime | str | float, Field(union_mode="left_to_right")]
"""A time as accepted from callers: a datetime, an ISO 8601 string or Unix seconds; pydantic parses a stored time as a datetime."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        text: the text.
        speaker: a name, or "user" / "assistant".
        timestamp: the time of the message; None means the time of the retain call.
        id: the caller's stable id; None identifies the message by position, time and text.
        role: the speaker's role; None means the agent if the speaker is "assistant", otherwise a user.
        about_agent: True merges the message into the bank's background instead of making memories; only for system
            messages that describe the agent.
    """

    text: str
    speaker: str = "user"
    timestamp: GivenTime | None = None
    id: str | None = None
    role: Role | None = None
    about_agent: bool = False

    @property
    def spoken(self) -> str:
        """The message as in a transcript, with speaker and text."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Document:
    """A text to retain, with its metadata.

    Attributes:
        text: the text.
        id: the caller's stable id; None identifies the document by its text.
        timestamp: the time of writing; None means the time of the retain call.
        metadata: the caller's metadata, stored with every unit made from it; see the bank's `retain`.
        about_agent: True also merges the text into the bank's background, for a description of the agent.
    """

    text: str
    id: str | None = None
    timestamp: GivenTime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    about_agent: bool = False


@dataclass(frozen=True, slots=True)
class RetainItem:
    """One item of a bulk retain; see `retain` for details of the fields.

    Attributes:
        content: a text, a Document, or the messages of a conversation.
        thread: the id of the conversation.
        timestamp: the time of content without its own; None means now.
        context: a description of the content, for extraction.
        tags: the visibility tags.
        metadata: the metadata to store with every memory.
        facts: facts that the caller extracted from the content; None extracts them.
        entities: the names of entities that every memory mentions.
        document_id: the caller's id for a plain text.
        about_agent: True if the text, document or system messages describe the agent.
    """

    content: str | Document | Sequence[Any]
    thread: str = ""
    timestamp: GivenTime | None = None
    context: str = ""
    tags: Iterable[str] = ()
    metadata: Mapping[str, object] | None = None
    facts: Iterable[ExtractedFact | Mapping[str, Any]] | None = None
    entities: Sequence[str] = ()
    document_id: str | None = None
    about_agent: bool = False


class Budget(StrEnum):
    """The search effort of a recall (recall docs, "Budget: Search Depth"), independent of the size of its result (`max_tokens`)."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Strategy(StrEnum):
    """The strategy by which reflect produces its answer."""

    SINGLE = "single"
    """One recall, one model call (paper section 6.1)."""
    AGENTIC = "agentic"
    """The model searches step by step."""


class TextForm(StrEnum):
    """The form of a memory's text that recall returns."""

    FULL = "full"
    """The full text."""
    COMPACT = "compact"
    """The short text with a numeric date, so that more memories fit the budget."""


class RelevanceLevel(StrEnum):
    """Which memories of the ranking recall returns."""

    ALL = "all"
    """As many as fit the budget."""
    LIKELY = "likely"
    """Only those with evidence of relevance; the result may be empty."""


class ResultOrder(StrEnum):
    """The order of the returned memories."""

    RANK = "rank"
    """Best first."""
    TIME = "time"
    """Oldest first."""


class TagsMatch(StrEnum):
    """How a query's tags select units. `any` and `all` also select untagged units; `exact` compares whole sets."""

    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class TagLeaf:
    """A condition that selects units like `tags` and `tags_match`; `exact` without tags selects untagged units."""

    tags: tuple[str, ...]
    match: TagsMatch = TagsMatch.ANY_STRICT


@dataclass(frozen=True, slots=True)
class TagAnd:
    """A condition that selects the units selected by all groups."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagOr:
    """A condition that selects the units selected by at least one group."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagNot:
    """A condition that selects the units not selected by the group."""

    group: TagGroup


TagGroup: TypeAlias = TagLeaf | TagAnd | TagOr | TagNot
"""A boolean condition on a unit's tags."""

GivenGroup: TypeAlias = TagGroup | Mapping[str, Any]
"""Tag conditions as accepted from callers: {"tags": [...], "match": "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}."""


@dataclass(frozen=True, slots=True)
class MinScores:
    """Minimum scores at each stage; None means no minimum.

    Attributes:
        semantic: the minimum cosine in the semantic channel, in [-1, 1]; another channel may still find the unit.
        keyword: the minimum BM25 score in the keyword channel, >= 0; another channel may still find the unit.
        reranker: the minimum sigmoid of the reranker's logit, in [0, 1]; not applied to units that were not reranked.
        final: the minimum `RecalledUnit.score`, which is the fused score or, with a reranker, the logit plus 120 times the
            fused score.
    """

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


GivenScores: TypeAlias = MinScores | Mapping[str, float | None] | None
"""Minimum scores as accepted from callers: {"reranker": 0.3}."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """One recall, validated and normalised.

    Attributes:
        text: the question.
        max_tokens: the token budget k of paper eq. 8; never exceeded.
        budget: the search effort.
        types: the networks to search.
        tags: the visibility tags.
        tags_match: the mode of `tags`.
        window: the caller's time window; None detects it in the text.
        as_of: the conversation time whose valid memories are searched; None means now.
        query_timestamp: the reference time for "yesterday" and recency (aware UTC).
        include_invalidated: True also returns memories that are no longer valid, marked as such.
        k: the maximum number of units; None means that only the token budget limits them.
        tag_groups: further conditions on tags, all of which must match in addition to `tags`.
        metadata: the filter on metadata; None matches all units.
        min_scores: the minimum scores.
        entity_tokens: the token budget for observations of mentioned entities; 0 omits them.
        chunk_tokens: the token budget for the units' passages; 0 omits them.
        source_fact_tokens: the token budget for the facts that support observations; 0 omits them.
        record_tokens: the token budget for record digests; 0 omits them.
        form: the form of each unit's text, which is returned and counted.
        relevance: the point at which recall stops adding memories from the ranking.
        order: the order of the returned units.
        include_core: True also returns core memory, and the whole bank if it fits into half of the budget.
        speaker: the person who asks, as in `Message.speaker`, whose core memory is returned.
        trace: True also records the outcome of every candidate.
        embedding: the question's unit vector, or texts whose mean vector replaces it; empty embeds the question.
    """

    text: str
    query_timestamp: datetime
    max_tokens: int
    budget: Budget = Budget.MID
    types: tuple[FactType, ...] = TOLD_NETWORKS
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = TagsMatch.ANY
    window: Interval | None = None
    as_of: datetime | None = None
    include_invalidated: bool = False
    k: int | None = None
    tag_groups: tuple[TagGroup, ...] = ()
    metadata: MetadataTest | None = None
    min_scores: MinScores = MinScores()
    entity_tokens: int = 0
    chunk_tokens: int = 0
    source_fact_tokens: int = 0
    record_tokens: int = 0
    form: TextForm = TextForm.FULL
    relevance: RelevanceLevel = RelevanceLevel.ALL
    order: ResultOrder = ResultOrder.RANK
    include_core: bool = False
    speaker: str = "user"
    trace: bool = False
    embedding: tuple[float, ...] | tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ReflectQuery:
    """One reflection, validated and normalised.

    Attributes:
        recall: the query that recalls the memories for the answer.
        strategy: the strategy by which the answer is produced.
        max_answer_tokens: the token limit of the answer; a longer one is requested again, then cut.
        context: the caller's description of the situation; empty for none.
        form_opinions: True allows the answer to form opinions; see `Reflection.opinions`.
        no_opinions: the reason why no opinions can be formed although they were requested; empty otherwise.
        operation: the key that prevents a retry from forming an opinion twice; empty for none.
        response_schema: the pydantic model of a typed answer, if requested.
        tools: the caller's additional tools, for AGENTIC.
    """

    recall: RecallQuery
    max_answer_tokens: int
    strategy: Strategy = Strategy.SINGLE
    context: str = ""
    form_opinions: bool = True
    no_opinions: str = ""
    operation: str = ""
    response_schema: type[BaseModel] | None = None
    tools: tuple[Callable[..., object], ...] = ()
