"""Inputs: messages and documents to retain, and checked queries for recall and reflect."""

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
"""A time as a caller may write it: a datetime, an ISO 8601 string or Unix seconds; pydantic parses stored ones as datetimes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        text: its text.
        speaker: a name, or "user" / "assistant".
        timestamp: when it was said; None means the time of the retain call.
        id: the caller's stable id; None means it is identified by position, time and text.
        role: the speaker's role; None means the agent if the speaker is "assistant", else a user.
        about_agent: whether it defines who the agent is and is merged into the bank's background; only for
            messages from "system", which then become no memories.
    """

    text: str
    speaker: str = "user"
    timestamp: GivenTime | None = None
    id: str | None = None
    role: Role | None = None
    about_agent: bool = False

    @property
    def spoken(self) -> str:
        """The turn as in a transcript: speaker and text."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Document:
    """A text to retain, with its metadata.

    Attributes:
        text: the text itself.
        id: the caller's stable id; None means the text identifies it.
        timestamp: when it was written; None means the time of the retain call.
        metadata: the caller's own values, stored with every unit made from it; see the bank's `retain`.
        about_agent: whether it defines who the agent is: it becomes memories like others, and is merged into
            the bank's background.
    """

    text: str
    id: str | None = None
    timestamp: GivenTime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    about_agent: bool = False


@dataclass(frozen=True, slots=True)
class RetainItem:
    """One item of a bulk retain; see `retain` for what each field means.

    Attributes:
        content: text, a Document, or the messages of a conversation.
        thread: the conversation.
        timestamp: when it was spoken or written, for content without a time of its own; None means now.
        context: a description of the content, for extraction.
        tags: visibility tags.
        metadata: values to store with every memory.
        facts: facts already extracted from the content; None means extract them.
        entities: names that every memory of it is about.
        document_id: the caller's id of a plain text.
        about_agent: whether the text, document or system messages define who the agent is.
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
    """Search effort of recall (recall docs, "Budget: Search Depth"); independent of max_tokens, its size."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Strategy(StrEnum):
    """How reflect produces its answer."""

    SINGLE = "single"
    """One recall, one model call (paper section 6.1)."""
    AGENTIC = "agentic"
    """The model searches step by step."""


class TextForm(StrEnum):
    """Which form of a memory's text recall returns."""

    FULL = "full"
    """The full text."""
    COMPACT = "compact"
    """What it says, with a numeric date; more memories fit a budget."""


class RelevanceLevel(StrEnum):
    """How far down the ranking recall goes."""

    ALL = "all"
    """Until the budget is spent."""
    LIKELY = "likely"
    """Until the evidence of relevance ends; nothing if nothing is relevant."""


class ResultOrder(StrEnum):
    """The order of the returned memories."""

    RANK = "rank"
    """Best first."""
    TIME = "time"
    """Oldest first."""


class TagsMatch(StrEnum):
    """How a query's tags select units. `any` and `all` also keep untagged units; `exact` compares whole sets."""

    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class TagLeaf:
    """Selects units whose tags match, as `tags` and `tags_match` do; `exact` without tags means untagged units."""

    tags: tuple[str, ...]
    match: TagsMatch = TagsMatch.ANY_STRICT


@dataclass(frozen=True, slots=True)
class TagAnd:
    """Selects units that all groups select."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagOr:
    """Selects units that at least one group selects."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagNot:
    """Selects units that the group does not select."""

    group: TagGroup


TagGroup: TypeAlias = TagLeaf | TagAnd | TagOr | TagNot
"""A boolean condition on a unit's tags."""

GivenGroup: TypeAlias = TagGroup | Mapping[str, Any]
"""Tag conditions as a caller may write them: {"tags": [...], "match": "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}."""


@dataclass(frozen=True, slots=True)
class MinScores:
    """Minimum scores at each stage; None means no minimum.

    Attributes:
        semantic: minimum cosine, in [-1, 1], in the semantic channel; another channel may still find the
            unit.
        keyword: minimum BM25 score, >= 0, in the keyword channel, likewise.
        reranker: minimum sigmoid of the reranker's logit, in [0, 1]; does not apply to units that it did not score.
        final: minimum `RecalledUnit.score`: the fused score; with a reranker its logit plus 120 times the
            fused score.
    """

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


GivenScores: TypeAlias = MinScores | Mapping[str, float | None] | None
"""Minimum scores as a caller may write them: {"reranker": 0.3}."""


RECALLED_BY_DEFAULT = TOLD_NETWORKS


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """One recall, validated and normalised.

    Attributes:
        text: the question.
        max_tokens: token budget k of paper eq. 8; never exceeded.
        budget: search effort.
        types: networks to search.
        tags: visibility tags.
        tags_match: how they select.
        window: a time window given by the caller; None means detect it in the text.
        as_of: conversation time whose state is wanted; None means now.
        query_timestamp: the reference time for "yesterday" and recency (aware UTC).
        include_invalidated: also return memories that are no longer valid, marked as such.
        k: maximum number of units; None means only tokens limit them.
        tag_groups: further conditions on tags; all must match in addition to `tags`.
        metadata: filter on metadata; None matches everything.
        min_scores: thresholds.
        entity_tokens: token budget for observations of the entities mentioned; 0 means none are included.
        chunk_tokens: token budget for the units' passages; 0 likewise.
        source_fact_tokens: token budget for the facts that observations are based on; 0 likewise.
        record_tokens: token budget for record digests; 0 likewise.
        form: which form of each unit's text is returned, and counted.
        relevance: how far down the ranking to go.
        order: of the units returned.
        include_core: also return core memory, and the whole bank if it fits into half of the budget.
        speaker: who asks, as in `Message.speaker`; core memory is theirs.
        trace: also record what happened to every candidate.
        embedding: the question's unit vector, or texts whose mean vector replaces it; empty means embed the
            question.
    """

    text: str
    query_timestamp: datetime
    max_tokens: int
    budget: Budget = Budget.MID
    types: tuple[FactType, ...] = RECALLED_BY_DEFAULT
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
        recall: the question, and which memories the answer may use: budget, tags, window, as_of.
        strategy: how the answer is produced.
        max_answer_tokens: a longer answer is requested again, then cut.
        context: the caller's description of the situation; empty for none.
        form_opinions: whether opinions may be formed; see `Reflection.opinions`.
        no_opinions: why none may be formed although requested; becomes a note.
        operation: key under which a retry forms nothing twice; empty for none.
        response_schema: pydantic model of a typed answer, if requested.
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
