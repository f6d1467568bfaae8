"""What callers pass: messages and documents to retain, queries to recall."""

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
"""A time as a caller may write it: a datetime, an ISO 8601 string or Unix seconds; pydantic reads stored ones as datetimes."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        text: what it says.
        speaker: whose it is: a name, or "user" / "assistant".
        timestamp: when; None means the time of the retain call.
        id: the caller's stable id; None means position, time and text identify it.
        role: whose side it is from; None means the agent's where the speaker is called "assistant", else a user's.
        about_agent: the program says here who the agent is, to be merged into its background; of messages from "system"
            alone, which are no memories then.
    """

    text: str
    speaker: str = "user"
    timestamp: GivenTime | None = None
    id: str | None = None
    role: Role | None = None
    about_agent: bool = False

    @property
    def spoken(self) -> str:
        """The turn as a transcript shows it: speaker and text."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Document:
    """A text to retain with what is known about it.

    Attributes:
        text: the text itself.
        id: the caller's stable id; None means the text identifies it.
        timestamp: when it was written; None means the time of the retain call.
        metadata: the caller's own values, kept on every unit made from it; see the bank's `retain`.
        about_agent: the program says here who the agent is: a memory like others, and merged into its background.
    """

    text: str
    id: str | None = None
    timestamp: GivenTime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    about_agent: bool = False


@dataclass(frozen=True, slots=True)
class RetainItem:
    """One thing to retain among many; see `retain` for what each field means.

    Attributes:
        content: text, a Document, or the messages of a conversation.
        thread: the conversation.
        timestamp: when it was spoken or written, for what carries no time of its own; now if None.
        context: what it is, for extraction.
        tags: visibility tags.
        metadata: values to keep with every memory.
        facts: facts somebody else extracted from the content; None means extract them.
        entities: names every memory of it is about.
        document_id: the caller's id of a plain text.
        about_agent: the text or document, or the system messages of the conversation, say who the agent is.
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
    """How much effort recall spends (recall docs, "Budget: Search Depth"); apart from max_tokens, its size."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


class Strategy(StrEnum):
    """How reflect comes to its answer."""

    SINGLE = "single"
    """One recall, one model call (paper section 6.1)."""
    AGENTIC = "agentic"
    """The model looks for what it needs itself, step by step."""


class TextForm(StrEnum):
    """Which text of a memory recall returns."""

    FULL = "full"
    """All of it."""
    COMPACT = "compact"
    """What it says with the date as figures: more memories fit a budget."""


class RelevanceLevel(StrEnum):
    """How far down the ranking recall goes."""

    ALL = "all"
    """Until the budget is spent."""
    LIKELY = "likely"
    """Until the evidence gives out: nothing is returned where nothing is relevant."""


class ResultOrder(StrEnum):
    """In which order the memories chosen are returned."""

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
    """Units whose tags match these, as `tags` and `tags_match` do; `exact` without tags means untagged units."""

    tags: tuple[str, ...]
    match: TagsMatch = TagsMatch.ANY_STRICT


@dataclass(frozen=True, slots=True)
class TagAnd:
    """Units every one of these selects."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagOr:
    """Units at least one of these selects."""

    groups: tuple[TagGroup, ...]


@dataclass(frozen=True, slots=True)
class TagNot:
    """Units this one does not select."""

    group: TagGroup


TagGroup: TypeAlias = TagLeaf | TagAnd | TagOr | TagNot
"""A boolean condition on a unit's tags."""

GivenGroup: TypeAlias = TagGroup | Mapping[str, Any]
"""The same as a caller may write it: {"tags": [...], "match": "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}."""


@dataclass(frozen=True, slots=True)
class MinScores:
    """What a unit must reach at each stage that scores it; None lets everything through.

    Attributes:
        semantic: least cosine, in [-1, 1]; cuts the semantic channel's list, another channel may still find the unit.
        keyword: least BM25 score, >= 0; cuts the keyword channel's list likewise.
        reranker: least sigmoid of the reranker's logit, in [0, 1]; units it did not read are not held to it.
        final: least `RecalledUnit.score`: the fused score; with a reranker its logit plus 120 times the fused score.
    """

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


GivenScores: TypeAlias = MinScores | Mapping[str, float | None] | None
"""The same as a caller may write it: {"reranker": 0.3}."""


RECALLED_BY_DEFAULT = TOLD_NETWORKS


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """One recall, checked and normalised.

    Attributes:
        text: the question.
        max_tokens: token budget k of paper eq. 8; the units returned never cost more.
        budget: effort.
        types: networks searched.
        tags: visibility tags.
        tags_match: how they select.
        window: a time window given by the caller; None means "find one in the text".
        as_of: conversation time whose state is wanted; None means now.
        query_timestamp: the instant "yesterday" and recency count from (aware UTC).
        include_invalidated: also return what is no longer valid, marked.
        k: a hard limit on the number of units; None means tokens alone decide.
        tag_groups: further conditions on tags; all must hold, and `tags` too.
        metadata: condition on what came with them; None lets everything through.
        min_scores: thresholds.
        entity_tokens: budget for observations of the entities met; 0 means none are included.
        chunk_tokens: budget for the passages the units came from; 0 likewise.
        source_fact_tokens: budget for what the observations among the units stand on; 0 likewise.
        record_tokens: budget for the digests of records that the question touches; 0 likewise.
        form: which text of each unit is returned, and counts.
        relevance: how far down the ranking to go.
        order: of the units returned.
        include_core: also return core memory and, of a bank that fits into half of the budget, everything.
        speaker: who asks, as in `Message.speaker`; core memory is theirs.
        trace: also record how every candidate fared.
        embedding: the question's unit vector where the caller has it, or texts whose mean vector stands for it; empty where
            the question itself is embedded.
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
    """One reflection, checked and normalised.

    Attributes:
        recall: the question, and which memories the answer may use: budget, tags, window, as_of.
        strategy: how the answer is found.
        max_answer_tokens: a longer answer is asked for again, then cut.
        context: the caller's words about the situation; empty for none.
        form_opinions: whether opinions may be formed; see `Reflection.opinions`.
        no_opinions: why none may be, though the caller wants them; a note of the reflection.
        operation: key under which a retry forms nothing twice; empty for none.
        response_schema: pydantic model of a typed answer, if one is wanted.
        tools: further tools of the caller's, for AGENTIC.
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
