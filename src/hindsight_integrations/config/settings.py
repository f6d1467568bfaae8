"""All settings of an engine. `from_env` is the only reader of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hindsight_integrations.choices import Choice, as_choices, choice
from hindsight_integrations.config.local_models import EmbedderBackend, ModelConfig
from hindsight_integrations.config.mental_models import MentalModelConfig
from hindsight_integrations.config.observations import ObservationConfig, ObservationMode
from hindsight_integrations.config.opinions import OpinionConfig
from hindsight_integrations.config.recall import RecallConfig
from hindsight_integrations.config.retain import ExtractionMode, OnModelFailure, RetainConfig
from hindsight_integrations.config.retention import RetentionConfig
from hindsight_integrations.config.seconds import check_seconds
from hindsight_integrations.config.storage import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import DateOrder, Weekday


@dataclass(frozen=True, slots=True)
class HindsightConfig:
    """All settings of an engine.

    Attributes:
        time_zone: IANA name in which naive timestamps are read (default UTC).
        languages: ISO 639-1 codes of the languages of texts and questions, the likeliest first. Times, names, withdrawals
            and kinds of questions are read in these; an engine refuses a code it does not know when it opens. Of a language
            without a folder in `text/languages` only dates written in full are read.
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
        raise InvalidRequest(name, f"{written!r} is no number of seconds", "Give 60 or more.") from None


def _path(values: Mapping[str, str], name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None


def _choice(values: Mapping[str, str], name: str, kind: type[Choice], default: str) -> Choice:
    return choice(kind, (values.get(name) or default).lower(), name)
