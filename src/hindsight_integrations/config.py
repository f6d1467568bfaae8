"""All settings: one frozen tree, passed in; `HindsightConfig.from_env` reads the environment."""

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
    """Which vector index serves."""

    CHROMA = "chroma"
    EXACT = "exact"


class KeywordBackend(StrEnum):
    """Which keyword index serves; AUTO takes Lucene where a JVM is installed, else FTS5."""

    AUTO = "auto"
    LUCENE = "lucene"
    FTS5 = "fts5"


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Which backends hold the projections.

    Attributes:
        open_banks: how many banks have their indexes open at once, at least 1; of others the least recently used is closed
            and opens again when it is next needed. A small open bank takes 3 MB and 8 files, a large one what its memories
            take.
        server_directory: the data directory of an engine that Agent Server opens by itself; `open` is always
            told one.
    """

    vectors: VectorBackend | str = VectorBackend.CHROMA
    keywords: KeywordBackend | str = KeywordBackend.AUTO
    reader_threads: int = 4
    open_banks: int = 64
    server_directory: Path = Path(".hindsight")

    def __post_init__(self) -> None:
        """Refuses a number of banks that could not serve one."""
        as_choices(self, vectors=VectorBackend, keywords=KeywordBackend)
        if self.open_banks < 1:
            raise InvalidRequest(
                "open_banks", f"{self.open_banks} banks cannot serve one", "Allow 1 or more."
            )


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How many days after it was mentioned a memory is forgotten for good, as by `forget(before=...)`; nothing by default.

    `settle`, of a bank or of the engine, does it.

    Attributes:
        days: of every bank; None keeps.
        banks: of a bank, by its name, in place of `days`; None keeps.
        tags: of what bears a tag, in every bank, where that is shorter.
    """

    days: float | None = None
    banks: Mapping[str, float | None] = field(default_factory=dict)
    tags: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses an age that is none: nothing is to be forgotten by a slip of the pen."""
        ages = {"days": self.days, **self.banks, **self.tags}
        for name, age in ages.items():
            if age is not None and (isinstance(age, bool) or not isinstance(age, int | float) or not age > 0):
                raise InvalidRequest(
                    "retention",
                    f"{shown(age)} days is not an age ({name})",
                    "Give more than 0, or None to keep.",
                )

    def age_in(self, bank: str) -> timedelta | None:
        """How old a memory of that bank may get; None means it is kept.

        Args:
            bank: its name.
        """
        days = self.banks.get(bank, self.days)
        return None if days is None else timedelta(days=days)


class OnChannelFailure(StrEnum):
    """What recall does when a channel fails: raise (default), or answer from the others and say so in the trace."""

    RAISE = "raise"
    DEGRADE = "degrade"


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """Numbers of the recall pipeline (paper section 4.2).

    Attributes:
        candidates: per channel, for low, mid and high effort (recall docs, "How Budget Maps to Pipeline Parameters").
        rerank_candidates: how many the reranker may read, likewise.
        rerank_deadline_ms: when it stops, milliseconds.
        neighbours: relevance is smoothed over neighbouring turns of a conversation.
        boosts: with a reranker, recency and the query's time window nudge its scores, by 10 % at most each (recall docs,
            "Stage 3: Combined Scoring (Boosts)"). Off: measured, they earn nothing.
        on_channel_failure: what happens when a channel's index is broken.
    """

    candidates: tuple[int, int, int] = (100, 300, 1000)
    rerank_candidates: tuple[int, int, int] = (30, 60, 100)
    rerank_deadline_ms: float = 1000.0
    neighbours: bool = True
    boosts: bool = False
    on_channel_failure: OnChannelFailure | str = OnChannelFailure.RAISE

    def __post_init__(self) -> None:
        as_choices(self, on_channel_failure=OnChannelFailure)


STEP = 0.15  # a of paper eq. 26: 0.70 + a = 0.85 and 0.85 - 2a = 0.55 [paper section 5.7.1]


@dataclass(frozen=True, slots=True)
class OpinionConfig:
    """How opinions are formed and revised (paper sections 5.4 and 5.5).

    Attributes:
        rule: how an assessment moves a confidence: "additive" (paper eq. 26) or "multiplicative" (reference).
        step: a of eq. 26, in (0, 1); the other rule has its own rates.
        cautious_steps: a skeptical profile moves its opinions by smaller steps.
        delay_s: seconds between new facts and their assessment, so that many retains in a row cost one.
    """

    rule: UpdateRule | str = UpdateRule.ADDITIVE
    step: float = STEP
    cautious_steps: bool = True
    delay_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuses steps that would not move, or would jump over everything."""
        as_choices(self, rule=UpdateRule)
        if not 0.0 < self.step < 1.0:
            raise InvalidRequest(
                "step", f"{self.step} is not between 0 and 1", "Give 0.15, as the paper does."
            )
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is not a delay", "Give 0 or more; 60 is usual."
            )

    @property
    def delay(self) -> timedelta:
        """From new facts to their assessment."""
        return timedelta(seconds=self.delay_s)


FEWEST_OBSERVATIONS = 3  # of an entity with facts enough [paper section A.3]
MOST_OBSERVATIONS = 7  # paper section A.3: three to seven
FEWEST_PROMPT_TOKENS = 500  # of facts: about eight, told at length


class ObservationMode(StrEnum):
    """How what is known of an entity is summed up: AUTO by the model where there is one, else as EXTRACTIVE; OFF not at all.

    EXTRACTIVE chooses those of the entity's facts that say most of the rest, and asks no model.
    """

    AUTO = "auto"
    EXTRACTIVE = "extractive"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ObservationConfig:
    """How observations of entities are made (paper section 4.1.5).

    Attributes:
        mode: by whom; OFF makes none and leaves those that are there.
        delay_s: seconds between a change of an entity's facts and the making of its observations, so that many changes in a
            row cost one making.
        searchable: recall finds observations among memories where it is given no types; else they are only shown beside
            them, as in the paper.
        fewest_facts: of an entity, from which on the model is asked; of fewer, the facts themselves are the observations.
        most: observations of one entity.
        prompt_tokens: what the facts of one request to the model may take. Of more facts the newest and most distinct are
            shown, and the others are listed as left out.
    """

    mode: ObservationMode | str = ObservationMode.AUTO
    delay_s: float = 60.0
    searchable: bool = False
    fewest_facts: int = 3
    most: int = MOST_OBSERVATIONS
    prompt_tokens: int = 4000

    def __post_init__(self) -> None:
        """Refuses numbers under which no observation could be made."""
        as_choices(self, mode=ObservationMode)
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is not a delay", "Give 0 or more; 60 is usual."
            )
        if self.fewest_facts < 1:
            raise InvalidRequest("fewest_facts", f"{self.fewest_facts} is less than 1", "Give 1 or more.")
        if not 1 <= self.most <= MOST_OBSERVATIONS:
            raise InvalidRequest("most", f"{self.most} is not between 1 and {MOST_OBSERVATIONS}", "Give 7.")
        if self.prompt_tokens < FEWEST_PROMPT_TOKENS:
            raise InvalidRequest(
                "prompt_tokens",
                f"{self.prompt_tokens} tokens hold no facts to sum up",
                f"Give {FEWEST_PROMPT_TOKENS} or more.",
            )

    @property
    def delay(self) -> timedelta | None:
        """From a change to the making of observations anew; None: none are made."""
        return None if self.mode is ObservationMode.OFF else timedelta(seconds=self.delay_s)


MODELS_DELAY_S = 60.0  # of many retains in a row one refresh is made (no source)


@dataclass(frozen=True, slots=True)
class MentalModelConfig:
    """How mental models are kept up to date.

    Attributes:
        delay_s: seconds between changed memories and the refresh of models whose trigger is "auto", so that many retains in
            a row cost one.
    """

    delay_s: float = MODELS_DELAY_S

    def __post_init__(self) -> None:
        """Refuses what is no delay."""
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is not a delay", "Give 0 or more; 60 is usual."
            )

    @property
    def delay(self) -> timedelta:
        """From changed memories to the refresh."""
        return timedelta(seconds=self.delay_s)


class EmbedderBackend(StrEnum):
    """Which local embedder serves where `open` is given none.

    ONNX is bge-small (the default); STATIC is potion-base-8M, faster and less exact; SENTENCE_TRANSFORMERS runs on torch.
    """

    ONNX = "onnx"
    STATIC = "static"
    SENTENCE_TRANSFORMERS = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which local embedder serves, and where weights come from: a folder, else an installed package, else the hub."""

    embedder_path: Path | None = None
    reranker_path: Path | None = None
    offline: bool = False
    embedder: EmbedderBackend | str = EmbedderBackend.ONNX

    def __post_init__(self) -> None:
        as_choices(self, embedder=EmbedderBackend)


TOO_LONG = 10**9  # seconds: thirty years


def check_seconds(name: str, value: float) -> None:
    """Refuse a time limit that no model could keep.

    Raises:
        InvalidRequest: it is not positive, or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < TOO_LONG:
        raise InvalidRequest(name, f"{shown(value)} seconds is not a time limit", "Give 60 or more.")


MOST_SHOWN_MEMORIES = 100  # with a passage; they have a budget of tokens as well


class ExtractionMode(StrEnum):
    """How retain turns text into facts; AUTO is narrative with a model and verbatim without.

    CONCISE asks the model for one short sentence a fact, which can end memories and neither replace them nor end a part; CUSTOM
    is narrative with the user's guidelines appended. VERBATIM keeps each message word for word: with a model it asks only which
    memories a person's messages end, without one, or with `shown_memories=0`, nothing.
    """

    AUTO = "auto"
    NARRATIVE = "narrative"
    CONCISE = "concise"
    CUSTOM = "custom"
    VERBATIM = "verbatim"


class GeneralKnowledge(StrEnum):
    """What extraction makes of talk about how the world works: one short sentence that it was talked about, nothing, or all."""

    BRIEF = "brief"
    DROP = "drop"
    FULL = "full"


class OnModelFailure(StrEnum):
    """What retain does with a passage when the model cannot be reached or refuses: raise, or keep it as a task.

    VERBATIM extraction does neither: its messages are kept and end nothing.
    """

    RAISE = "raise"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """How one retain differs from the settings.

    Attributes:
        on_model_failure: in place of the setting; None keeps it.
        background: the model is not asked now: everything it would be asked becomes tasks, but for what messages end that are
            kept word for word, which nobody is asked then.
        timeout_s: in place of `extraction_timeout_s`; None keeps it.
    """

    on_model_failure: OnModelFailure | None = None
    background: bool = False
    timeout_s: float | None = None


AS_SET = ExtractionOptions()
"""A retain that differs in nothing."""


@dataclass(frozen=True, slots=True)
class RetainConfig:
    """Choices and numbers of the retain pipeline.

    Attributes:
        guidelines: what CUSTOM extraction adds to the instructions of the model; only with that mode.
        on_model_failure: QUEUE never fails a retain for want of the model: `settle` extracts later.
        chunk_characters: of a passage, which is one call of the model; None means 3,000, and 1,000 for CONCISE, which small models
            are asked with. Of documents VERBATIM makes passages of its own.
        extraction_timeout_s: seconds that a retain, or each item of a bulk retain, may wait for the model in all. What was
            extracted by then is kept and the rest becomes tasks, whatever `on_model_failure` says, since nothing failed
            (`RetainResult.queued`). None waits for all of it.
        source_turns: the text of retained messages is kept beside the memories made from it. What waits for
            extraction is kept and found in any case.
        shown_memories: at most so many of the bank's valid memories, the nearest to a passage, are shown to the model with
            it, so that it can say which of them no longer hold; 0 shows none, None means 16, and 6 for CONCISE.
            VERBATIM asks no model with 0.
        shown_categories: the names in use for the bank's records are shown to the model too, so that one thing keeps one name.
        general_knowledge: how much of what is not about the people who talk becomes memory.
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
        """Refuses guidelines that no extraction would read, too."""
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
                "Show 16; 0 shows none.",
            )
        if self.chunk_characters is not None and self.chunk_characters < 1:
            raise InvalidRequest(
                "chunk_characters", f"{self.chunk_characters} characters hold nothing", "Give 1000 or more."
            )
        if self.extraction_timeout_s is not None:
            check_seconds("extraction_timeout_s", self.extraction_timeout_s)
        if bool(self.guidelines.strip()) != (self.extraction is ExtractionMode.CUSTOM):
            raise InvalidRequest(
                "guidelines",
                f"extraction {self.extraction} and guidelines {self.guidelines[:40]!r} do not go together",
                "Give guidelines with extraction='custom', and with no other.",
            )

    @property
    def passage_characters(self) -> int:
        """`chunk_characters`, or what the way of extraction makes of None."""
        if self.chunk_characters is not None:
            return self.chunk_characters
        return 1000 if self.extraction is ExtractionMode.CONCISE else 3000

    @property
    def most_shown_memories(self) -> int:
        """`shown_memories`, or what the way of extraction makes of None."""
        if self.shown_memories is not None:
            return self.shown_memories
        return 6 if self.extraction is ExtractionMode.CONCISE else 16


@dataclass(frozen=True, slots=True)
class HindsightConfig:
    """All settings of an engine.

    Attributes:
        time_zone: IANA name in which naive timestamps are read (default UTC).
        languages: ISO 639-1 codes of the languages of texts and questions, the likeliest first. Times, names, withdrawals
            and kinds of questions are read in these; an engine refuses a code it does not know when it opens. Of a language
            without a file in `language/packs` only dates written in full are read.
        date_order: of dates in figures, "dmy", "mdy" or "ymd"; None refuses a timestamp that several orders make a date of.
        week_starts: on which day weeks begin, "this week" and weeks that records are added up by: monday, saturday or
            sunday.
        model: the language model to use where `open` names none, as LangChain's `init_chat_model` takes it ("openai:gpt-5-mini"); None means no model. A key that
            happens to be in the environment never selects one.
        model_timeout_s: seconds of one call of the model, its tries and their pauses included; a call that takes longer has
            failed (`ModelUnavailable`). A LanguageModel of your own keeps its own time.
        concurrent_tasks: how many waiting tasks a worker or the engine's `settle` does at once, each of another bank; no
            more than `storage.open_banks`. 1 suits a model that runs on this machine.
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
        """Codes are put in small letters, each once; none at all, an unknown order of dates, no time and no task, is refused."""
        check_seconds("model_timeout_s", self.model_timeout_s)
        codes = tuple(dict.fromkeys(code.strip().lower() for code in self.languages))
        if not codes:
            raise InvalidRequest("languages", "no language is given", "Name one at least: languages=('en',).")
        object.__setattr__(self, "languages", codes)
        if self.concurrent_tasks < 1:
            raise InvalidRequest(
                "concurrent_tasks", f"{self.concurrent_tasks} at once do nothing", "Allow 1 or more."
            )
        as_choices(self, week_starts=Weekday)
        if self.date_order is not None:
            as_choices(self, date_order=DateOrder)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> HindsightConfig:
        """Defaults overridden by variables HINDSIGHT_<name>.

        Names: MODEL, MODEL_TIMEOUT_S, EXTRACTION_TIMEOUT_S, LANGUAGES ("en,de"), DATE_ORDER, WEEK_STARTS, TIME_ZONE, VECTORS, KEYWORDS, EXTRACTION, ON_MODEL_FAILURE,
        OBSERVATIONS, DIRECTORY (of Agent Server), OFFLINE, EMBEDDER, EMBEDDER_PATH, RERANKER_PATH.

        Raises:
            InvalidRequest: a variable names no known choice.
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
        raise InvalidRequest(name, f"{written!r} is not a number of seconds", "Give 60 or more.") from None


def _path(values: Mapping[str, str], name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None


def _choice(values: Mapping[str, str], name: str, kind: type[Choice], default: str) -> Choice:
    return choice(kind, (values.get(name) or default).lower(), name)


__all__ = [
    "FEWEST_OBSERVATIONS",
    "MOST_OBSERVATIONS",
    "MOST_SHOWN_MEMORIES",
    "EmbedderBackend",
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
