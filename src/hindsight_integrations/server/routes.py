"""The routes of the Hindsight server that its Python client (1.1) and its integrations call, with the same JSON models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from time import monotonic
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations import (
    AsyncMemoryBank,
    BankProfile,
    Disposition,
    Document,
    FactType,
    InvalidRequest,
    MemoryUnit,
    RecalledUnit,
    RecallResult,
    RetainItem,
    RetainResult,
)
from hindsight_integrations.bank.reading import MOST_SKIPPED
from hindsight_integrations.model.profile import Character
from hindsight_integrations.model.recalled import RecalledChunk
from hindsight_integrations.server.access import Access
from hindsight_integrations.server.banks import Banks, GivenAccess, GivenBanks

router = APIRouter()
PREFIX = "/v1/default/banks"
STARTED = monotonic()

Tags = list[str]
Match = Literal["any", "all", "any_strict", "all_strict", "exact"]


class EntityName(BaseModel):
    """An entity that an item mentions."""

    text: str


class TextBlock(BaseModel):
    """A block of content. Only text can be stored."""

    type: str
    text: str | None = None


class Item(BaseModel):
    """A text to retain."""

    content: str | list[TextBlock]
    timestamp: str | None = Field(None, description='ISO 8601; null or "unset" means now.')
    context: str | None = None
    metadata: dict[str, Any] | None = None
    document_id: str | None = None
    entities: list[EntityName] | None = None
    tags: Tags | None = None
    update_mode: Literal["replace", "append"] | None = None


class Retain(BaseModel):
    """Texts to retain."""

    model_config = ConfigDict(populate_by_name=True)

    items: list[Item] = Field(min_length=1)
    background: bool | None = Field(False, alias="async", description="Extract facts later, as a task.")
    document_tags: Tags | None = None


class Tokens(BaseModel):
    """A token limit for an optional part of a result."""

    max_tokens: int | None = None


class Include(BaseModel):
    """Optional parts of a recall result."""

    entities: Tokens | None = None
    chunks: Tokens | None = None
    source_facts: Tokens | None = None


class Span(BaseModel):
    """The time range of a question."""

    start: str
    end: str


class Recall(BaseModel):
    """A question for recall."""

    query: str
    types: list[str] | None = None
    budget: str | None = None
    max_tokens: int | None = None
    trace: bool | None = False
    query_timestamp: str | None = None
    include: Include | None = None
    tags: Tags | None = None
    tags_match: Match | None = "any"
    tag_groups: list[dict[str, Any]] | None = None
    min_scores: dict[str, float | None] | None = None
    temporal_window: Span | None = None


class ReflectInclude(BaseModel):
    """Optional parts of an answer."""

    facts: dict[str, Any] | None = None


class Reflect(BaseModel):
    """A question to answer from memory."""

    query: str
    budget: str | None = None
    context: str | None = None
    max_tokens: int | None = None
    include: ReflectInclude | None = None
    response_schema: dict[str, Any] | None = None
    tags: Tags | None = None
    tags_match: Match | None = "any"
    tag_groups: list[dict[str, Any]] | None = None


class Traits(BaseModel):
    """The agent's reasoning style. Each trait is from 1 to 5."""

    skepticism: int | None = None
    literalism: int | None = None
    empathy: int | None = None


class Profile(BaseModel):
    """The profile of a bank's agent. Fields that are null or missing do not change."""

    name: str | None = None
    mission: str | None = None
    background: str | None = None
    reflect_mission: str | None = None
    disposition: Traits | None = None
    disposition_skepticism: int | None = None
    disposition_literalism: int | None = None
    disposition_empathy: int | None = None


class NewTraits(BaseModel):
    """A new reasoning style."""

    disposition: Traits


class Background(BaseModel):
    """A text about the agent."""

    content: str


class Change(BaseModel):
    """A correction of a memory."""

    text: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    state: Literal["valid", "invalidated"] | None = None
    reason: str | None = None


@router.get("/health")
@router.get("/health/ready")
async def health() -> dict[str, str]:
    """Report that the server answers."""
    return {"status": "healthy", "database": "connected"}


@router.get("/health/live")
async def live() -> dict[str, Any]:
    """Report that the process runs."""
    return {
        "status": "alive",
        "version": version("hindsight-integrations"),
        "uptime_seconds": monotonic() - STARTED,
    }


@router.get("/version")
async def api_version() -> dict[str, Any]:
    """Return the version and feature flags, in the form of the Hindsight server; its optional features are all off."""
    parts = (
        "observations mcp worker bank_config_api bank_llm_health file_upload_api document_export_api "
        "document_import_api audit_log llm_trace store_document_text"
    )
    return {"api_version": version("hindsight-integrations"), "features": dict.fromkeys(parts.split(), False)}


@router.get(PREFIX)
async def list_banks(
    access: GivenAccess,
    banks: GivenBanks,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> dict[str, Any]:
    """List the banks that the token gives access to."""
    names = [name for name in await banks.engine.banks() if access.includes(name)]
    page = [
        {
            "bank_id": name,
            "name": profile.name,
            "mission": profile.background,
            "disposition": _traits(profile.disposition),
        }
        for name in names[offset : offset + limit]
        for profile in [await (await banks.get(name)).profile.get()]
    ]
    return {"banks": page, "total": len(names), "limit": limit, "offset": offset}


@router.put(PREFIX + "/{bank_id}")
@router.patch(PREFIX + "/{bank_id}")
async def create_bank(bank_id: str, body: Profile, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Create a bank, or change its profile."""
    bank = await _bank(bank_id, access, banks, create=True)
    before = await bank.profile.get()
    traits = body.disposition or Traits()
    given = {
        "skepticism": body.disposition_skepticism or traits.skepticism,
        "literalism": body.disposition_literalism or traits.literalism,
        "empathy": body.disposition_empathy or traits.empathy,
    }
    background = next(
        (text for text in (body.background, body.mission, body.reflect_mission) if text is not None),
        before.background,
    )
    changed = BankProfile(
        name=before.name if body.name is None else body.name,
        background=background,
        disposition=_changed(before.disposition, given),
        bias_strength=before.bias_strength,
    )
    if changed != before:
        await bank.profile.set(changed)
    return _profile(bank_id, changed)


@router.get(PREFIX + "/{bank_id}/profile")
async def get_profile(bank_id: str, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Get the profile of a bank."""
    return _profile(bank_id, await (await _bank(bank_id, access, banks)).profile.get())


@router.put(PREFIX + "/{bank_id}/profile")
async def set_disposition(
    bank_id: str, body: NewTraits, access: GivenAccess, banks: GivenBanks
) -> dict[str, Any]:
    """Change the reasoning style of a bank."""
    return await create_bank(bank_id, Profile(disposition=body.disposition), access, banks)


@router.post(PREFIX + "/{bank_id}/background")
async def add_background(
    bank_id: str, body: Background, access: GivenAccess, banks: GivenBanks
) -> dict[str, Any]:
    """Merge a text about the agent into its background."""
    bank = await _bank(bank_id, access, banks, create=True)
    return _profile(bank_id, await bank.profile.merge_background(body.content))


@router.delete(PREFIX + "/{bank_id}")
async def delete_bank(bank_id: str, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Erase a bank."""
    access.check(bank_id)
    banks.drop(bank_id)
    return _deleted((await banks.engine.forget_bank(bank_id)).counts.get("units", 0))


@router.post(PREFIX + "/{bank_id}/memories")
async def retain(bank_id: str, body: Retain, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Retain texts. Each is stored completely or not at all. Sending the same request again stores nothing twice."""
    bank = await _bank(bank_id, access, banks, create=True)
    items = [_item(item, body.document_tags or []) for item in body.items]
    later = bool(body.background)
    if later or any(item.update_mode == "append" for item in body.items):
        results = [
            await bank.retain(
                item.content,
                context=item.context,
                timestamp=item.timestamp,
                tags=item.tags,
                metadata=item.metadata,
                entities=item.entities,
                document_id=item.document_id,
                append=given.update_mode == "append",
                background=later,
            )
            for given, item in zip(body.items, items, strict=True)
        ]
    else:
        bulk = await bank.retain_many(items)
        for _, error in bulk.failed:
            raise error
        results = [outcome.result for outcome in bulk.items if outcome.result]
    return {
        "success": True,
        "bank_id": bank_id,
        "items_count": len(items),
        "async": later,
        "usage": _usage(results),
    }


@router.delete(PREFIX + "/{bank_id}/memories")
async def clear_memories(
    bank_id: str,
    access: GivenAccess,
    banks: GivenBanks,
    type: FactType | None = None,  # noqa: A002 - its name in the client
) -> dict[str, Any]:
    """Erase all memories of a bank, or all memories of one type."""
    bank = await _bank(bank_id, access, banks)
    if type is None:
        return _deleted(len((await bank.forget(everything=True)).unit_ids))
    ids = [unit.id async for unit in bank.iterate_units(types=[type], include_invalidated=True)]
    return _deleted(len((await bank.forget(units=ids)).unit_ids) if ids else 0)


@router.get(PREFIX + "/{bank_id}/memories/list")
async def list_memories(
    bank_id: str,
    access: GivenAccess,
    banks: GivenBanks,
    type: str | None = None,  # noqa: A002 - its name in the client
    q: str | None = None,
    entity_id: str | None = None,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: Match = "any",
    document_id: str | None = None,
    state: Literal["valid", "invalidated"] | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=MOST_SKIPPED)] = 0,
) -> dict[str, Any]:
    """List memories, newest first, by the time of the event or, without one, of the mention."""
    bank = await _bank(bank_id, access, banks)
    filters: dict[str, Any] = {
        "entity": entity_id,
        "types": [type] if type else list(FactType),
        "tags": tags or (),
        "tags_match": tags_match,
    }
    closed = state == "invalidated"
    if q or document_id or closed:  # filters that `units` does not have
        matching = [
            unit
            async for unit in bank.iterate_units(**filters, include_invalidated=closed)
            if (q or "").casefold() in unit.text.casefold()
            and document_id in (None, unit.document_id)
            and (unit.closed_at is not None or not closed)
        ]
        units, total = matching[::-1][offset : offset + limit], len(matching)
    else:
        page = await bank.units(**filters, newest_first=True, limit=limit, offset=offset)
        units, total = list(page.units), page.total
    return {"items": [_unit(unit) for unit in units], "total": total, "limit": limit, "offset": offset}


@router.post(PREFIX + "/{bank_id}/memories/recall")
async def recall(bank_id: str, body: Recall, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Find the memories that answer a question."""
    bank = await _bank(bank_id, access, banks, create=True)
    include = body.include or Include()
    options = _given(
        types=body.types,
        budget=body.budget,
        max_tokens=body.max_tokens,
        query_timestamp=body.query_timestamp,
        tags=body.tags,
        tags_match=body.tags_match,
        tag_groups=_conditions(body.tag_groups),
        min_scores=body.min_scores,
        window=(body.temporal_window.start, body.temporal_window.end) if body.temporal_window else None,
        include_entities=include.entities is not None,
        max_entity_tokens=include.entities and include.entities.max_tokens,
        include_chunks=include.chunks is not None,
        max_chunk_tokens=include.chunks and include.chunks.max_tokens,
        include_source_facts=include.source_facts is not None,
        max_source_fact_tokens=include.source_facts and include.source_facts.max_tokens,
        trace=body.trace,
    )
    return _recalled(await bank.recall(body.query, **options), include, trace=bool(body.trace))


@router.get(PREFIX + "/{bank_id}/memories/{memory_id}")
async def get_memory(bank_id: str, memory_id: str, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Get a memory."""
    return _unit(await (await _bank(bank_id, access, banks)).get(memory_id))


@router.patch(PREFIX + "/{bank_id}/memories/{memory_id}")
async def update_memory(
    bank_id: str, memory_id: str, body: Change, access: GivenAccess, banks: GivenBanks
) -> dict[str, Any]:
    """Correct a memory, invalidate it, or make it valid again."""
    bank = await _bank(bank_id, access, banks)
    occurred = (body.occurred_start, body.occurred_end)
    if any(occurred) and not all(occurred):
        raise InvalidRequest(
            "occurred", "one of its bounds is missing", "Send both occurred_start and occurred_end."
        )
    changes = _given(text=body.text, occurred=occurred if all(occurred) else None)
    if changes:
        await bank.edit(memory_id, **changes)
    if body.state == "invalidated":
        await bank.withdraw(memory_id, reason=body.reason or "")
    if body.state == "valid":
        await bank.restore(memory_id)
    return _unit(await bank.get(memory_id))


@router.get(PREFIX + "/{bank_id}/memories/{memory_id}/history")
async def get_history(
    bank_id: str, memory_id: str, access: GivenAccess, banks: GivenBanks
) -> list[dict[str, Any]]:
    """List when a memory became invalid or valid again."""
    bank = await _bank(bank_id, access, banks)
    return [
        {"kind": event.kind.value, "at": event.effective_at, "by": event.by_unit, "reason": event.reason}
        for event in await bank.history(memory_id)
    ]


@router.delete(PREFIX + "/{bank_id}/documents/{document_id:path}")
async def delete_document(
    bank_id: str, document_id: str, access: GivenAccess, banks: GivenBanks
) -> dict[str, Any]:
    """Erase a document and the memories made from it."""
    receipt = await (await _bank(bank_id, access, banks)).forget(document=document_id)
    erased = len(receipt.unit_ids)
    return {
        "success": True,
        "message": f"{erased} memories erased",
        "document_id": document_id,
        "memory_units_deleted": erased,
    }


@router.post(PREFIX + "/{bank_id}/reflect")
async def reflect(bank_id: str, body: Reflect, access: GivenAccess, banks: GivenBanks) -> dict[str, Any]:
    """Answer a question from memory."""
    bank = await _bank(bank_id, access, banks, create=True)
    options = _given(
        budget=body.budget,
        context=body.context,
        max_answer_tokens=body.max_tokens,
        tags=body.tags,
        tags_match=body.tags_match,
        tag_groups=_conditions(body.tag_groups),
    )
    answer = await bank.reflect(body.query, **options)
    facts = [_fact(unit) for unit in answer.units]
    wanted = body.include is not None and body.include.facts is not None
    return {
        "text": answer.text,
        "based_on": {"memories": facts, "mental_models": [], "directives": []} if wanted else None,
        "structured_output": None,
        "structured_output_error": "this server has no structured answers" if body.response_schema else None,
        "usage": _tokens(answer.tokens_in, answer.tokens_out),
    }


async def _bank(bank_id: str, access: Access, banks: Banks, *, create: bool = False) -> AsyncMemoryBank:
    access.check(bank_id)
    return await banks.get(bank_id, create=create)


def _given(**options: Any) -> dict[str, Any]:  # noqa: ANN401 - of a method of the bank
    """Drop options without a value, so that the bank's defaults apply."""
    return {name: value for name, value in options.items() if value is not None}


def _conditions(given: Any) -> Any:  # noqa: ANN401 - JSON
    """Drop the default `"resolve": "exact"`, which the client adds to each condition on tags."""
    if isinstance(given, list):
        return [_conditions(each) for each in given]
    if isinstance(given, dict):
        return {key: _conditions(each) for key, each in given.items() if (key, each) != ("resolve", "exact")}
    return given


def _item(item: Item, tags: Tags) -> RetainItem:
    time = item.timestamp if item.timestamp != "unset" else None
    return RetainItem(
        Document(_text(item.content), id=item.document_id) if item.document_id else _text(item.content),
        timestamp=time,
        context=item.context or "",
        tags=[*(item.tags or ()), *tags],
        metadata=item.metadata,
        entities=[entity.text for entity in item.entities or ()],
    )


def _text(content: str | list[TextBlock]) -> str:
    if isinstance(content, str):
        return content
    if any(block.type != "text" or block.text is None for block in content):
        raise InvalidRequest("content", "it has a block that is not text", "Describe images in words.")
    return "\n\n".join(block.text for block in content if block.text)


def _recalled(found: RecallResult, include: Include, *, trace: bool) -> dict[str, Any]:
    names = {unit_id: _chunk_id(chunk) for chunk in found.chunks for unit_id in chunk.unit_ids}
    support: dict[str, list[str]] = {}
    for source in found.source_facts:
        for observation in source.observation_ids:
            support.setdefault(observation, []).append(source.fact.unit.id)
    results = [
        _fact(unit)
        | {
            "chunk_id": names.get(unit.unit.id),
            "source_fact_ids": support.get(unit.unit.id),
            "scores": _scores(unit),
        }
        for unit in found.units
    ]
    entities = {
        entity.name: {
            "entity_id": entity.id,
            "canonical_name": entity.name,
            "observations": [
                {"text": each.text, "mentioned_at": each.unit.mentioned_at} for each in entity.observations
            ],
        }
        for entity in found.entities
    }
    chunks = {
        _chunk_id(chunk): {
            "id": _chunk_id(chunk),
            "text": chunk.text,
            "chunk_index": chunk.ordinal,
            "truncated": chunk.truncated,
        }
        for chunk in found.chunks
    }
    return {
        "results": results,
        "trace": {"explanation": found.explain()} if trace else None,
        "entities": entities if include.entities else None,
        "chunks": chunks if include.chunks else None,
        "source_facts": {each.fact.unit.id: _fact(each.fact) for each in found.source_facts}
        if include.source_facts
        else None,
    }


def _chunk_id(chunk: RecalledChunk) -> str:
    return (
        f"{chunk.document_id}:{chunk.ordinal}"
        if chunk.turn is None
        else f"{chunk.turn.thread}:{chunk.turn.message_id}"
    )


def _scores(recalled: RecalledUnit) -> dict[str, float | None]:
    hits = {channel.value: float(hit.score) for channel, hit in recalled.channels.items()}
    return {"final": float(recalled.score), "semantic": hits.get("semantic"), "keyword": hits.get("keyword")}


def _fact(recalled: RecalledUnit) -> dict[str, Any]:
    unit = recalled.unit
    return {
        "id": unit.id,
        "text": recalled.text,
        "type": unit.fact_type.value,
        "entities": list(recalled.entities),
        "context": unit.context,
        "occurred_start": unit.occurred and unit.occurred.start,
        "occurred_end": unit.occurred and unit.occurred.end,
        "mentioned_at": unit.mentioned_at,
        "document_id": unit.document_id,
        "metadata": _words(unit.metadata),
        "tags": list(unit.tags),
    }


def _unit(unit: MemoryUnit) -> dict[str, Any]:
    return {
        "id": unit.id,
        "text": unit.text,
        "context": unit.context,
        "date": unit.began,
        "fact_type": unit.fact_type.value,
        "document_id": unit.document_id,
        "mentioned_at": unit.mentioned_at,
        "occurred_start": unit.occurred and unit.occurred.start,
        "occurred_end": unit.occurred and unit.occurred.end,
        "tags": list(unit.tags),
        "metadata": dict(unit.metadata),
        "state": "valid" if unit.closed_at is None else "invalidated",
        "invalidated_at": unit.closed_at,
    }


def _words(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Convert metadata values to strings, which the client's model requires."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in metadata.items()}


def _profile(bank_id: str, profile: BankProfile) -> dict[str, Any]:
    return {
        "bank_id": bank_id,
        "name": profile.name or bank_id,
        "disposition": _traits(profile.disposition),
        "mission": profile.background,
        "background": profile.background,
    }


def _traits(character: Character) -> dict[str, int]:
    kept = character if isinstance(character, Disposition) else Disposition()
    return {"skepticism": kept.skepticism, "literalism": kept.literalism, "empathy": kept.empathy}


def _changed(before: Character, given: Mapping[str, int | None]) -> Character:
    new = {name: value for name, value in given.items() if value is not None}
    return Disposition(**{**_traits(before), **new}) if new else before


def _deleted(count: int) -> dict[str, Any]:
    return {"success": True, "message": f"{count} memories erased", "deleted_count": count}


def _usage(results: list[RetainResult]) -> dict[str, int]:
    return _tokens(sum(each.tokens_in for each in results), sum(each.tokens_out for each in results))


def _tokens(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
