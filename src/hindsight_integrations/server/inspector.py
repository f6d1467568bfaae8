"""The inspector: a local web page that shows a memory, and the JSON interface behind it.

It reads through the public methods of an engine and its banks. The page is for the person at this machine: the server answers
only to this machine's own host names, every call needs the token from the page's address, and pages of other sites are
rejected.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import APIRouter, Body, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from pydantic_core import to_json

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.engine.assembly import AsyncHindsight
from hindsight_integrations.errors import (
    HindsightError,
    InvalidRequest,
)
from hindsight_integrations.model.aggregates import RecordEntry, total
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.erasure import ForgetReceipt
from hindsight_integrations.model.links import Link, Neighbourhood
from hindsight_integrations.model.opinions import Opinion, OpinionLog
from hindsight_integrations.model.recalled import RecalledUnit, recalled_row
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.rows import unit_row
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.prompts.recalled import memories_block, memory_line
from hindsight_integrations.server.access import ALL_BANKS, Tokens
from hindsight_integrations.server.app import answer_error, listening_socket
from hindsight_integrations.server.gate import Gate, Limits
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, SEARCH_DEFAULTS

ASSETS = Path(__file__).parent / "assets"
PAGE = 50  # number of memories per page of a list
SEARCHED = 50  # number of memories that a search shows
# number of memories that a search for one entity reads, because recall cannot filter by entity
LOOKED_THROUGH = 300
EVERYTHING = 10_000_000  # a token budget larger than any answer
LINKS_A_NODE = 4  # number of links drawn per memory, strongest first; more would be unreadable
LARGEST_BODY = 1_000_000  # maximum size of a request in bytes
MOST_NODES = 1_000

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def inspector_app(engine: AsyncHindsight, *, token: str, write: bool = False) -> FastAPI:
    """Create the app of the inspector for an open engine.

    Args:
        engine: the engine; the app does not close it.
        token: the token that callers must send as `Authorization: Bearer`.
        write: whether memories may be changed. The engine must then not be read-only.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(_open_first(engine))
        yield
        opening.cancel()

    app = FastAPI(
        title="Hindsight inspector", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.state.engine, app.state.write, app.state.digests = engine, write, {}
    app.include_router(_reads)
    app.include_router(_writes)
    app.add_api_route("/api/{path:path}", _unknown, methods=["GET", "POST"])
    app.mount("/", StaticFiles(directory=ASSETS, html=True))

    app.add_middleware(
        Gate,
        tokens=Tokens(
            {token: ALL_BANKS},
            "Open the address that `hindsight-memory inspect` printed when it was started.",
        ),
        only_local=True,
        is_open=lambda path: not path.startswith("/api/"),  # the page itself contains no memory
        limits=Limits(body=LARGEST_BODY),
    )

    @app.middleware("http")
    async def harden(request: Request, following: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await following(request)
        response.headers.update(HEADERS)
        response.headers.setdefault("Cache-Control", "no-cache")
        return response

    app.add_exception_handler(HindsightError, answer_error)
    app.add_exception_handler(RequestValidationError, _misread)
    return app


async def _open_first(engine: AsyncHindsight) -> None:
    """Open the indexes of the bank that the page shows first, while the browser is starting."""
    with suppress(HindsightError):  # the page reports the error
        for name in (await engine.banks())[:1]:
            await (await engine.bank(name, create=False)).units(limit=1)


def serve_inspector(
    engine: AsyncHindsight, opened: Callable[[str], object], *, write: bool = False, port: int = 0
) -> None:
    """Serve the inspector of an open engine until Ctrl-C or SIGTERM.

    Args:
        engine: the engine; it is not closed.
        opened: called with the page's address when the server listens.
        write: whether memories may be changed.
        port: the port on 127.0.0.1; 0 means a free one.

    Raises:
        OSError: the port is in use.
    """
    token = secrets.token_urlsafe(24)
    app = inspector_app(engine, token=token, write=write)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=5)
    )
    with listening_socket("127.0.0.1", port) as listening:
        # The token is in the fragment, which is not sent to servers and not logged by them.
        opened(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def _answer(document: object) -> Response:
    return Response(to_json(document), headers={"Cache-Control": "no-store"}, media_type="application/json")


async def _unknown() -> Response:
    raise HTTPException(404, "This call does not exist. Reload the page.")


async def _misread(request: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else ()
    fields = ", ".join(str(problem["loc"][-1]) for problem in problems)
    reasons = "; ".join(problem["msg"] for problem in problems)
    return await answer_error(request, InvalidRequest(fields, reasons, "Correct the request."))


async def _bank(request: Request, bank: str) -> AsyncMemoryBank:
    engine: AsyncHindsight = request.app.state.engine
    return await engine.bank(bank, create=False)


Bank = Annotated[AsyncMemoryBank, Depends(_bank)]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a list, as the page sends them. An empty filter selects everything."""

    types: list[FactType]
    tags: list[str]
    entity: str
    start: str
    end: str
    as_of: str
    invalid: bool

    @property
    def recall(self) -> dict[str, Any]:
        """The options that `recall`, `units` and `records.list` have in common, except types."""
        return {
            "tags": self.tags,
            "tags_match": "any_strict" if self.tags else "any",
            "window": (self.start or "0001-01-02", self.end or "9999-12-30")
            if self.start or self.end
            else None,
            "as_of": self.as_of or None,
            "include_invalidated": self.invalid,
        }


Types = Annotated[list[FactType], Query(alias="type", default_factory=list)]


def _filters(
    types: Types,
    tags: Annotated[list[str], Query(alias="tag", default_factory=list)],
    entity: str = "",
    start: str = "",
    end: str = "",
    as_of: str = "",
    invalid: bool = False,
) -> Filters:
    return Filters(types, tags, entity, start, end, as_of, invalid)


Filtered = Annotated[Filters, Depends(_filters)]

_reads = APIRouter(prefix="/api")


@_reads.get("/start")
async def start(request: Request) -> Response:
    """Return the banks, and what the page is allowed to do."""
    engine: AsyncHindsight = request.app.state.engine
    health = await engine.doctor()
    banks = [
        {"name": name, "memories": units, "revision": revision, "latest": health.latest.get(name)}
        for name, (units, revision) in health.banks.items()
    ]
    return _answer(
        {"place": engine.place, "write": request.app.state.write, "banks": banks, "tasks": health.tasks}
    )


@dataclass(slots=True)
class Digest:
    """A summary of all memories of a bank, with one row of short values per memory, in chronological order.

    Attributes:
        revision: the revision of the bank from which the digest was made.
        ids: ids of the memories.
        occurred: start of each event, or None.
        mentioned: time at which each memory was mentioned.
        types: fact type of each memory.
        closed: whether each memory is invalid.
        tags: number of memories with each tag.
        opinions: id and text of the opinions based on a memory, by the memory's id; filled on first use.
    """

    revision: int
    ids: list[str] = field(default_factory=list)
    occurred: list[datetime | None] = field(default_factory=list)
    mentioned: list[datetime] = field(default_factory=list)
    types: list[FactType] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)
    opinions: dict[str, list[dict[str, Any]]] | None = None


async def _digest(request: Request, bank: AsyncMemoryBank) -> Digest:
    """Return the digest of the bank's current revision. Reading it takes about a second per 20,000 memories."""
    engine: AsyncHindsight = request.app.state.engine
    _, revision = (await engine.doctor()).banks.get(bank.name, (0, 0))
    digest: Digest | None = request.app.state.digests.get(bank.name)
    if digest is None or digest.revision != revision:
        digest = Digest(revision)
        async for unit in bank.iterate_units(include_invalidated=True):
            digest.ids.append(unit.id)
            digest.occurred.append(unit.occurred.start if unit.occurred else None)
            digest.mentioned.append(unit.mentioned_at)
            digest.types.append(unit.fact_type)
            digest.closed.append(unit.closed_at is not None)
            digest.tags.update(unit.tags)
        request.app.state.digests[bank.name] = digest
    return digest


@_reads.get("/overview")
async def overview(request: Request, bank: Bank) -> Response:
    """Return the number of memories by type and by tag, and the first and last time of mention."""
    digest = await _digest(request, bank)
    return _answer(
        {
            "memories": len(digest.ids),
            "invalid": sum(digest.closed),
            "types": Counter(kind.value for kind in digest.types),
            "tags": digest.tags.most_common(200),
            "first": min(digest.mentioned, default=None),
            "last": max(digest.mentioned, default=None),
        }
    )


@_reads.get("/memories")
async def memories(bank: Bank, filters: Filtered, cursor: str = "") -> Response:
    """Return one page of the memories, newest first."""
    page = await bank.units(
        types=filters.types or tuple(FactType),
        entity=filters.entity or None,
        newest_first=True,
        limit=PAGE,
        cursor=cursor or None,
        **filters.recall,
    )
    rows = [unit_row(unit, page.items.get(unit.id, ())) for unit in page.units]
    ended = await _replacements(bank, page.units)
    return _answer(
        {
            "memories": [row | {"replaced_by": ended.get(row["id"])} for row in rows],
            "total": page.total,
            "cursor": page.cursor,
            "damaged": page.damaged,
        }
    )


@_reads.get("/search")
async def search(bank: Bank, filters: Filtered, q: str) -> Response:
    """Return the memories that recall finds for a question, best first, with the effort used for an agent's prompt."""
    entity = await _named(bank, filters.entity) if filters.entity else None
    found = await bank.recall(
        q,
        budget=PROMPT_DEFAULTS["budget"],
        types=filters.types or None,
        k=LOOKED_THROUGH if entity else SEARCHED,
        max_tokens=EVERYTHING,
        **filters.recall,
    )
    units = [item for item in found.units if entity is None or entity.name in item.entities][:SEARCHED]
    ended = await _replacements(bank, [item.unit for item in units])
    rows = [
        _recalled(rank, item) | {"replaced_by": ended.get(item.unit.id)} for rank, item in enumerate(units, 1)
    ]
    return _answer(
        {
            "memories": rows,
            "window": found.window,
            "confidence": found.confidence,
            "notes": found.trace.notes,
            "damaged": found.damaged,
            "milliseconds": sum(stage.milliseconds for stage in found.trace.stages),
        }
    )


async def _named(bank: AsyncMemoryBank, entity: str) -> Entity:
    return (await bank.entities.observations(entity)).entity


def _recalled(rank: int, item: RecalledUnit) -> dict[str, Any]:
    return recalled_row(rank, item) | {"channels": item.channels}


async def _replacements(bank: AsyncMemoryBank, units: Sequence[MemoryUnit]) -> dict[str, dict[str, Any]]:
    """Return, for each invalid memory, the event that closed it, and the memory that replaced it."""
    ended = {}
    for unit in units:
        if unit.closed_at is not None:
            closing = [event for event in await bank.history(unit.id) if event.kind is ValidityKind.CLOSED]
            if closing:
                ended[unit.id] = await _event(bank, closing[-1])
    return ended


async def _event(bank: AsyncMemoryBank, event: ValidityEvent) -> dict[str, Any]:
    by = await _text(bank, event.by_unit) if event.by_unit else None
    return {
        "kind": event.kind,
        "at": event.effective_at,
        "by": event.by_unit,
        "by_text": by,
        "reason": event.reason,
    }


async def _text(bank: AsyncMemoryBank, unit_id: str) -> str | None:
    """Return the text of a memory; None if it was erased."""
    try:
        return (await bank.get(unit_id)).text
    except InvalidRequest:
        return None


@_reads.get("/memory")
async def memory(request: Request, bank: Bank, id: str) -> Response:  # noqa: A002 - as in the address
    """Return a memory with its versions, sources, links and entities, and the opinions based on it."""
    unit = await bank.get(id)
    history = [await _event(bank, event) for event in await bank.history(id)]
    near = await bank.neighbours(id, limit=PAGE)
    texts = {other.id: other for other in near.units}
    own = [link for link in near.links if id in (link.source, link.target)]
    linked = [
        {
            "type": link.type,
            "relation": link.relation if link.source == id else _inverse(link),
            "weight": link.weight,
            "id": (other := texts[link.target if link.source == id else link.source]).id,
            "text": other.text,
            "closed_at": other.closed_at,
        }
        for link in own
    ]
    mentioned = {entity for unit_id, entity in near.mentions if unit_id == id}
    return _answer(
        {
            "memory": unit_row(unit)
            | {"lasting": unit.lasting, "tokens": unit.tokens, "part_of": unit.part_of},
            "records": unit.records,
            "items": [unit_row(item) for item in await bank.document_items(id)],
            "history": history,
            "edits": [{"at": at, "fields": fields} for at, fields in await bank.maintenance.edits(id)],
            "sources": [
                {
                    "thread": turn.thread,
                    "message": turn.message_id,
                    "speaker": turn.speaker,
                    "role": turn.role,
                    "text": turn.text,
                    "at": turn.said_at,
                }
                for turn in await bank.sources(id)
            ],
            "links": linked,
            "entities": [entity for entity in near.entities if entity.id in mentioned],
            "opinions": (await _opinions_on(request, bank)).get(id, []),
        }
    )


def _inverse(link: Link) -> str | None:
    """Return the relation of a causal link as seen from the target."""
    pairs = {
        "causes": "caused by",
        "caused_by": "causes",
        "enables": "enabled by",
        "prevents": "prevented by",
    }
    return pairs[link.relation] if link.relation else None


async def _opinions_on(request: Request, bank: AsyncMemoryBank) -> dict[str, list[dict[str, Any]]]:
    digest = await _digest(request, bank)
    if digest.opinions is None:
        resting: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for opinion in await bank.opinions.list(include_closed=True):
            log = (await bank.opinions.history(opinion.id)).log
            roles = dict.fromkeys(_grounds(log), "ground") | {
                row.unit_id: f"{row.strength} {row.assessment}" for row in log.evidence
            }
            for fact, role in roles.items():
                resting[fact].append(_opinion(opinion) | {"role": role})
        digest.opinions = dict(resting)
    return digest.opinions


def _grounds(log: OpinionLog) -> list[str]:
    """Return the ids of the facts that any wording of an opinion is based on, without duplicates."""
    return list(dict.fromkeys(fact for version in log.versions for fact in version.based_on))


@_reads.get("/entities")
async def entities(
    bank: Bank, prefix: str = "", limit: Annotated[int, Query(ge=1, le=1_000)] = 20
) -> Response:
    """Return the entities with a name that starts with these letters, most mentioned first."""
    return _answer(await bank.entities.list(prefix or None, limit=limit))


@_reads.get("/entity")
async def entity(bank: Bank, name: str) -> Response:
    """Return an entity with its observations."""
    summary = await bank.entities.observations(name)
    return _answer(
        {
            "entity": summary.entity,
            "stale": summary.stale,
            "observations": [
                unit_row(unit) | {"facts": summary.facts.get(unit.id, ())} for unit in summary.observations
            ],
        }
    )


@_reads.get("/graph")
async def graph(
    bank: Bank,
    unit: str = "",
    entity: str = "",
    limit: Annotated[int, Query(ge=1, le=MOST_NODES)] = 80,
) -> Response:
    """Return the memories and entities around one memory or entity."""
    near = await bank.neighbours(unit or None, entity=entity or None, limit=limit)
    return _answer(
        {
            "units": [
                {
                    "id": each.id,
                    "text": each.text,
                    "type": each.fact_type,
                    "began": each.began,
                    "closed": each.closed_at is not None,
                }
                for each in near.units
            ],
            "entities": near.entities,
            "links": _drawn(near),
            "mentions": near.mentions,
            "complete": near.complete,
        }
    )


def _drawn(near: Neighbourhood) -> list[Link]:
    """Return the strongest links of each memory, and all causal links."""
    drawn, at = [], Counter[str]()
    for link in near.links:  # strongest first
        if link.relation or min(at[link.source], at[link.target]) < LINKS_A_NODE:
            drawn.append(link)
            at.update((link.source, link.target))
    return drawn


@_reads.get("/timeline")
async def timeline(
    request: Request, bank: Bank, types: Types, by: Literal["occurred", "mentioned"] = "occurred"
) -> Response:
    """Return the number of memories per day, for memories with a time of this kind."""
    digest = await _digest(request, bank)
    days: Counter[str] = Counter()
    undated = 0
    for at, kind in zip(digest.occurred if by == "occurred" else digest.mentioned, digest.types, strict=True):
        if types and kind not in types:
            continue
        if at is None:
            undated += 1
        else:
            days[f"{at:%Y-%m-%d}"] += 1
    return _answer({"days": sorted(days.items()), "undated": undated})


@_reads.get("/period")
async def period(
    request: Request,
    bank: Bank,
    start: str,
    end: str,
    by: Literal["occurred", "mentioned"] = "occurred",
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Return the memories from `start` to `end` (exclusive), oldest first."""
    digest = await _digest(request, bank)
    times = digest.occurred if by == "occurred" else digest.mentioned
    inside = [
        (at, identity)
        for at, identity in zip(times, digest.ids, strict=True)
        if at is not None and start <= f"{at:%Y-%m-%d}" < end
    ]
    chosen = sorted(inside)[offset : offset + PAGE]
    units = [await bank.get(identity) for _, identity in chosen]
    return _answer({"memories": [unit_row(unit) for unit in units], "total": len(inside)})


@_reads.get("/records")
async def records(
    bank: Bank,
    filters: Filtered,
    kind: str = "",
    category: str = "",
    period: Literal["day", "week", "month", "year"] = "month",
) -> Response:
    """Return the records, newest first, and their exact totals by kind, category, unit and period."""
    entries = await bank.records.list(kind=kind or None, category=category or None, **filters.recall)
    rows = [
        {
            "kind": entry.record.kind,
            "category": entry.record.category,
            "value": entry.record.value,
            "unit": entry.record.unit,
            "at": entry.at,
            "closed_at": entry.memory.closed_at,
            "text": entry.memory.text,
            "id": entry.memory.id,
        }
        for entry in reversed(entries[-1_000:])
    ]
    return _answer(
        {
            "records": rows,
            "total": len(entries),
            "sums": _sums(entries, period),
            "categories": await bank.records.categories(),
        }
    )


_PERIODS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}


def _sums(entries: Sequence[RecordEntry], period: str) -> list[dict[str, Any]]:
    values: dict[tuple[str, str, str, str], list[Decimal]] = defaultdict(list)
    for entry in entries:
        record = entry.record
        if isinstance(record.value, Decimal):
            values[record.kind, record.category, record.unit, entry.at.strftime(_PERIODS[period])].append(
                record.value
            )
    return [
        {
            "kind": kind,
            "category": category,
            "unit": unit,
            "period": name,
            "sum": total(some),
            "count": len(some),
        }
        for (kind, category, unit, name), some in sorted(values.items())
    ]


def _opinion(opinion: Opinion) -> dict[str, Any]:
    return {
        "id": opinion.id,
        "text": opinion.text,
        "confidence": opinion.confidence,
        "strength": opinion.strength,
        "formed_at": opinion.formed_at,
        "reworded_at": opinion.reworded_at,
        "closed_at": opinion.closed_at,
        "evidence": opinion.evidence,
        "entities": opinion.entities,
        "tags": opinion.tags,
        "origin": opinion.origin,
    }


@_reads.get("/opinions")
async def opinions(bank: Bank, as_of: str = "", closed: bool = True) -> Response:
    """Return the agent's opinions with their confidence over time."""
    held = await bank.opinions.list(include_closed=closed, as_of=as_of or None)
    return _answer(
        [_opinion(each) | {"trajectory": await bank.opinions.trajectory(each.id)} for each in held]
    )


@_reads.get("/opinion")
async def opinion(bank: Bank, id: str) -> Response:  # noqa: A002 - as in the address
    """Return an opinion with its wordings, and each step of its confidence with the fact that caused it."""
    history = await bank.opinions.history(id)
    log = history.log
    steps = [
        {
            "at": entry.evidence.effective_at,
            "unit_id": entry.evidence.unit_id,
            "text": await _text(bank, entry.evidence.unit_id),
            "sources": entry.evidence.sources,
            "assessment": entry.evidence.assessment,
            "strength": entry.evidence.strength,
            "reason": entry.evidence.reason,
            "counts": entry.counts,
            "before": entry.before,
            "after": entry.after,
        }
        for entry in history.entries
    ]
    return _answer(
        {
            "opinion": _opinion(await bank.opinions.get(id)),
            "start": log.confidence,
            "reasoning": log.reasoning,
            "versions": [
                {"text": version.text, "since": version.since, "reason": version.reason}
                for version in log.versions
            ],
            "grounds": [{"id": fact, "text": await _text(bank, fact)} for fact in _grounds(log)],
            "steps": steps,
            "confidence": history.confidence,
        }
    )


@_reads.get("/profile")
async def profile(bank: Bank) -> Response:
    """Return the agent's profile with its history, the directives and the mental models."""
    return _answer(
        {
            "profile": await bank.profile.get(),
            "history": await bank.profile.history(),
            "directives": await bank.directives.list(),
            "mental_models": await bank.mental_models.list(),
        }
    )


@_reads.get("/tasks")
async def tasks(bank: Bank) -> Response:
    """Return the bank's background tasks, without their texts."""
    return _answer([asdict(task) | {"payload": None} for task in await bank.tasks.list()])


@_reads.get("/doctor")
async def doctor(request: Request, deep: bool = False) -> Response:
    """Return the report of `doctor`."""
    engine: AsyncHindsight = request.app.state.engine
    return _answer(await engine.doctor(deep=deep))


_PRESETS: Mapping[str, Any] = {"prompt": PROMPT_DEFAULTS, "search": SEARCH_DEFAULTS}


@_reads.get("/why")
async def why(
    bank: Bank, q: str, preset: Literal["prompt", "search"] = "prompt", as_of: str = ""
) -> Response:
    """Return the memories an agent would get for a question, with the reason why each candidate was included or cut.

    `prompt` recalls like the recall node, the middleware and the memory blocks; `search` recalls like the
    retrievers.
    """
    found = await bank.recall(q, **(_PRESETS[preset] | {"trace": True, "as_of": as_of or None}))
    block = _prompt_block(found)
    return _answer(
        {
            "memories": [_recalled(rank, item) for rank, item in enumerate(found.units, 1)],
            "candidates": [asdict(unit) for unit in found.trace.units],
            "stages": found.trace.stages,
            "notes": found.trace.notes,
            "window": found.window,
            "confidence": found.confidence,
            "tokens": found.tokens,
            "options": {key: str(value) for key, value in _PRESETS[preset].items()},
            "block": block,
        }
    )


def _prompt_block(found: RecallResult) -> str:
    lines = [*(digest.text for digest in found.records), *map(memory_line, found.units)]
    return memories_block(lines) if lines else ""


async def _writable(request: Request) -> None:
    if not request.app.state.write:
        raise InvalidRequest("write", "the inspector was opened read-only", "Open it again with --write.")


_writes = APIRouter(prefix="/api", dependencies=[Depends(_writable)])
Field = Annotated[str, Body(embed=True)]


@_writes.post("/withdraw")
async def withdraw(bank: Bank, id: Field, reason: Field = "") -> Response:  # noqa: A002 - as in the address
    """Invalidate a memory."""
    return _answer({"changed": await bank.withdraw(id, reason=reason)})


@_writes.post("/restore")
async def restore(bank: Bank, id: Field) -> Response:  # noqa: A002 - as in the address
    """Make an invalid memory valid again."""
    return _answer({"changed": await bank.restore(id)})


@_writes.post("/edit")
async def edit(bank: Bank, id: Field, changes: Annotated[dict[str, Any], Body(embed=True)]) -> Response:  # noqa: A002 - as in the address
    """Correct the text, time, tags or metadata of a memory."""
    if unknown := sorted(changes.keys() - {"text", "occurred", "tags", "metadata"}):
        raise InvalidRequest("changes", f"unknown fields {unknown}", "Pass text, occurred, tags or metadata.")
    return _answer(unit_row(await bank.edit(id, **changes)))


@_writes.post("/forget")
async def forget(
    bank: Bank,
    dry_run: Annotated[bool, Body(embed=True)],
    unit: Annotated[str | None, Body(embed=True)] = None,
    entity: Annotated[str | None, Body(embed=True)] = None,
    thread: Annotated[str | None, Body(embed=True)] = None,
    text: Annotated[str | None, Body(embed=True)] = None,
) -> Response:
    """Erase memories, or list what would be erased."""
    receipt: ForgetReceipt = await bank.forget(
        unit=unit, entity=entity, thread=thread, text=text, dry_run=dry_run
    )
    texts = []
    if dry_run:
        texts = [{"id": each, "text": await _text(bank, each)} for each in receipt.unit_ids[:PAGE]]
    return _answer({"receipt": asdict(receipt), "memories": texts})
