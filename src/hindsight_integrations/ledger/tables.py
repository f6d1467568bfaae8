"""All tables of the ledger. The schema, rows, archives and checks are derived from these definitions.

Times are integer microseconds since 1970 UTC. Structured values are JSON text. `bank` is the row id of a
bank, and `revision` the bank's commit that wrote a row.

Archives contain most tables. `archived=False` marks a column that is derived on import, and `NOT_ARCHIVED` a
table whose rows are all derived. `holds` defines the valid values of a column, and `of` the kinds of units
that a reference may point to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum, auto
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    desc,
)
from sqlalchemy import text as condition
from sqlalchemy.sql.elements import ColumnElement

from hindsight_integrations.model.entities import EntityChangeKind, EntityRole, EntityType
from hindsight_integrations.model.links import LINK_CODES
from hindsight_integrations.model.mental_models import RefreshTrigger
from hindsight_integrations.model.opinions import Assessment, EvidenceStrength, OpinionOrigin, UpdateRule
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.time import EPOCH, LAST_INSTANT, to_micros
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType, UnitKind, ValidityKind

metadata = MetaData()


class Content(StrEnum):
    """The kind of content in a text, real or blob column."""

    TEXT = auto()
    WORDS = auto()
    """Non-empty text."""
    ID = auto()
    KEY = auto()
    """An id, or empty text."""
    NAME = auto()
    """One line."""
    NAMESPACE = auto()
    ITEM_KEY = auto()
    VECTOR = auto()
    SHARE = auto()
    """A number from 0 to 1."""
    STEP = auto()
    """A number between 0 and 1, exclusive."""
    OBJECT = auto()
    """A JSON object whose text is stored verbatim."""
    STRINGS = auto()
    """A list of strings. This member and the following ones are stored as JSON."""
    NAMES = auto()
    """A list of distinct strings."""
    SOURCES = auto()
    """A non-empty list of strings."""
    TAGS = auto()
    METADATA = auto()
    PROFILE = auto()
    EMBEDDER = auto()
    MOVED = auto()
    """The details of a manual entity change."""
    UNIT_ROWS = auto()
    """A list of distinct row ids of units."""


JSON = frozenset(list(Content)[list(Content).index(Content.STRINGS) :])

INSTANT = range(to_micros(EPOCH.replace(year=1)), to_micros(LAST_INSTANT) + 1)
COUNT = range(2**31)
POSITIVE = range(1, 2**31)
FLAG = range(2)
REVISION = range(
    2**53 + 1
)  # integers that JSON numbers represent exactly; with one commit per microsecond, they last 285 years
ROW_ID = range(1, 2**63)
MEMORIES = tuple(map(str, FactType))
FACTS = tuple(map(str, OBSERVED_NETWORKS))
NOT_ARCHIVED = {"archived": False}
OF_LEDGER = {"of_ledger": True}
"""Marks tables that do not belong to a bank, and indexes that search all banks. All other keys start with the bank."""

# Only an INTEGER primary key is SQLite's row id. The collation makes PostgreSQL sort text like SQLite.
Int = BigInteger().with_variant(Integer(), "sqlite")
String = Text().with_variant(Text(collation="C"), "postgresql")


def integer(
    name: str,
    holds: range = COUNT,
    computed: Computed | None = None,
    *,
    primary_key: bool = False,
    nullable: bool = False,
    server_default: str | None = None,
    archived: bool = True,
) -> Column[int]:
    """Define an integer column."""
    extra = () if computed is None else (computed,)
    return Column(
        name,
        Int,
        *extra,
        primary_key=primary_key,
        nullable=nullable,
        server_default=server_default,
        info={"holds": holds, "archived": archived},
    )


def text(
    name: str,
    holds: Iterable[str] | Content = Content.TEXT,
    *,
    primary_key: bool = False,
    nullable: bool = False,
    server_default: str | None = None,
    archived: bool = True,
) -> Column[str]:
    """Define a text column."""
    return Column(
        name,
        String,
        primary_key=primary_key,
        nullable=nullable,
        server_default=server_default,
        info={"holds": holds if isinstance(holds, Content) else tuple(map(str, holds)), "archived": archived},
    )


def real(name: str, holds: Content = Content.SHARE, *, nullable: bool = False) -> Column[float]:
    """Define a column of 8-byte floating-point numbers."""
    return Column(name, Double, nullable=nullable, info={"holds": holds, "archived": True})


def blob(name: str) -> Column[bytes]:
    """Define a binary column."""
    return Column(name, LargeBinary, nullable=False, info={"holds": Content.VECTOR, "archived": True})


def reference(
    name: str,
    table: str,
    *,
    of: Iterable[str] = MEMORIES,
    ondelete: str | None = "CASCADE",
    primary_key: bool = False,
    nullable: bool = False,
) -> Column[int]:
    """Define a foreign key to the row id of another table. By default, deleting that row deletes this one.

    Args:
        name: name of the column.
        table: the referenced table.
        of: fact types or kinds of units that it may refer to; checked only in archives.
        ondelete: what happens to this row when the referenced row is deleted.
        primary_key: whether the column is part of the primary key.
        nullable: whether the column may be NULL.
    """
    key = ForeignKey(f"{table}.{_ROW_IDS.get(table, 'id')}", ondelete=ondelete)
    kinds = frozenset(map(str, of)) if table == "units" else None
    info = {"holds": ROW_ID, "archived": True, "table": table, "of": kinds}
    return Column(name, Int, key, primary_key=primary_key, nullable=nullable, autoincrement=False, info=info)


def index(
    name: str,
    *columns: str | ColumnElement[str],
    where: str = "",
    unique: bool = False,
    of_ledger: bool = False,
) -> Index:
    """Define an index. `where` makes it partial; `of_ledger` means that it searches all banks."""
    chosen = condition(where) if where else None
    info = OF_LEDGER if of_ledger else {}
    return Index(name, *columns, unique=unique, sqlite_where=chosen, postgresql_where=chosen, info=info)


_ROW_IDS = {"observations": "unit", "opinions": "unit", "opinion_wordings": "unit"}
"""Tables that extend `units` and have the same row ids."""


def keyed_by_bank() -> MetaData:
    """Return the tables with keys and references that start with the bank.

    No key or reference then crosses banks, so that a server can be partitioned by bank. SQLite, which is used by a single
    process, has plain row ids as keys, because they are faster there.
    """
    derived = MetaData()
    for table in metadata.sorted_tables:
        copy = table.to_metadata(derived)
        if not table.info.get("of_ledger"):
            _start_with_bank(copy, {one.name for one in table.indexes if one.info.get("of_ledger")})
    return derived


def _start_with_bank(table: Table, of_ledger: Collection[str | None]) -> None:
    """Add the bank to the keys, references and indexes of a table, except to the indexes in `of_ledger`."""
    keys = [column.name for column in table.primary_key if column.name != "bank"]
    if table.autoincrement_column is not None and "id" in keys:
        table.c.id.autoincrement = True  # not the default for keys of two columns
    table.c.bank.primary_key = True
    table.append_constraint(PrimaryKeyConstraint("bank", *keys))
    for key in table.foreign_key_constraints:
        (column,), referred = key.column_keys, key.referred_table
        if referred.name == "banks":
            continue
        target = [f"{referred.name}.{name}" for name in ("bank", key.elements[0].column.name)]
        ondelete = f"SET NULL ({column})" if key.ondelete == "SET NULL" else key.ondelete
        table.constraints.discard(key)
        table.append_constraint(ForeignKeyConstraint(["bank", column], target, ondelete=ondelete))
    for unique in [one for one in table.constraints if isinstance(one, UniqueConstraint)]:
        if "bank" not in unique.columns:
            table.constraints.discard(unique)
            table.append_constraint(UniqueConstraint("bank", *unique.columns.keys(), name=unique.name))
    for one in list(table.indexes):
        if "bank" not in one.columns and one.name not in of_ledger:
            table.indexes.discard(one)
            where = one.dialect_options["postgresql"]["where"]
            Index(one.name, table.c.bank, *one.expressions, unique=one.unique, postgresql_where=where)


def _due(pending: str) -> Computed:
    return Computed(
        f"CASE state WHEN 'pending' THEN {pending} WHEN 'leased' THEN lease_until END", persisted=True
    )


def archived_columns(table: Table) -> list[Column[Any]]:
    """Return the columns that archives contain; none if the whole table is derived."""
    if not table.info.get("archived", True):
        return []
    return [column for column in table.c if column.name != "bank" and column.info["archived"]]


_UNLEASED = [state for state in TaskState if state is not TaskState.LEASED]
"""States of tasks in an archive. Leases are not exported."""


# `revision` counts a bank's commits. Row ids of banks, units and entities are never reused, because indexes store them.
banks = Table(
    "banks",
    metadata,
    integer("id", primary_key=True, archived=False),
    text("name", archived=False),
    text("key", archived=False),
    integer("revision", REVISION, server_default="0"),
    integer("dimension", POSITIVE, nullable=True),
    text("embedder", Content.EMBEDDER, nullable=True),
    text("profile", archived=False),
    UniqueConstraint("key"),
    UniqueConstraint("name"),
    sqlite_autoincrement=True,
    info=OF_LEDGER,
)

profile_changes = Table(
    "profile_changes",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("number", POSITIVE, primary_key=True),
    text("profile", Content.PROFILE),
    integer("effective_at", INSTANT),
    integer("recorded_at", INSTANT),
    text("reason"),
    sqlite_with_rowid=False,
)

# A single row with the state of the ledger; `banks` is the highest row id that a bank has ever had.
ledger = Table(
    "ledger",
    metadata,
    text("id"),
    integer("transactions"),
    blob("token"),
    integer("bank", nullable=True),
    integer("banks", server_default="0"),
    info=NOT_ARCHIVED | OF_LEDGER,
)

# Ids of ledgers with missing commits whose loss the user has accepted.
losses = Table(
    "losses",
    metadata,
    text("ledger", primary_key=True),
    integer("accepted_at"),
    text("report"),
    info=NOT_ARCHIVED | OF_LEDGER,
)

# A random token for each commit. An index with another token for the same revision was built from another ledger.
commits = Table(
    "commits",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision", primary_key=True),
    blob("token"),
    sqlite_with_rowid=False,
    info=NOT_ARCHIVED,
)

documents = Table(
    "documents",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("id", primary_key=True),
    text("content_hash"),
    text("context"),
    integer("mentioned_at", INSTANT),
    text("metadata", Content.METADATA),
    text("tags", Content.TAGS),
    sqlite_with_rowid=False,
)

chunks = Table(
    "chunks",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("document", primary_key=True),
    integer("ordinal", primary_key=True),
    text("text"),
    text("content_hash"),
    integer("position", range(-1, 2**31)),
)

message_keys = Table(
    "message_keys",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    text("content_hash", primary_key=True),
    integer("revision", REVISION),
    sqlite_with_rowid=False,
)

# The texts of retained messages; empty if `unit` stores the message word for word.
turns = Table(
    "turns",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    reference("unit", "units", nullable=True, of=(*MEMORIES, UnitKind.TURN)),
    text("text"),
    text("speaker"),
    text("role", Role),
    integer("said_at", INSTANT),
    text("tags", Content.TAGS),
    index("turns_unit", "unit", where="unit IS NOT NULL"),
    sqlite_with_rowid=False,
)

# `seen` and `digest` identify the list of messages in the last call of `follow`; `head` is the last message of its branch.
threads = Table(
    "threads",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("thread"),
    text("namespace"),
    integer("seen"),
    text("digest"),
    text("head", nullable=True),
    UniqueConstraint("bank", "thread", "namespace"),
    info=NOT_ARCHIVED,
)

# A tree: `parent` is the message before this one. `gone` marks messages that a fork discarded.
thread_messages = Table(
    "thread_messages",
    metadata,
    integer("id", primary_key=True),
    integer("bank"),
    reference("list", "threads"),
    text("message"),
    text("content_hash"),
    text("parent", nullable=True),
    integer("gone", server_default="0"),
    UniqueConstraint("list", "message", name="thread_messages_key"),
    info=NOT_ARCHIVED,
)
# Closing or restoring a unit changes its checksum by the difference; see checksums.py.
units = Table(
    "units",
    metadata,
    integer("id", ROW_ID, primary_key=True),
    reference("bank", "banks"),
    text("unit_id", Content.ID),
    text("text", Content.WORDS),
    text("fact_type", FactType),
    integer("mentioned_at", INSTANT),
    integer("occurred_start", INSTANT, nullable=True),
    integer("occurred_end", INSTANT, nullable=True),
    integer("closed_at", INSTANT, nullable=True),
    text("context"),
    real("confidence", nullable=True),
    text("metadata", Content.METADATA),
    text("tags", Content.TAGS),
    text("document", nullable=True),
    integer("chunk"),
    text("thread"),
    text("sources", Content.STRINGS),
    integer("tokens"),
    integer("created", archived=False),  # the revision that added the unit
    integer("changed", archived=False),  # the revision that last closed, restored or re-dated it
    text("speaker"),
    integer("checksum", server_default="0", archived=False),
    text("kind", UnitKind),
    integer("records", server_default="0", archived=False),
    integer("compact", nullable=True),  # characters of the short form, if there is one
    integer("compact_tokens", nullable=True),  # tokens of the short form
    reference("head", "units", ondelete="SET NULL", nullable=True),  # an item's document
    integer("number", server_default="0"),  # an item's position there
    integer("lasting", FLAG, server_default="0"),  # 1 for statements about who somebody is
    UniqueConstraint("bank", "unit_id"),
    index("units_created", "bank", "created"),
    index("units_changed", "bank", "changed"),
    index("units_document", "bank", "document", where="document IS NOT NULL"),
    index("units_waiting", "bank", "id", where="kind = 'turn'"),
    index("units_items", "bank", "created", where="kind = 'item'"),
    index("units_document_items", "bank", "created", where="kind = 'document_item'"),
    index("units_head", "head", where="head IS NOT NULL"),
    sqlite_autoincrement=True,
)

# A separate table, so that reads of columns and texts of 100,000 units do not page past the blobs.
vectors = Table(
    "vectors",
    metadata,
    reference("unit", "units", primary_key=True, of=(*MEMORIES, UnitKind.TURN, UnitKind.ITEM)),
    integer("bank", archived=False),
    integer("revision", archived=False),
    blob("vector"),
    integer("checksum", server_default="0", archived=False),
    index("vectors_feed", "bank", "revision"),
)

# Maps a message to the units made from it. When a message is edited, the units of its previous version are closed.
unit_sources = Table(
    "unit_sources",
    metadata,
    integer("bank", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    reference("unit", "units", primary_key=True),
    index("unit_sources_unit", "unit"),
    sqlite_with_rowid=False,
    info=NOT_ARCHIVED,
)

# The unique key prevents a repeated write from adding its event again.
validity_events = Table(
    "validity_events",
    metadata,
    integer("id", primary_key=True, archived=False),
    integer("bank"),
    reference("unit", "units"),
    text("kind", ValidityKind),
    integer("effective_at", INSTANT),
    integer("revision", REVISION),
    reference("by_unit", "units", ondelete="SET NULL", nullable=True),
    text("reason"),
    Index(
        "validity_once",
        "unit",
        "kind",
        "effective_at",
        condition("coalesce(by_unit, 0)"),
        "reason",
        unique=True,
    ),
    index("validity_by_unit", "by_unit", where="by_unit IS NOT NULL"),
    sqlite_autoincrement=True,
)

# The old text is not kept, because edits are often made to remove it.
unit_edits = Table(
    "unit_edits",
    metadata,
    integer("id", primary_key=True, archived=False),
    integer("bank"),
    reference("unit", "units"),
    integer("revision", archived=False),
    integer("made_at", INSTANT),
    text("fields", Content.STRINGS),
    index("unit_edits_feed", "bank", "revision", "unit"),
    index("unit_edits_unit", "unit"),
    sqlite_autoincrement=True,
)

record_categories = Table(
    "record_categories",
    metadata,
    integer("id", ROW_ID, primary_key=True),
    reference("bank", "banks"),
    text("kind", RecordKind),
    text("name", Content.WORDS),
    index("record_categories_bank", "bank", "kind"),
    sqlite_autoincrement=True,
)

# `name` is normalised by `spelling_key`. A spelling belongs to one category.
record_category_names = Table(
    "record_category_names",
    metadata,
    integer("bank", primary_key=True),
    text("kind", RecordKind, primary_key=True),
    text("name", Content.WORDS, primary_key=True),
    reference("category", "record_categories"),
    index("record_category_names_category", "category"),
    sqlite_with_rowid=False,
)

# The index contains `kind` and `category`, so that a sum detects a record with a damaged row.
records = Table(
    "records",
    metadata,
    reference("unit", "units", primary_key=True),
    integer("ordinal", primary_key=True),
    integer("bank"),
    text("kind", RecordKind),
    reference("category", "record_categories", ondelete=None, nullable=True),
    text("value"),
    integer("is_number", FLAG),
    text("measure"),
    text("stated"),
    integer("checksum", archived=False),
    index("records_kind", "bank", "kind", "category", "unit"),
    index("records_category", "category", "unit", where="category IS NOT NULL"),
    sqlite_with_rowid=False,
)
entities = Table(
    "entities",
    metadata,
    integer("id", ROW_ID, primary_key=True),
    reference("bank", "banks"),
    text("entity_id", Content.ID),
    text("name", Content.WORDS),
    text("type", EntityType),
    text("role", EntityRole),
    text("names", Content.NAMES),  # normalised; indexed by entity_names and entity_blocks
    integer("mentions", server_default="0", archived=False),
    integer("last_seen", nullable=True, archived=False),
    integer("facts_changed", REVISION, server_default="0"),  # the last revision that changed its valid facts
    integer("observed_at", REVISION, server_default="0"),  # the revision whose facts were summarised
    UniqueConstraint("bank", "entity_id"),
    index("entities_roles", "bank", where="role <> ''"),
    index("entities_mentions", "bank", "mentions"),
    index("entities_unobserved", "bank", "facts_changed", where="facts_changed > observed_at"),
    sqlite_autoincrement=True,
)

entity_names = Table(
    "entity_names",
    metadata,
    integer("bank", primary_key=True),
    text("name", primary_key=True),
    reference("entity", "entities", primary_key=True),
    index("entity_names_entity", "entity"),
    sqlite_with_rowid=False,
    info=NOT_ARCHIVED,
)

entity_blocks = Table(
    "entity_blocks",
    metadata,
    integer("bank", primary_key=True),
    text("block", primary_key=True),
    reference("entity", "entities", primary_key=True),
    index("entity_blocks_entity", "entity"),
    sqlite_with_rowid=False,
    info=NOT_ARCHIVED,
)

# `detail` is JSON with the moved entity ids, names and mentions, which undo needs.
entity_changes = Table(
    "entity_changes",
    metadata,
    integer("id", primary_key=True, archived=False),
    reference("bank", "banks"),
    text("kind", EntityChangeKind),
    text("detail", Content.MOVED),
    integer("made_at", INSTANT),
    integer("undone", FLAG, server_default="0"),
    index("entity_changes_bank", "bank"),
    sqlite_autoincrement=True,
)

mentions = Table(
    "mentions",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("entity", "entities", primary_key=True),
    integer("bank"),
    integer("revision", archived=False),
    text("text"),
    index("mentions_entity", "entity", "unit"),
    index("mentions_feed", "bank", "revision", "unit", "entity"),
    sqlite_with_rowid=False,
)

# `code` is a LINK_CODES value. These numbers are stored and must never change.
links = Table(
    "links",
    metadata,
    reference("source", "units", primary_key=True),
    reference("target", "units", primary_key=True),
    integer("code", range(len(LINK_CODES)), primary_key=True),
    real("weight"),
    integer("bank"),
    integer("revision", archived=False),
    index("links_target", "target"),
    index("links_feed", "bank", "revision", "source", "target", "code", "weight"),
    sqlite_with_rowid=False,
)

# The last revision that changed links or mentions in place. Graphs older than this are rebuilt.
graph_epochs = Table(
    "graph_epochs",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision"),
    info=NOT_ARCHIVED,
)

# Observations that the engine made. Observations retained by the caller are not listed here.
observations = Table(
    "observations",
    metadata,
    reference("unit", "units", primary_key=True, of=[FactType.OBSERVATION]),
    integer("bank"),
    reference("entity", "entities"),
    index("observations_entity", "entity", "unit"),
)

observation_facts = Table(
    "observation_facts",
    metadata,
    reference("observation", "observations", primary_key=True),
    reference("fact", "units", primary_key=True, of=FACTS),
    integer("bank"),
    index("observation_facts_fact", "fact"),
    sqlite_with_rowid=False,
)

# `facts` is a JSON list of row ids, because a frequently mentioned entity would need thousands of rows.
observed_left_out = Table(
    "observed_left_out",
    metadata,
    reference("entity", "entities", primary_key=True),
    integer("bank"),
    text("facts", Content.UNIT_ROWS),
)

# Banks that changed while observations were off, so that their tasks were not enqueued.
unobserved = Table(
    "unobserved",
    metadata,
    reference("bank", "banks", primary_key=True),
    info=NOT_ARCHIVED,
)

# The id of an opinion is the row id of its first wording. Deleting that wording deletes the opinion.
opinions = Table(
    "opinions",
    metadata,
    reference("unit", "units", primary_key=True, of=[FactType.OPINION]),
    reference("bank", "banks"),
    real("confidence"),
    integer("formed_at", INSTANT),
    integer("recorded_at", INSTANT),
    integer("revision", REVISION),
    text("origin", OpinionOrigin),
    text("operation"),
    integer("profile"),
    text("reasoning"),
    integer("assessed_to", REVISION),
    index("opinions_bank", "bank", "formed_at", "unit"),
    index("opinions_operation", "bank", "operation", where="operation <> ''"),
    index("opinions_revision", "bank", "revision"),
)

opinion_wordings = Table(
    "opinion_wordings",
    metadata,
    reference("unit", "units", primary_key=True, of=[FactType.OPINION]),
    integer("bank"),
    reference("opinion", "opinions"),
    integer("number", POSITIVE),
    text("reason"),
    integer("revision", REVISION),
    UniqueConstraint("opinion", "number"),
)

opinion_grounds = Table(
    "opinion_grounds",
    metadata,
    reference("wording", "opinion_wordings", primary_key=True),
    reference("fact", "units", primary_key=True),
    integer("bank"),
    index("opinion_grounds_fact", "fact"),
    sqlite_with_rowid=False,
)

# `sources` and `restates` (row ids) are JSON. `version` is the wording that was assessed.
evidence = Table(
    "evidence",
    metadata,
    reference("opinion", "opinions", primary_key=True),
    reference("fact", "units", primary_key=True, of=FACTS),
    integer("bank"),
    text("sources", Content.SOURCES),
    text("restates", Content.UNIT_ROWS),
    text("assessment", Assessment),
    text("strength", EvidenceStrength),
    text("rule", UpdateRule),
    real("step", Content.STEP),
    text("reason"),
    reference("version", "opinion_wordings"),
    integer("effective_at", INSTANT),
    integer("recorded_at", INSTANT),
    integer("revision", REVISION),
    index("evidence_fact", "fact"),
    index("evidence_version", "version"),
    sqlite_with_rowid=False,
)

# Reflections whose opinions were committed, including those that formed none.
opinion_operations = Table(
    "opinion_operations",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("key", Content.WORDS, primary_key=True),
    sqlite_with_rowid=False,
)
mental_models = Table(
    "mental_models",
    metadata,
    integer("id", ROW_ID, primary_key=True),
    reference("bank", "banks"),
    text("model_id", Content.ID),
    text("name", Content.NAME),
    text("question", Content.WORDS),
    text("tags", Content.TAGS),
    text("refreshes", RefreshTrigger),
    integer("max_tokens", POSITIVE),
    integer("created_at", INSTANT),
    text("text", server_default=""),
    integer("extractive", FLAG, server_default="0"),
    integer("refreshed_at", INSTANT, nullable=True),
    # the bank's revision on which the answer is based
    integer("revision", server_default="0", archived=False),
    # the last revision checked for changes; never decreases
    integer("checked_to", REVISION, server_default="0"),
    integer("forgotten", FLAG, server_default="0"),  # 1 if the text was removed by an erasure or export
    UniqueConstraint("bank", "model_id"),
    UniqueConstraint("bank", "name"),
)

# The memories shown to the model that wrote a text; `cited` marks those that the text cites.
mental_model_grounds = Table(
    "mental_model_grounds",
    metadata,
    reference("model", "mental_models", primary_key=True),
    reference("unit", "units", primary_key=True, of=FACTS),
    integer("bank"),
    integer("cited", FLAG),
    index("mental_model_grounds_unit", "unit"),
    sqlite_with_rowid=False,
)

directives = Table(
    "directives",
    metadata,
    integer("id", primary_key=True, archived=False),
    reference("bank", "banks"),
    text("directive_id", Content.ID),
    text("text", Content.WORDS),
    text("tags", Content.TAGS),
    integer("created_at", INSTANT),
    UniqueConstraint("bank", "text", "tags"),
    UniqueConstraint("bank", "directive_id"),
)

# `namespace`: each label is escaped and ends with a dot, so that a prefix is a range of keys. `ttl` is in microseconds.
items = Table(
    "items",
    metadata,
    integer("id", ROW_ID, primary_key=True),
    reference("bank", "banks"),
    text("namespace", Content.NAMESPACE),
    text("key", Content.ITEM_KEY),
    text("value", Content.OBJECT),
    integer("created_at", INSTANT),
    integer("updated_at", INSTANT),
    integer("ttl", range(1, 2**62), nullable=True),
    integer("expires_at", INSTANT, nullable=True),
    integer("checksum", server_default="0", archived=False),
    UniqueConstraint("bank", "namespace", "key"),
    index("items_expiring", "expires_at", "bank", where="expires_at IS NOT NULL", of_ledger=True),
    index("items_newest", "bank", desc("updated_at"), "namespace", "key"),
)

item_units = Table(
    "item_units",
    metadata,
    reference("unit", "units", primary_key=True, of=[UnitKind.ITEM]),
    integer("bank"),
    reference("item", "items"),
    index("item_units_item", "item"),
)

# The number of deleted or replaced values and texts that may still be in the files.
item_residue = Table(
    "item_residue",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("texts"),
    info=NOT_ARCHIVED,
)
tasks = Table(
    "tasks",
    metadata,
    integer("id", primary_key=True, archived=False),
    reference("bank", "banks"),
    text("kind", TaskKind),
    text("payload"),
    text("state", _UNLEASED),
    integer("attempts", server_default="0"),
    integer("lease_until", nullable=True, archived=False),
    integer("not_before", INSTANT),
    text("last_error", server_default=""),
    text("key", Content.KEY, server_default=""),
    integer("lease", server_default="0", archived=False),
    integer("uncounted", server_default="0", archived=False),
    integer("debounce", server_default="0", archived=False),
    text("batch", archived=False, server_default=""),
    integer("size", server_default="0", archived=False),
    # microseconds of delay if enqueued again during its lease
    integer("again", nullable=True, archived=False),
    # when it can be leased next; NULL if done or dead
    integer("due", computed=_due("not_before"), nullable=True, archived=False),
    # the same, ignoring `debounce`
    integer("early", computed=_due("not_before - debounce"), nullable=True, archived=False),
    index("tasks_key", "bank", "kind", "key", where="key <> ''", unique=True),
    index("tasks_due", "kind", "due", where="due IS NOT NULL", of_ledger=True),
    index("tasks_early", "kind", "early", where="early IS NOT NULL", of_ledger=True),
    index("tasks_bank_due", "bank", "kind", "due"),
    index("tasks_bank_early", "bank", "kind", "early", where="early IS NOT NULL"),
    index("tasks_leased", "bank", where="lease_until IS NOT NULL"),
    index("tasks_batch", "bank", "kind", "batch", where="batch <> '' AND due IS NOT NULL"),
    sqlite_autoincrement=True,
)

# Units that must be removed from indexes.
removed = Table(
    "removed",
    metadata,
    integer("unit", primary_key=True),
    reference("bank", "banks"),
    integer("revision"),
    index("removed_feed", "bank", "revision"),
    info=NOT_ARCHIVED,
)

# Units that must be indexed again because a source turn was erased, with the revision of the erasure.
retold = Table(
    "retold",
    metadata,
    reference("unit", "units", primary_key=True),
    integer("bank"),
    integer("revision"),
    index("retold_feed", "bank", "revision"),
    info=NOT_ARCHIVED,
)

# The last revision that erased anything. An older index must clean its files.
erasures = Table(
    "erasures",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision"),
    info=NOT_ARCHIVED,
)
# Copies of banks outside the ledger (copies.py). Those of dropped banks stay here until they are deleted.
copies = Table(
    "copies",
    metadata,
    integer("bank", primary_key=True),
    text("holder", primary_key=True),
    text("key"),  # the bank's key
    text("place"),
    text("process"),
    integer("opened_at", INSTANT),
    integer("erased", REVISION),  # the last revision that erased anything
    integer("confirmed", REVISION),  # the revision up to which the copy has applied erasures
    index("copies_behind", "holder", where="erased > confirmed", of_ledger=True),
    index("copies_key", "key", of_ledger=True),
    sqlite_with_rowid=False,
    info=NOT_ARCHIVED,
)

# Banks with an erasure that has not been scrubbed from the files. No foreign key, because a dropped bank stays here too.
unscrubbed = Table(
    "unscrubbed",
    metadata,
    integer("bank", primary_key=True),
    info=NOT_ARCHIVED,
)
