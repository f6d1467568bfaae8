"""SQL constructs beyond SQLAlchemy Core, compiled for SQLite and PostgreSQL.

Statements are module constants, so that SQLAlchemy compiles each only once; executing one then takes about 20 microseconds
more than using the driver directly. Values that vary are bound by name.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import ARRAY, Insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeDecorator

from hindsight_integrations.ledger.tables import Int, String
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.writes import Place

Values: TypeAlias = Mapping[str, Any]
"""The values of a row, or the parameters of a statement, by name."""


class Many(TypeDecorator[Sequence[Any]]):
    """A list of any length that is bound as one parameter: JSON in SQLite, an array in PostgreSQL."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, of: sa.types.TypeEngine[Any]) -> None:
        super().__init__()
        self.of = of

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """Return the type of the parameter in this dialect."""
        return dialect.type_descriptor(sa.Text() if dialect.name == "sqlite" else ARRAY(self.of))

    def process_bind_param(self, value: Sequence[Any] | None, dialect: sa.Dialect) -> Any:  # noqa: ANN401 - the driver's
        """Convert the list to the parameter's value."""
        values = list(value or ())
        return json.dumps(values) if dialect.name == "sqlite" else values


class _Elements(GenericFunction[Any]):
    """The elements of a bound list, as rows of a table."""

    name = "elements"
    inherit_cache = True


@compiles(_Elements, "sqlite")
def _json_each(element: _Elements, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Elements, "postgresql")
def _unnest(element: _Elements, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"(SELECT unnest({compiler.process(element.clauses, **options)}) AS value)"


def numbers(name: str) -> TableValuedAlias:
    """Return a bound list of integers as a table with the column `value`."""
    return _elements(name, Int)


def strings(name: str) -> TableValuedAlias:
    """Return a bound list of strings as a table with the column `value`."""
    return _elements(name, sa.Text())


def _elements(name: str, of: sa.types.TypeEngine[Any]) -> TableValuedAlias:
    bound = sa.bindparam(name, type_=Many(of))
    return _Elements(bound).table_valued(sa.column("value", of), name=f"{name}_given")


def among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Return the condition that a column's value is in the bound list. Uses the column's index."""
    bound = numbers(name) if isinstance(column.type, sa.Integer) else strings(name)
    return column.in_(sa.select(bound.c.value))


_PLACE = ("bank", "thread", "message")


class _Places(GenericFunction[Any]):
    """The elements of a bound list of places (thread, message id), as rows of a table."""

    name = "places"
    inherit_cache = True


@compiles(_Places, "sqlite")
def _json_places(element: _Places, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    values = compiler.process(next(iter(element.clauses)), **options)
    columns = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(_PLACE))
    return f"(SELECT {columns} FROM json_each({values}))"


@compiles(_Places, "postgresql")
def _unnested_places(element: _Places, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    # The planner knows the lengths of arrays; for a JSON list it would assume 100 and scan the whole bank.
    arrays = ", ".join(compiler.process(array, **options) for array in list(element.clauses)[1:])
    return f"(SELECT * FROM unnest({arrays}) AS given({', '.join(_PLACE)}))"


_PLACE_TYPES: Any = (Int, String, String)
place_list = _Places(
    sa.bindparam("places", type_=sa.JSON()),
    *(sa.bindparam(f"place_{name}", type_=Many(of)) for name, of in zip(_PLACE, _PLACE_TYPES, strict=True)),
).table_valued(*(sa.column(name, of) for name, of in zip(_PLACE, _PLACE_TYPES, strict=True)), name="places")
"""The messages bound by `place_values`, as a table. Its bank column makes SQLite start the join from this table."""


def is_at_place(table: sa.FromClause) -> ColumnElement[bool]:
    """Return the condition that a row belongs to a message of `place_list`."""
    return sa.and_(*(table.c[name] == place_list.c[name] for name in _PLACE))


def place_values(bank: int, places: Iterable[Place]) -> dict[str, Sequence[Any]]:
    """Return the parameters of a statement that uses `place_list`: a bank and distinct messages."""
    listed = [(bank, *place) for place in dict.fromkeys(places)]
    columns = zip(*listed, strict=True) if listed else ((), (), ())
    return {"places": listed} | {
        f"place_{name}": column for name, column in zip(_PLACE, columns, strict=True)
    }


class _Unindexed(sa.sql.expression.UnaryExpression[Any]):
    """A column whose index SQLite must not use."""

    inherit_cache = True


def unindexed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Keep SQLite from using the index of a column in a condition, because it lacks the statistics to choose well."""
    return _Unindexed(column, operator=sa.sql.operators.custom_op("+"))


@compiles(_Unindexed, "sqlite")
def _with_plus(element: _Unindexed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"+{compiler.process(element.element, **options)}"


@compiles(_Unindexed, "postgresql")
def _plain(element: _Unindexed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return compiler.process(element.element, **options)


class _BankCondition(sa.sql.expression.UnaryExpression[Any]):
    """A condition `bank = ...` of a query by row id. SQLite omits it, because its row ids are unique in the database."""

    inherit_cache = True


def _bank_condition(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return _BankCondition(condition, operator=sa.sql.operators.custom_op("+"), type_=sa.Boolean())


@compiles(_BankCondition, "sqlite")
def _always(element: _BankCondition, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401, ARG001 - SQLAlchemy's
    return "1"


@compiles(_BankCondition, "postgresql")
def _of_bank(element: _BankCondition, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return compiler.process(element.element, **options)


def in_bank(table: sa.FromClause, name: str = "bank") -> ColumnElement[bool]:
    """Return the condition that rows belong to the bank bound as `name`. Use it together with a condition on row ids.

    On PostgreSQL every key starts with the bank, so a lookup by row id alone would scan the whole table.
    """
    return _bank_condition(table.c.bank == sa.bindparam(name))


def same_bank(left: sa.FromClause, right: sa.FromClause) -> ColumnElement[bool]:
    """Return the condition that two rows belong to the same bank. Use it together with a condition on row ids."""
    return _bank_condition(left.c.bank == right.c.bank)


def refers(column: ColumnElement[int], to: sa.FromClause) -> ColumnElement[bool]:
    """Return the condition that a column refers to a row of another table, in the same bank."""
    table: sa.FromClause = column.table
    key = to.c["id" if "id" in to.c else "unit"]
    return sa.and_(key == column, same_bank(to, table))


def key_of(table: sa.Table) -> str:
    """Return the conflict target of a table for ON CONFLICT on PostgreSQL, where the key starts with the bank.

    SQLite needs no target, because it checks all keys.
    """
    return f"{table.name}_pkey"


class _Packed(GenericFunction[str]):
    """The values of a column as one comma-separated text."""

    name = "packed"
    inherit_cache = True
    type = sa.Text()


@compiles(_Packed, "sqlite")
def _group_concat(element: _Packed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"group_concat({compiler.process(element.clauses, **options)})"


@compiles(_Packed, "postgresql")
def _string_agg(element: _Packed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"string_agg(({compiler.process(element.clauses, **options)})::text, ',')"


def packed(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Aggregate an integer column into one text, which numpy parses three times faster than it reads rows."""
    return _Packed(column)


def integers(text: str | None) -> IntArray:
    """Parse the numbers of a packed column, (n,). NULL gives an empty array."""
    return np.fromstring(text, np.int64, sep=",") if text else np.empty(0, np.int64)


def insert(table: sa.Table) -> Insert:
    """Build an INSERT that accepts an ON CONFLICT clause, with the same syntax for SQLite and PostgreSQL.

    It is inline, because on PostgreSQL SQLAlchemy would otherwise fetch the new row id of a single row.
    """
    return Insert(table).inline()


def run_many(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Execute a statement once per row of values, ignoring its result. On PostgreSQL it is sent with the next statement.

    For an empty list nothing is executed (SQLAlchemy would execute the statement once, without values).
    """
    if rows:
        connection.execute(statement, rows, execution_options={SENT_LATER: []})


def count_many(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> int:
    """Execute a statement once per row of values; return the total number of changed rows."""
    return connection.execute(statement, rows).rowcount if rows else 0


def ask(connection: Connection, *questions: tuple[sa.Executable, Values]) -> list[list[Any]]:
    """Return the rows of several independent selects, which PostgreSQL answers in one round trip."""
    *others, last = questions
    cursors: list[Any] = []  # stays empty on SQLite, where each select is executed immediately
    results: list[Any] = [
        connection.execute(select, values, execution_options={SENT_LATER: cursors})
        for select, values in others
    ]
    final = list(connection.execute(*last))
    return [*(list(result.fetchall()) for result in cursors or results), final]


SENT_LATER = "sent_later"
"""Execution option: a list that receives the driver's cursor when the next statement has sent this one (PostgreSQL)."""


def raw(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, for features that SQLAlchemy lacks and for faster bulk reads."""
    return connection.connection.driver_connection  # type: ignore[return-value] # SQLite's


@contextmanager
def lenient_text(connection: Connection) -> Iterator[None]:
    """While texts are read, replace bytes that cannot be decoded; in SQLite these occur only after damage."""
    if connection.dialect.name != "sqlite":
        yield
        return
    raw(connection).text_factory = _decoded
    try:
        yield
    finally:
        raw(connection).text_factory = str


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def changes(connection: Connection) -> int:
    """Return the number of rows that this connection has changed, by the statements sent so far."""
    if connection.dialect.name == "sqlite":
        return raw(connection).total_changes
    return int(connection.info.get("changes", 0))
