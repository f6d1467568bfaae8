"""Every key starts with the bank and every statement names it, so that a server can be partitioned by bank."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from postgres_server import Databases
from sqlalchemy import Column, Delete, Insert, Select, Table, Update, create_engine, text
from sqlalchemy.schema import ForeignKeyConstraint, UniqueConstraint
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.sql.selectable import Alias, CompoundSelect, Join

import hindsight_integrations.ledger as package
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.postgresql import checked_address

OF_LEDGER = {"banks", "ledger", "losses", "alembic_version"}
"""Tables that belong to no bank."""

OF_ALL_BANKS = {
    "copies._DELETE_HOLDER",
    "items._EXPIRED_BANKS",
    "tasks._ANY_LEASED",
    "tasks._COUNTS",
    "tasks._END_LEASES",
}
"""Statements that find rows of all banks."""

PARTS = {
    "entities._LIST",
    "erasure._EVENT",
    "erasure._STAYING",
    "items._ITEMS",
    "units._EVENTS",
    "units._LINKS",
}
"""Parts of statements, in which the bank is named later."""

STATEMENTS = Select, Update, Delete


def _modules() -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(f"{package.__name__}.{module.name}")


def _statements(value: object) -> Iterator[ClauseElement]:
    """The statements that a constant consists of."""
    if isinstance(value, (*STATEMENTS, Insert, CompoundSelect)):
        yield value
    elif isinstance(value, Mapping):
        yield from (statement for member in value.values() for statement in _statements(member))
    elif isinstance(value, list | tuple):
        yield from (statement for member in value for statement in _statements(member))


def _own_elements(root: ClauseElement) -> Iterator[ClauseElement]:
    """An element and those within it, down to the selects inside, but not their elements."""
    waiting = [root]
    while waiting:
        one = waiting.pop()
        yield one
        if one is root or not isinstance(one, Select):
            waiting += one.get_children()


def _sources(statement: Any) -> tuple[dict[Any, str], list[ClauseElement]]:
    """The tables that a statement reads, with their names, and its conditions."""
    waiting = list(statement.get_final_froms()) if isinstance(statement, Select) else [statement.table]
    conditions = [] if statement.whereclause is None else [statement.whereclause]
    sources = {}
    while waiting:
        source = waiting.pop()
        table = source.element if isinstance(source, Alias) else source
        if isinstance(source, Join):
            waiting += [source.left, source.right]
            conditions.append(source.onclause)
        elif isinstance(table, Table):
            sources[source] = table.name
    return sources, conditions


def _without_bank(element: ClauseElement, outer: frozenset[object] = frozenset()) -> set[str]:
    """The tables of banks that a statement, or a select within it, reads without naming their bank.

    `outer` are the tables of the statement around a select.
    """
    missing: set[str] = set()
    if isinstance(element, STATEMENTS):
        sources, conditions = _sources(element)
        banks = {
            column.table
            for condition in conditions
            for part in _own_elements(condition)
            for column in part.get_children()
            if isinstance(column, Column) and column.name == "bank"
        }
        missing = {name for source, name in sources.items() if source not in banks | outer} - OF_LEDGER
        outer |= sources.keys()
    for part in _own_elements(element):
        if part is not element and isinstance(part, Select):
            missing |= _without_bank(part, outer)
    return missing


def test_every_statement_that_reads_or_changes_rows_of_a_bank_names_the_bank() -> None:
    """A partitioned server sends it to one node, and any server finds the rows by their key."""
    wrong: dict[str, set[str]] = {}
    count = 0
    for module in _modules():
        short = module.__name__.rpartition(".")[2]
        for name, constant in vars(module).items():
            if name.startswith("__") or f"{short}.{name}" in OF_ALL_BANKS | PARTS:
                continue
            for statement in _statements(constant):
                count += 1
                if missing := _without_bank(statement):
                    wrong[f"{short}.{name}"] = missing
    assert (wrong, count > 200) == ({}, True)


def test_every_key_of_the_tables_starts_with_the_bank() -> None:
    """Indexes that find rows of all banks are the only ones without it."""
    wrong: list[tuple[str, object]] = []
    for name, table in tables.keyed_by_bank().tables.items():
        if name in OF_LEDGER:
            continue
        defined = tables.metadata.tables[name].indexes
        of_ledger = {index.name for index in defined if index.info.get("of_ledger") and not index.unique}
        uniques = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
        keys: list[Any] = [table.primary_key, *table.indexes, *uniques]
        wrong += [
            (name, key.name) for key in keys if key.columns[0].name != "bank" and key.name not in of_ledger
        ]
        references = [one for one in table.constraints if isinstance(one, ForeignKeyConstraint)]
        ends = {(one.column_keys[0], one.elements[0].target_fullname) for one in references}
        inside = {("bank", f"{one.referred_table.name}.bank") for one in references}
        wrong += [(name, end) for end in ends - inside - {("bank", "banks.id")}]
    assert wrong == []


_KEYS = """
    SELECT key.relname, attribute.attname FROM pg_index
    JOIN pg_class key ON key.oid = indexrelid
    JOIN pg_class AS owner ON owner.oid = indrelid
    JOIN pg_attribute attribute ON attribute.attrelid = indrelid AND attribute.attnum = indkey[0]
    WHERE indisunique AND owner.relnamespace = 'public'::regnamespace AND owner.relname <> ALL(:of_ledger)
"""
_REFERENCES = """
    SELECT conname, (SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[1]),
        (SELECT attname FROM pg_attribute WHERE attrelid = confrelid AND attnum = confkey[1]),
        confrelid::regclass::text
    FROM pg_constraint WHERE contype = 'f'
"""


@pytest.mark.slow  # a PostgreSQL server
def test_no_key_of_a_server_spans_banks_and_no_reference_leaves_one(databases: Databases) -> None:
    """Read from the server's catalogue."""
    engine = create_engine(checked_address(databases.address("ledger")))
    with engine.connect() as connection:
        keys = connection.execute(text(_KEYS), {"of_ledger": sorted(OF_LEDGER)}).all()
        references = connection.execute(text(_REFERENCES)).all()
    engine.dispose()
    assert (len(keys) > 40, {column for _, column in keys}) == (True, {"bank"})
    ends = {(column, "" if owner == "banks" else target) for _, column, target, owner in references}
    assert (len(references) > 40, ends) == (True, {("bank", ""), ("bank", "bank")})
