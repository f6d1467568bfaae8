"""Erasure in the dict-backed ledger: the same rules as backends/sqlite/erasing*.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hindsight_integrations.backends.ledger.rules import blocks
from hindsight_integrations.backends.ledger.task_erasing import Traces, without
from hindsight_integrations.backends.memory.bank_state import BankState
from hindsight_integrations.backends.memory.banks import DictBanks
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind

Normalise = Callable[[str], str]


class DictEraser(DictBanks):
    """The part of the ledger that forgets."""

    def erase(self, bank: str, erasure: Erasure, *, normalise: Normalise) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them."""
        with self._bank(bank) as state:
            rows = _with_amendments(state, _chosen(state, erasure))
            names = tuple(state.units[row].unit.id for row in rows)
            if erasure.everything:
                entities, counts = _erase_all(state)
            else:
                entities, counts = _erase_some(state, rows, erasure, normalise)
            counts = {kind: count for kind, count in {"units": len(rows), **counts}.items() if count}
            if not counts:
                return ForgetReceipt((), (), {}, state.revision)
            state.revision += 1
            state.removed.update(dict.fromkeys(rows, state.revision))
            return ForgetReceipt(names, entities, counts, state.revision)

    def drop_bank(self, bank: str) -> int:
        """Delete the bank; how many units it held."""
        with self._bank(bank) as state:
            del self._banks[bank]
            return len(state.units)

    def scrub(self) -> bool:
        """There are no files."""
        with self._holding():
            return True


def _chosen(state: BankState, erasure: Erasure) -> list[int]:
    mentioning = state.mentioned_in.get(state.entity_rows.get(erasure.entity or "", -1), [])

    def named(row: int, unit: MemoryUnit) -> bool:
        if erasure.window is not None:
            happened = unit.occurred is not None and unit.occurred.overlaps(erasure.window)
            return happened or erasure.window.start <= unit.mentioned_at < erasure.window.end
        if erasure.document is not None:
            return unit.document_id == erasure.document
        return erasure.everything or unit.id == erasure.unit or row in mentioning

    return sorted(row for row, held in state.units.items() if named(row, held.unit))


def _with_amendments(state: BankState, rows: Iterable[int]) -> list[int]:
    found, waiting = set(rows), list(rows)
    while waiting:
        name = state.units[waiting.pop()].unit.id
        for event in state.events:
            if event.kind is ValidityKind.AMENDED and event.unit_id == name and event.by_unit:
                row = state.unit_rows[event.by_unit]
                if row not in found:
                    found.add(row)
                    waiting.append(row)
    return sorted(found)


def _erase_all(state: BankState) -> tuple[tuple[str, ...], dict[str, int]]:
    held: dict[str, dict[Any, Any] | set[Any]] = {
        "entities": state.entities,
        "documents": state.documents,
        "chunks": state.chunks,
        "message_keys": state.messages,
        "tasks": state.tasks,
        "entity_changes": state.entity_changes,
    }
    counts = {kind: len(rows) for kind, rows in held.items()}
    entities = tuple(state.entities[row].id for row in sorted(state.entities))
    indexes = (state.units, state.unit_rows, state.entity_rows, state.blocks, state.mentions, state.links)
    more = (
        state.mentioned_in,
        state.mentioned_by,
        state.mention_texts,
        state.edits,
        state.events,
        state.versions,
    )
    for table in (*held.values(), *indexes, *more):
        table.clear()
    return entities, counts


def _erase_some(
    state: BankState, rows: list[int], erasure: Erasure, normalise: Normalise
) -> tuple[tuple[str, ...], dict[str, int]]:
    counts = {**_erase_sources(state, rows, erasure.document), "tasks": _erase_tasks(state, rows, erasure)}
    entities, names = _erase_names(state, rows, erasure.entity, normalise)
    gone = {state.units[row].unit.id for row in rows}
    links = [key for key in state.links if key[0] in rows or key[1] in rows]
    for key in links:
        del state.links[key]
    counts |= {"links": len(links), **_erase_events(state, gone)}
    for row in rows:
        del state.unit_rows[state.units.pop(row).unit.id]
        state.edits.pop(row, None)
    return entities, {**counts, "vectors": len(rows), "entities": len(entities), "names": names}


def _erase_sources(state: BankState, rows: list[int], document: str | None) -> dict[str, int]:
    units = [state.units[row].unit for row in rows]
    named = [key for key in state.chunks if key[0] == document]
    for passage in named:
        del state.chunks[passage]
    chunks = {(unit.document_id or "", unit.chunk) for unit in units} & state.chunks.keys()
    for passage in chunks:
        state.chunks[passage] = replace(state.chunks[passage], text="")
    documents = int(document is not None and state.documents.pop(document, None) is not None)
    left = {held.unit.document_id for row, held in state.units.items() if row not in rows}
    emptied = ({unit.document_id for unit in units} - left) & state.documents.keys()
    for key in emptied:
        if key is not None:
            state.documents[key] = replace(state.documents[key], context="", metadata={}, tags=())
    return {"chunks": len(named) + len(chunks), "documents": documents + len(emptied)}


def _erase_tasks(state: BankState, rows: list[int], erasure: Erasure) -> int:
    units = [state.units[row].unit for row in rows]
    words = {word for unit in units for word in (unit.id, unit.text)} | {erasure.document or ""}
    messages = {(unit.thread, source) for unit in units for source in unit.sources}
    traces = Traces(frozenset(words), frozenset(messages), erasure.window)
    changed = 0
    for number, task in list(state.tasks.items()):
        kept = without(task.payload, traces)
        changed += kept != task.payload
        if kept is None:
            del state.tasks[number]
        elif kept != task.payload:
            state.tasks[number] = replace(task, payload=kept, reason="")
    return changed


def _erase_events(state: BankState, gone: set[str]) -> dict[str, int]:
    kept: dict[ValidityEvent, None] = {}
    counts = {"validity_events": 0, "amendments": 0, "reasons": 0}
    for event in state.events:
        by_gone = event.by_unit in gone
        if event.kind is ValidityKind.AMENDED and by_gone:
            counts["amendments"] += 1
        elif event.unit_id in gone:
            counts["validity_events"] += 1
        else:
            counts["reasons"] += by_gone
            kept[replace(event, by_unit=None, reason="") if by_gone else event] = None
    state.events = kept
    return counts


def _erase_names(
    state: BankState, rows: list[int], named: str | None, normalise: Normalise
) -> tuple[tuple[str, ...], int]:
    touched = sorted({entity for row in rows for entity in state.mentioned_by.get(row, ())})
    orphans, lost, forgotten = [], 0, set()
    for entity in touched:
        said = {unit: state.mention_texts[unit, entity] for unit in sorted(state.mentioned_in[entity])}
        left = [text for unit, text in said.items() if unit not in rows]
        if not left or state.entities[entity].id == named:
            orphans.append(entity)
            continue
        dropped = {normalise(said[unit]) for unit in said if unit in rows} - set(map(normalise, left))
        lost += _drop_names(state, entity, dropped, left[-1], normalise)
        forgotten |= dropped
    if named in state.entity_rows and state.entity_rows[named] not in orphans:
        orphans.append(state.entity_rows[named])
    _drop_mentions(state, rows, touched)
    ids = tuple(state.entities[entity].id for entity in orphans)
    _drop_audit(state, forgotten | set(ids))
    for entity in orphans:
        remove_entity(state, entity)
    return ids, lost


def _drop_mentions(state: BankState, rows: list[int], touched: list[int]) -> None:
    for row in rows:
        for entity in state.mentioned_by.pop(row, ()):
            del state.mentions[row, entity], state.mention_texts[row, entity]
            state.mentioned_in[entity].remove(row)
    for entity in touched:
        recount(state, entity)


def _drop_names(state: BankState, entity: int, dropped: set[str], spare: str, normalise: Normalise) -> int:
    known = state.entities[entity]
    kept = tuple(name for name in known.names if name not in dropped) or (normalise(spare),)
    if kept == known.names:
        return 0
    canonical = spare if normalise(known.name) in dropped else known.name
    set_names(state, entity, kept, canonical)
    return len(known.names) - len(set(kept) & set(known.names))


def _drop_audit(state: BankState, forgotten: set[str]) -> None:
    for number, change in list(state.entity_changes.items()):
        if any(json.dumps(word) in change.detail for word in forgotten):
            del state.entity_changes[number]


def set_names(state: BankState, entity: int, names: tuple[str, ...], canonical: str) -> None:
    """Give an entity exactly these names, and make it findable by them alone."""
    state.entities[entity] = replace(state.entities[entity], names=names, name=canonical)
    for rows in state.blocks.values():
        rows.discard(entity)
    for name in names:
        for block in blocks(name):
            state.blocks.setdefault(block, set()).add(entity)


def recount(state: BankState, entity: int) -> None:
    """Bring an entity's mention count and last sighting in line with its mentions."""
    seen = [state.units[unit].unit.mentioned_at for unit in state.mentioned_in.get(entity, ())]
    known = state.entities[entity]
    state.entities[entity] = replace(known, mentions=len(seen), last_seen=max(seen, default=None))


def remove_entity(state: BankState, entity: int) -> None:
    """Drop an entity that nothing mentions."""
    del state.entity_rows[state.entities.pop(entity).id]
    state.mentioned_in.pop(entity, None)
    for rows in state.blocks.values():
        rows.discard(entity)
