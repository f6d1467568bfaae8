"""Settings of retain: how facts are extracted, and what becomes of a passage the model fails on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.choices import as_choices
from hindsight_integrations.config.seconds import check_seconds
from hindsight_integrations.errors import InvalidRequest

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
            (`RetainResult.queued`, decision 126). None waits for all of it.
        source_turns: the text of retained messages is kept beside the memories made from it (decision 098). What waits for
            extraction is kept and found in any case.
        shown_memories: at most so many of the bank's valid memories, the nearest to a passage, are shown to the model with
            it, so that it can say which of them no longer hold (decision 110); 0 shows none, None means 16, and 6 for CONCISE.
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
