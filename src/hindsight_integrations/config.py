"""All settings as one frozen tree; `HindsightConfig.from_env` reads them from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from math import inf
from pathlib import Path

from hindsight_integrations.choices import Choice, as_choices, choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.opinions import UpdateRule
from hindsight_integrations.model.time import DateOrder, Weekday


class VectorBackend(StrEnum):
    """The vector index."""

    CHROMA = "chroma"
    EXACT = "exact"


class KeywordBackend(StrEnum):
    """The keyword index; AUTO uses Lucene if a JVM is installed, else FTS5."""

    AUTO = "auto"
    LUCENE = "lucene"
    FTS5 = "fts5"


CONNECTIONS = 8
"""Default number of PostgreSQL connections for reads, and the same number for writes.

Six processes that use all of their connections stay below the server's default limit of 100.
"""


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Storage backends and their limits.

    Attributes:
        vectors: the vector index; EXACT compares a query with every vector and does not need Chroma.
        keywords: the keyword index, see `KeywordBackend`.
        reader_threads: maximum number of threads that read from the ledger and search.
        open_banks: maximum number of banks with open indexes, at least 1. The least recently used bank is closed,
            and reopened on next use. A small open bank takes 3 MB and 8 files; a large one needs memory for
            all its memories.
        server_directory: the data directory of an engine opened by Agent Server; `open` always gets an
            explicit one.
        connections: maximum number of PostgreSQL connections for reads, and the same number for writes, which
            is how many banks can be written at the same time.
    """

    vectors: VectorBackend | str = VectorBackend.CHROMA
    keywords: KeywordBackend | str = KeywordBackend.AUTO
    reader_threads: int = 4
    open_banks: int = 64
    server_directory: Path = Path(".hindsight")
    connections: int = CONNECTIONS

    def __post_init__(self) -> None:
        """Reject fewer than one open bank, and fewer than two connections."""
        as_choices(self, vectors=VectorBackend, keywords=KeywordBackend)
        for name, least in (("open_banks", 1), ("connections", 2)):
            if getattr(self, name) < least:
                raise InvalidRequest(
                    name, f"{getattr(self, name)} is less than {least}", f"Use {least} or more."
                )


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """Maximum age of memories, counted from the time they were mentioned. By default, memories are kept.

    `settle`, of a bank or of the engine, erases older memories in the same way as `forget(before=...)`. So does a worker, at
    its start and every hour.

    Attributes:
        days: maximum age in days, for every bank; None keeps everything.
        banks: maximum age in days by bank name, which overrides `days`; None keeps everything.
        tags: maximum age in days by tag, in every bank; if several limits apply, the shortest counts.
    """

    days: float | None = None
    banks: Mapping[str, float | None] = field(default_factory=dict)
    tags: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject ages that are not positive, so that nothing is erased by mistake."""
        ages = {"days": self.days, **self.banks, **self.tags}
        for name, age in ages.items():
            if age is not None and (isinstance(age, bool) or not isinstance(age, int | float) or not age > 0):
                raise InvalidRequest(
                    "retention",
                    f"{shown(age)} is not a positive number of days ({name})",
                    "Use a number over 0, or None to keep everything.",
                )

    def age_in(self, bank: str) -> timedelta | None:
        """Return the maximum age of memories in a bank; None means that they are kept.

        Args:
            bank: the bank's name.
        """
        days = self.banks.get(bank, self.days)
        return None if days is None else timedelta(days=days)


class OnChannelFailure(StrEnum):
    """What recall does if a channel fails: raise the error (default), or use the other channels and record the failure."""

    RAISE = "raise"
    DEGRADE = "degrade"


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """Parameters of the recall pipeline (paper section 4.2).

    Attributes:
        candidates: number of candidates per channel, for low, mid and high effort (recall docs, "How Budget Maps
            to Pipeline Parameters").
        rerank_candidates: maximum number of candidates that are reranked, for low, mid and high effort.
        rerank_deadline_ms: time limit of the reranker in milliseconds.
        neighbours: whether to smooth relevance over neighbouring turns of a conversation.
        boosts: whether recency and the query's time window adjust the reranker's scores, by at most 10 % each
            (recall docs, "Stage 3: Combined Scoring (Boosts)"). Off by default, because they did not improve
            any of our benchmarks.
        on_channel_failure: what to do if a channel's index is broken.
    """

    candidates: tuple[int, int, int] = (100, 300, 1000)
    rerank_candidates: tuple[int, int, int] = (30, 60, 100)
    rerank_deadline_ms: float = 1000.0
    neighbours: bool = True
    boosts: bool = False
    on_channel_failure: OnChannelFailure | str = OnChannelFailure.RAISE

    def __post_init__(self) -> None:
        as_choices(self, on_channel_failure=OnChannelFailure)


def _check_delay(seconds: float) -> None:
    if not 0 <= seconds < inf:
        raise InvalidRequest("delay_s", f"{seconds} is not a delay in seconds", "Use 0 or more; 60 is usual.")


STEP = 0.15  # the step a of paper eq. 26: 0.70 + a = 0.85 and 0.85 - 2a = 0.55 [paper section 5.7.1]


@dataclass(frozen=True, slots=True)
class OpinionConfig:
    """How opinions are formed and revised (paper sections 5.4 and 5.5).

    Attributes:
        rule: how an assessment changes a confidence: "additive" (paper eq. 26) or "multiplicative"
            (reference).
        step: the step a of eq. 26, in (0, 1); the multiplicative rule has its own rates.
        cautious_steps: whether a skeptical profile uses smaller steps.
        delay_s: seconds between new facts and their assessment, so that a burst of retains causes one assessment.
    """

    rule: UpdateRule | str = UpdateRule.ADDITIVE
    step: float = STEP
    cautious_steps: bool = True
    delay_s: float = 60.0

    def __post_init__(self) -> None:
        """Reject steps outside (0, 1) and invalid delays."""
        as_choices(self, rule=UpdateRule)
        if not 0.0 < self.step < 1.0:
            raise InvalidRequest("step", f"{self.step} is not between 0 and 1", "Use 0.15, as in the paper.")
        _check_delay(self.delay_s)

    @property
    def delay(self) -> timedelta:
        """Time between new facts and their assessment."""
        return timedelta(seconds=self.delay_s)


FEWEST_OBSERVATIONS = 3  # minimum number for an entity with enough facts [paper section A.3]
MOST_OBSERVATIONS = 7  # maximum number (three to seven in paper section A.3)
FEWEST_PROMPT_TOKENS = 500  # minimum token budget for facts: about eight long ones


class ObservationMode(StrEnum):
    """How entities are summarised: AUTO uses the model if there is one, otherwise EXTRACTIVE; OFF disables summaries.

    EXTRACTIVE selects the entity's most representative facts without a model.
    """

    AUTO = "auto"
    EXTRACTIVE = "extractive"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ObservationConfig:
    """How observations of entities are made (paper section 4.1.5).

    Attributes:
        mode: see `ObservationMode`; OFF makes no new observations and keeps existing ones.
        delay_s: seconds between a change of an entity's facts and the update of its observations, so that a
            burst of changes causes one model call.
        searchable: whether recall without `types` also searches observations. If False, they are only
            returned beside memories, as in the paper.
        fewest_facts: minimum number of an entity's facts for a model call. With fewer facts, the facts
            themselves become its observations.
        most: maximum number of observations of an entity.
        prompt_tokens: token budget for the facts in one model call. If the facts exceed it, the newest and most
            distinct are shown to the model, and the others are listed as omitted.
    """

    mode: ObservationMode | str = ObservationMode.AUTO
    delay_s: float = 60.0
    searchable: bool = False
    fewest_facts: int = 3
    most: int = MOST_OBSERVATIONS
    prompt_tokens: int = 4000

    def __post_init__(self) -> None:
        """Reject values out of range."""
        as_choices(self, mode=ObservationMode)
        _check_delay(self.delay_s)
        if self.fewest_facts < 1:
            raise InvalidRequest("fewest_facts", f"{self.fewest_facts} is less than 1", "Use 1 or more.")
        if not 1 <= self.most <= MOST_OBSERVATIONS:
            raise InvalidRequest("most", f"{self.most} is not between 1 and {MOST_OBSERVATIONS}", "Use 7.")
        if self.prompt_tokens < FEWEST_PROMPT_TOKENS:
            raise InvalidRequest(
                "prompt_tokens",
                f"{self.prompt_tokens} tokens are not enough for the facts to summarise",
                f"Use {FEWEST_PROMPT_TOKENS} or more.",
            )

    @property
    def delay(self) -> timedelta | None:
        """Time between a change of an entity's facts and the update of its observations; None if they are off."""
        return None if self.mode is ObservationMode.OFF else timedelta(seconds=self.delay_s)


@dataclass(frozen=True, slots=True)
class MentalModelConfig:
    """How mental models are kept up to date.

    Attributes:
        delay_s: seconds between a change of memories and the refresh of models with trigger "auto", so that a burst
            of retains causes one refresh.
    """

    delay_s: float = 60.0

    def __post_init__(self) -> None:
        """Reject invalid delays."""
        _check_delay(self.delay_s)

    @property
    def delay(self) -> timedelta:
        """Time between a change of memories and the refresh of mental models."""
        return timedelta(seconds=self.delay_s)


class EmbedderBackend(StrEnum):
    """The local embedder, used if none is passed to `open`.

    ONNX is bge-small (the default); STATIC is potion-base-8M, faster and less accurate; SENTENCE_TRANSFORMERS
    uses torch.
    """

    ONNX = "onnx"
    STATIC = "static"
    SENTENCE_TRANSFORMERS = "sentence-transformers"

    @property
    def model(self) -> str:
        """The name of the backend's model, as banks record it."""
        match self:
            case EmbedderBackend.ONNX:
                return "BAAI/bge-small-en-v1.5"
            case EmbedderBackend.STATIC:
                return "minishlab/potion-base-8M"
            case EmbedderBackend.SENTENCE_TRANSFORMERS:
                return "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The local embedder, and where weights come from: a folder, else an installed package, else the model hub.

    Attributes:
        embedder_path: folder with the embedder's weights.
        reranker_path: folder with the reranker's weights.
        offline: whether to use only weights on this machine and never download any.
        embedder: the embedder, see `EmbedderBackend`.
    """

    embedder_path: Path | None = None
    reranker_path: Path | None = None
    offline: bool = False
    embedder: EmbedderBackend | str = EmbedderBackend.ONNX

    def __post_init__(self) -> None:
        as_choices(self, embedder=EmbedderBackend)


TOO_LONG = 10**9  # maximum in seconds: thirty years


def check_seconds(name: str, value: float) -> None:
    """Reject an invalid time limit.

    Raises:
        InvalidRequest: it is not a positive number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < TOO_LONG:
        raise InvalidRequest(name, f"{shown(value)} is not a time limit in seconds", "Use 60 or more.")


MOST_SHOWN_MEMORIES = 100  # maximum per passage, in addition to a token budget


class ExtractionMode(StrEnum):
    """How retain converts text to facts. AUTO means NARRATIVE if there is a model, otherwise VERBATIM.

    NARRATIVE asks the model for self-contained facts. CONCISE asks for one short sentence per fact; it can
    invalidate memories, but cannot replace them or invalidate parts of them. CUSTOM is NARRATIVE with the user's
    guidelines appended. VERBATIM stores each message word for word; it uses a model only to find which memories
    a person's message invalidates, and not at all with `shown_memories=0`.
    """

    AUTO = "auto"
    NARRATIVE = "narrative"
    CONCISE = "concise"
    CUSTOM = "custom"
    VERBATIM = "verbatim"


class GeneralKnowledge(StrEnum):
    """The part of general knowledge to keep: a short sentence that it was discussed, nothing, or everything."""

    BRIEF = "brief"
    DROP = "drop"
    FULL = "full"


class OnModelFailure(StrEnum):
    """What to do with a passage if the model fails or is unreachable: raise the error, or queue the passage as a task.

    VERBATIM extraction does neither: it stores the messages, which then invalidate no memories.
    """

    RAISE = "raise"
    QUEUE = "queue"


class Extract(StrEnum):
    """When facts are extracted from new messages. Until then, recall finds the messages themselves."""

    TURN = "turn"
    """Immediately, with one model call per turn."""
    IDLE = "idle"
    """In one batch, when the messages fill a passage or none has arrived for 5 minutes."""
    SESSION = "session"
    """In one batch, when `settle` ends the session, the messages fill 10 passages or none has arrived for an hour."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """How long messages wait to be extracted together with later messages of their conversation.

    Attributes:
        quiet: time without a new message after which the waiting messages are extracted.
        passages: amount of waiting text, in passages, at which the messages are extracted.
    """

    quiet: timedelta
    passages: int


GATHERINGS: Mapping[Extract, Gathering] = {
    Extract.IDLE: Gathering(timedelta(minutes=5), passages=1),
    Extract.SESSION: Gathering(timedelta(hours=1), passages=10),
}
"""Waiting limits for each choice; TURN does not wait."""


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Per-retain overrides of the settings.

    Attributes:
        on_model_failure: overrides the setting; None keeps it.
        background: run model calls later, as tasks. VERBATIM extraction then does not check which memories its
            messages invalidate.
        timeout_s: overrides `extraction_timeout_s`; None keeps it.
        extract: when the messages are extracted; no effect on documents.
        namespace: identifies the message list within the thread; its messages are extracted together.
    """

    on_model_failure: OnModelFailure | None = None
    background: bool = False
    timeout_s: float | None = None
    extract: Extract = Extract.TURN
    namespace: str = ""


AS_SET = ExtractionOptions()
"""Options that override nothing."""


@dataclass(frozen=True, slots=True)
class RetainConfig:
    """Parameters of the retain pipeline.

    Attributes:
        extraction: how text becomes memories, see `ExtractionMode`.
        guidelines: text appended to the model's instructions; requires CUSTOM extraction.
        on_model_failure: with QUEUE, no retain fails because of the model: `settle` extracts the text later.
        chunk_characters: maximum characters of a passage. Each passage is one model call. None means 3,000, or
            1,000 for CONCISE, which is meant for small models. VERBATIM has its own way of splitting documents.
        extraction_timeout_s: total seconds that a retain, or each item of a bulk retain, may wait for the
            model. Facts extracted by then are kept, and the remaining passages become tasks
            (`RetainResult.queued`), regardless of `on_model_failure`. None means no limit.
        source_turns: whether to store the text of retained messages in addition to the memories made from it.
            Messages that wait for extraction are always stored and searchable.
        shown_memories: maximum number of valid memories shown to the model with a passage, so that it can tell
            which of them the passage invalidates. The memories nearest to the passage are shown. 0 shows
            none; None means 16, or 6 for CONCISE. With 0, VERBATIM makes no model calls.
        shown_categories: whether to show the model the bank's record categories, so that it reuses their
            names.
        general_knowledge: how much general knowledge, which is not about the speakers, is remembered.
    """

    extraction: ExtractionMode | str = ExtractionMode.AUTO
    guidelines: str = ""
    on_model_failure: OnModelFailure | str = OnModelFailure.RAISE
    chunk_characters: int | None = None
    concurrent_extractions: int = 4
    extraction_timeout_s: float | None = 600.0
    source_turns: bool = True
    shown_memories: int | None = None
    shown_categories: bool = True
    general_knowledge: GeneralKnowledge | str = GeneralKnowledge.BRIEF

    def __post_init__(self) -> None:
        """Reject values out of range, and guidelines without CUSTOM extraction."""
        as_choices(
            self,
            extraction=ExtractionMode,
            on_model_failure=OnModelFailure,
            general_knowledge=GeneralKnowledge,
        )
        if self.shown_memories is not None and not 0 <= self.shown_memories <= MOST_SHOWN_MEMORIES:
            raise InvalidRequest(
                "shown_memories",
                f"{self.shown_memories} is not between 0 and {MOST_SHOWN_MEMORIES}",
                "Use 16, or 0 to show none.",
            )
        if self.chunk_characters is not None and self.chunk_characters < 1:
            raise InvalidRequest(
                "chunk_characters", f"{self.chunk_characters} is less than 1", "Use 1000 or more."
            )
        if self.extraction_timeout_s is not None:
            check_seconds("extraction_timeout_s", self.extraction_timeout_s)
        if bool(self.guidelines.strip()) != (self.extraction is ExtractionMode.CUSTOM):
            raise InvalidRequest(
                "guidelines",
                f"extraction {self.extraction} and guidelines {self.guidelines[:40]!r} cannot be combined",
                "Set both extraction='custom' and guidelines, or neither.",
            )

    @property
    def passage_characters(self) -> int:
        """`chunk_characters`, or its default for the extraction mode."""
        if self.chunk_characters is not None:
            return self.chunk_characters
        return 1000 if self.extraction is ExtractionMode.CONCISE else 3000

    @property
    def most_shown_memories(self) -> int:
        """`shown_memories`, or its default for the extraction mode."""
        if self.shown_memories is not None:
            return self.shown_memories
        return 6 if self.extraction is ExtractionMode.CONCISE else 16


@dataclass(frozen=True, slots=True)
class HindsightConfig:
    """All settings of an engine.

    Attributes:
        time_zone: IANA name of the time zone of naive timestamps (default UTC).
        languages: ISO 639-1 codes of the languages of texts and questions, most likely first. They determine how
            times, names, withdrawals and kinds of questions are recognised. Opening an engine fails for unknown
            codes. For a language without a file in `language/packs`, only full dates are recognised.
        date_order: order of numeric dates, "dmy", "mdy" or "ymd"; None rejects ambiguous timestamps.
        week_starts: first day of the week, for "this week" and weekly totals of records: monday, saturday or
            sunday.
        model: the language model to use if none is passed to `open`, named as in LangChain's `init_chat_model`
            ("openai:gpt-5-mini"). None means no model; an API key in the environment never selects one.
        model_timeout_s: seconds per model call, including retries and pauses; a longer call fails with
            `ModelUnavailable`. Does not apply to your own LanguageModel.
        concurrent_tasks: number of tasks that a worker or the engine's `settle` processes at the same time, each
            in a different bank; at most `storage.open_banks`. Use 1 for a model that runs on this machine.
    """

    storage: StorageConfig = field(default_factory=StorageConfig)
    models: ModelConfig = field(default_factory=ModelConfig)
    retain: RetainConfig = field(default_factory=RetainConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    observations: ObservationConfig = field(default_factory=ObservationConfig)
    opinions: OpinionConfig = field(default_factory=OpinionConfig)
    mental_models: MentalModelConfig = field(default_factory=MentalModelConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)
    time_zone: str = "UTC"
    model: str | None = None
    model_timeout_s: float = 300.0
    languages: tuple[str, ...] = ("en",)
    date_order: DateOrder | str | None = None
    week_starts: Weekday | str = Weekday.MONDAY
    concurrent_tasks: int = 4

    def __post_init__(self) -> None:
        """Normalise language codes, and reject values out of range."""
        check_seconds("model_timeout_s", self.model_timeout_s)
        codes = tuple(dict.fromkeys(code.strip().lower() for code in self.languages))
        if not codes:
            raise InvalidRequest("languages", "the list is empty", "Name at least one: languages=('en',).")
        object.__setattr__(self, "languages", codes)
        if self.concurrent_tasks < 1:
            raise InvalidRequest(
                "concurrent_tasks", f"{self.concurrent_tasks} is less than 1", "Use 1 or more."
            )
        as_choices(self, week_starts=Weekday)
        if self.date_order is not None:
            as_choices(self, date_order=DateOrder)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> HindsightConfig:
        """Return the defaults overridden by variables HINDSIGHT_<name>.

        The names are MODEL, MODEL_TIMEOUT_S, EXTRACTION_TIMEOUT_S, LANGUAGES ("en,de"), DATE_ORDER, WEEK_STARTS,
        TIME_ZONE, VECTORS, KEYWORDS, EXTRACTION, ON_MODEL_FAILURE, OBSERVATIONS, DIRECTORY (for Agent Server),
        OFFLINE, EMBEDDER, EMBEDDER_PATH and RERANKER_PATH.

        Raises:
            InvalidRequest: a variable has an unknown value.
        """
        values = os.environ if env is None else env
        base = cls()
        return replace(
            base,
            model=values.get("HINDSIGHT_MODEL") or None,
            model_timeout_s=_seconds(values, "HINDSIGHT_MODEL_TIMEOUT_S", base.model_timeout_s),
            time_zone=values.get("HINDSIGHT_TIME_ZONE", base.time_zone),
            languages=tuple((values.get("HINDSIGHT_LANGUAGES") or "en").split(",")),
            date_order=choice(DateOrder, order.lower(), "HINDSIGHT_DATE_ORDER")
            if (order := values.get("HINDSIGHT_DATE_ORDER"))
            else None,
            week_starts=_choice(values, "HINDSIGHT_WEEK_STARTS", Weekday, base.week_starts),
            storage=replace(
                base.storage,
                vectors=_choice(values, "HINDSIGHT_VECTORS", VectorBackend, base.storage.vectors),
                keywords=_choice(values, "HINDSIGHT_KEYWORDS", KeywordBackend, base.storage.keywords),
                server_directory=_path(values, "HINDSIGHT_DIRECTORY") or base.storage.server_directory,
            ),
            retain=replace(
                base.retain,
                extraction=_choice(values, "HINDSIGHT_EXTRACTION", ExtractionMode, base.retain.extraction),
                on_model_failure=_choice(
                    values, "HINDSIGHT_ON_MODEL_FAILURE", OnModelFailure, base.retain.on_model_failure
                ),
                extraction_timeout_s=_seconds(values, "HINDSIGHT_EXTRACTION_TIMEOUT_S", 600.0),
            ),
            observations=replace(
                base.observations,
                mode=_choice(values, "HINDSIGHT_OBSERVATIONS", ObservationMode, base.observations.mode),
            ),
            models=ModelConfig(
                embedder_path=_path(values, "HINDSIGHT_EMBEDDER_PATH"),
                reranker_path=_path(values, "HINDSIGHT_RERANKER_PATH"),
                offline=values.get("HINDSIGHT_OFFLINE", "").lower() in {"1", "true", "yes"},
                embedder=_choice(values, "HINDSIGHT_EMBEDDER", EmbedderBackend, base.models.embedder),
            ),
        )


def _seconds(values: Mapping[str, str], name: str, default: float) -> float:
    written = values.get(name) or str(default)
    try:
        return float(written)
    except ValueError:
        raise InvalidRequest(name, f"{written!r} is not a number of seconds", "Use 60 or more.") from None


def _path(values: Mapping[str, str], name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None


def _choice(values: Mapping[str, str], name: str, kind: type[Choice], default: str) -> Choice:
    return choice(kind, (values.get(name) or default).lower(), name)


__all__ = [
    "FEWEST_OBSERVATIONS",
    "MOST_OBSERVATIONS",
    "MOST_SHOWN_MEMORIES",
    "EmbedderBackend",
    "Extract",
    "ExtractionMode",
    "GeneralKnowledge",
    "HindsightConfig",
    "KeywordBackend",
    "MentalModelConfig",
    "ModelConfig",
    "ObservationConfig",
    "ObservationMode",
    "OnChannelFailure",
    "OnModelFailure",
    "OpinionConfig",
    "RecallConfig",
    "RetainConfig",
    "RetentionConfig",
    "StorageConfig",
    "VectorBackend",
]
