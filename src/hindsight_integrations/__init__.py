"""Long-term memory for AI agents, inside your own Python process.

Importing this package loads only pydantic and the standard library. Each public name imports its module on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import lazy_attribute

if TYPE_CHECKING:
    from hindsight_integrations.bank import AsyncMemoryBank
    from hindsight_integrations.config import HindsightConfig
    from hindsight_integrations.engine.assembly import AsyncHindsight
    from hindsight_integrations.engine.engine import bank_at
    from hindsight_integrations.errors import (
        AccessDenied,
        ArchiveInvalid,
        BackgroundRefused,
        BankForgotten,
        BankNotFound,
        BankNotOpen,
        EmbedderMismatch,
        EngineClosed,
        HindsightError,
        IndexBehind,
        IndexOutOfStep,
        InvalidRequest,
        LedgerBusy,
        LedgerReadOnly,
        MalformedOutput,
        MissingDependency,
        ModelError,
        ModelUnavailable,
        RevisionConflict,
        SchemaMismatch,
        StorageError,
        WrongDimension,
    )
    from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntries, RecordEntry
    from hindsight_integrations.model.entities import Entity, EntityChange, EntitySummary, EntityType
    from hindsight_integrations.model.erasure import BankCopy, ForgetReceipt
    from hindsight_integrations.model.facts import ExtractedFact
    from hindsight_integrations.model.items import FoundItem, Item, ItemDelete, ItemPut
    from hindsight_integrations.model.links import CausalRelation, LinkType
    from hindsight_integrations.model.mental_models import Directive, MentalModel, ModelState, RefreshTrigger
    from hindsight_integrations.model.metadata import (
        MetadataCondition,
        MetadataFilter,
        MetadataGroup,
        MetadataOperator,
    )
    from hindsight_integrations.model.opinions import (
        Assessment,
        ConfidenceChange,
        Conviction,
        Evidence,
        Opinion,
        OpinionHistory,
    )
    from hindsight_integrations.model.options import RecallOptions, ReflectOptions
    from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition, ProfileChange
    from hindsight_integrations.model.recalled import RecalledUnit
    from hindsight_integrations.model.records import Record, RecordKind
    from hindsight_integrations.model.references import BankReference
    from hindsight_integrations.model.reflections import (
        Citation,
        OpinionChange,
        OpinionOutcome,
        ReflectEvent,
        ReflectEventKind,
        Reflection,
        ReflectStep,
    )
    from hindsight_integrations.model.requests import (
        Budget,
        Document,
        Message,
        MinScores,
        RelevanceLevel,
        ResultOrder,
        RetainItem,
        Strategy,
        TagAnd,
        TagLeaf,
        TagNot,
        TagOr,
        TagsMatch,
        TextForm,
    )
    from hindsight_integrations.model.results import (
        BulkResult,
        RecallResult,
        RetainResult,
        Settled,
        UnitPage,
    )
    from hindsight_integrations.model.time import Interval
    from hindsight_integrations.model.trace import Channel
    from hindsight_integrations.model.units import FactType, MemoryUnit
    from hindsight_integrations.sync import Hindsight, MemoryBank
    from hindsight_integrations.tolerance import OnError

_HOMES = {
    "bank": ("AsyncMemoryBank",),
    "config": ("HindsightConfig",),
    "engine.assembly": ("AsyncHindsight",),
    "engine.engine": ("bank_at",),
    "errors": (
        "AccessDenied",
        "ArchiveInvalid",
        "BackgroundRefused",
        "BankCopy",
        "BankForgotten",
        "BankNotFound",
        "BankNotOpen",
        "EmbedderMismatch",
        "EngineClosed",
        "HindsightError",
        "IndexBehind",
        "IndexOutOfStep",
        "InvalidRequest",
        "LedgerBusy",
        "LedgerReadOnly",
        "MalformedOutput",
        "MissingDependency",
        "ModelError",
        "ModelUnavailable",
        "RevisionConflict",
        "SchemaMismatch",
        "StorageError",
        "WrongDimension",
    ),
    "model.aggregates": (
        "Aggregate",
        "Aggregation",
        "RecordEntries",
        "RecordEntry",
    ),
    "model.entities": (
        "Entity",
        "EntityChange",
        "EntitySummary",
        "EntityType",
    ),
    "model.erasure": ("BankCopy", "ForgetReceipt"),
    "model.facts": ("ExtractedFact",),
    "model.items": (
        "FoundItem",
        "Item",
        "ItemDelete",
        "ItemPut",
    ),
    "model.links": (
        "CausalRelation",
        "LinkType",
    ),
    "model.mental_models": (
        "Directive",
        "MentalModel",
        "ModelState",
        "RefreshTrigger",
    ),
    "model.metadata": (
        "MetadataCondition",
        "MetadataFilter",
        "MetadataGroup",
        "MetadataOperator",
    ),
    "model.opinions": (
        "Assessment",
        "ConfidenceChange",
        "Conviction",
        "Evidence",
        "Opinion",
        "OpinionHistory",
    ),
    "model.options": (
        "RecallOptions",
        "ReflectOptions",
    ),
    "model.profile": (
        "BankProfile",
        "BigFive",
        "Disposition",
        "ProfileChange",
    ),
    "model.recalled": ("RecalledUnit",),
    "model.records": (
        "Record",
        "RecordKind",
    ),
    "model.references": ("BankReference",),
    "model.reflections": (
        "Citation",
        "OpinionChange",
        "OpinionOutcome",
        "ReflectEvent",
        "ReflectEventKind",
        "Reflection",
        "ReflectStep",
    ),
    "model.requests": (
        "Budget",
        "Document",
        "Message",
        "MinScores",
        "RelevanceLevel",
        "ResultOrder",
        "RetainItem",
        "Strategy",
        "TagAnd",
        "TagLeaf",
        "TagNot",
        "TagOr",
        "TagsMatch",
        "TextForm",
    ),
    "model.results": (
        "BulkResult",
        "RecallResult",
        "RetainResult",
        "Settled",
        "UnitPage",
    ),
    "model.time": ("Interval",),
    "model.trace": ("Channel",),
    "model.units": (
        "FactType",
        "MemoryUnit",
    ),
    "sync": (
        "Hindsight",
        "MemoryBank",
    ),
    "tolerance": ("OnError",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AccessDenied",
    "Aggregate",
    "Aggregation",
    "ArchiveInvalid",
    "Assessment",
    "AsyncHindsight",
    "AsyncMemoryBank",
    "BackgroundRefused",
    "BankCopy",
    "BankForgotten",
    "BankNotFound",
    "BankNotOpen",
    "BankProfile",
    "BankReference",
    "BigFive",
    "Budget",
    "BulkResult",
    "CausalRelation",
    "Channel",
    "Citation",
    "ConfidenceChange",
    "Conviction",
    "Directive",
    "Disposition",
    "Document",
    "EmbedderMismatch",
    "EngineClosed",
    "Entity",
    "EntityChange",
    "EntitySummary",
    "EntityType",
    "Evidence",
    "ExtractedFact",
    "FactType",
    "ForgetReceipt",
    "FoundItem",
    "Hindsight",
    "HindsightConfig",
    "HindsightError",
    "IndexBehind",
    "IndexOutOfStep",
    "Interval",
    "InvalidRequest",
    "Item",
    "ItemDelete",
    "ItemPut",
    "LedgerBusy",
    "LedgerReadOnly",
    "LinkType",
    "MalformedOutput",
    "MemoryBank",
    "MemoryUnit",
    "MentalModel",
    "Message",
    "MetadataCondition",
    "MetadataFilter",
    "MetadataGroup",
    "MetadataOperator",
    "MinScores",
    "MissingDependency",
    "ModelError",
    "ModelState",
    "ModelUnavailable",
    "OnError",
    "Opinion",
    "OpinionChange",
    "OpinionHistory",
    "OpinionOutcome",
    "ProfileChange",
    "RecallOptions",
    "RecallResult",
    "RecalledUnit",
    "Record",
    "RecordEntries",
    "RecordEntry",
    "RecordKind",
    "ReflectEvent",
    "ReflectEventKind",
    "ReflectOptions",
    "ReflectStep",
    "Reflection",
    "RefreshTrigger",
    "RelevanceLevel",
    "ResultOrder",
    "RetainItem",
    "RetainResult",
    "RevisionConflict",
    "SchemaMismatch",
    "Settled",
    "StorageError",
    "Strategy",
    "TagAnd",
    "TagLeaf",
    "TagNot",
    "TagOr",
    "TagsMatch",
    "TextForm",
    "UnitPage",
    "WrongDimension",
    "bank_at",
]


if not TYPE_CHECKING:  # Hidden from type checkers, which otherwise would not report unknown names.

    def __getattr__(name: str) -> object:
        return lazy_attribute(__name__, _HOME_OF, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
