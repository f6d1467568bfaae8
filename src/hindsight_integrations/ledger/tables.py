"""Every table of the ledger, defined once: the schema, rows, archives and checks derive from these definitions.

Instants are integer microseconds since 1970 UTC; structured values are JSON text; `bank` is a bank's row id and
`revision` the commit of the bank that wrote a row.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    desc,
)
from sqlalchemy import text as condition
from sqlalchemy.sql.elements import ColumnElement

metadata = MetaData()

# SQLite makes only an INTEGER primary key its row id. PostgreSQL orders text by the database's locale unless told otherwise.
Int = BigInteger().with_variant(Integer(), "sqlite")
String = Text().with_variant(Text(collation="C"), "postgresql")


def integer(
    name: str,
    computed: Computed | None = None,
    *,
    primary_key: bool = False,
    nullable: bool = False,
    server_default: str | None = None,
) -> Column[int]:
    """A column of whole numbers."""
    extra = () if computed is None else (computed,)
    return Column(
        name, Int, *extra, primary_key=primary_key, nullable=nullable, server_default=server_default
    )


def text(
    name: str, *, primary_key: bool = False, nullable: bool = False, server_default: str | None = None
) -> Column[str]:
    """A column of text."""
    return Column(name, String, primary_key=primary_key, nullable=nullable, server_default=server_default)


def real(name: str, *, nullable: bool = False) -> Column[float]:
    """A column of 8-byte floating-point numbers."""
    return Column(name, Double, nullable=nullable)


def blob(name: str) -> Column[bytes]:
    """A column of bytes."""
    return Column(name, LargeBinary, nullable=False)


def reference(
    name: str,
    table: str,
    *,
    ondelete: str | None = "CASCADE",
    primary_key: bool = False,
    nullable: bool = False,
) -> Column[int]:
    """A column with the row id of another table's row, which takes this row along when it is deleted."""
    key = ForeignKey(f"{table}.{_ROW_IDS.get(table, 'id')}", ondelete=ondelete)
    return Column(name, Int, key, primary_key=primary_key, nullable=nullable, autoincrement=False)


def index(name: str, *columns: str | ColumnElement[str], where: str = "", unique: bool = False) -> Index:
    """An index, of the rows that meet a condition if one is given."""
    chosen = condition(where) if where else None
    return Index(name, *columns, unique=unique, sqlite_where=chosen, postgresql_where=chosen)


_ROW_IDS = {"observations": "unit", "opinions": "unit", "opinion_wordings": "unit"}
"""Tables whose row id is that of the unit they extend."""


def _due(pending: str) -> Computed:
    return Computed(
        f"CASE state WHEN 'pending' THEN {pending} WHEN 'leased' THEN lease_until END", persisted=True
    )


# `revision` counts a bank's commits. Row ids of banks, units and entities are never reused, so that an index can name rows by them.
banks = Table(
    "banks",
    metadata,
    integer("id", primary_key=True),
    text("name"),
    text("key"),
    integer("revision", server_default="0"),
    integer("dimension", nullable=True),
    text("embedder", nullable=True),
    text("profile"),
    UniqueConstraint("key"),
    UniqueConstraint("name"),
    sqlite_autoincrement=True,
)

profile_changes = Table(
    "profile_changes",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("number", primary_key=True),
    text("profile"),
    integer("effective_at"),
    integer("recorded_at"),
    text("reason"),
    sqlite_with_rowid=False,
)

# One row: whose history this is, how many transactions it has seen, a random token of the last, the bank it was of, and the
# highest row id that a bank ever had.
ledger = Table(
    "ledger",
    metadata,
    text("id"),
    integer("transactions"),
    blob("token"),
    integer("bank", nullable=True),
    integer("banks", server_default="0"),
)

# Ledgers whose end, or whose later part, was lost, and the user chose to continue without it.
losses = Table(
    "losses",
    metadata,
    text("ledger", primary_key=True),
    integer("accepted_at"),
    text("report"),
)

# A random token for each commit of a bank: an index whose mark has another token belongs to another history.
commits = Table(
    "commits",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision", primary_key=True),
    blob("token"),
    sqlite_with_rowid=False,
)

documents = Table(
    "documents",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("id", primary_key=True),
    text("content_hash"),
    text("context"),
    integer("mentioned_at"),
    text("metadata"),
    text("tags"),
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
    integer("position"),
)

message_keys = Table(
    "message_keys",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    text("content_hash", primary_key=True),
    integer("revision"),
    sqlite_with_rowid=False,
)

# The text of retained messages. Where a message is a unit word for word, `unit` names it and the rest is empty.
turns = Table(
    "turns",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    reference("unit", "units", nullable=True),
    text("text"),
    text("speaker"),
    text("role"),
    integer("said_at"),
    text("tags"),
    index("turns_unit", "unit", where="unit IS NOT NULL"),
    sqlite_with_rowid=False,
)

# `seen` and `digest`: the list of messages as it was last followed. `head`: the last message of its branch.
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
)

# A tree: `parent` is the message before this one, when it was first seen. `gone`: a fork dropped it.
thread_messages = Table(
    "thread_messages",
    metadata,
    integer("id", primary_key=True),
    reference("list", "threads"),
    text("message"),
    text("content_hash"),
    text("parent", nullable=True),
    integer("gone", server_default="0"),
    UniqueConstraint("list", "message"),
)

# `created` is the revision a unit came with; `changed` also moves when its columns do (closed, restored, re-dated). `compact`:
# how many characters of the text its short form keeps, and `compact_tokens` what that costs; NULL where there is none. `head`
# and `number`: of an item of a document, the document and its number there. `lasting`: it says who somebody is. Whatever closes
# or restores a unit changes its checksum by the difference; see checksums.py.
units = Table(
    "units",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("unit_id"),
    text("text"),
    text("fact_type"),
    integer("mentioned_at"),
    integer("occurred_start", nullable=True),
    integer("occurred_end", nullable=True),
    integer("closed_at", nullable=True),
    text("context"),
    real("confidence", nullable=True),
    text("metadata"),
    text("tags"),
    text("document", nullable=True),
    integer("chunk"),
    text("thread"),
    text("sources"),
    integer("tokens"),
    integer("created"),
    integer("changed"),
    text("speaker"),
    integer("checksum", server_default="0"),
    text("kind"),
    integer("records", server_default="0"),
    integer("compact", nullable=True),
    integer("compact_tokens", nullable=True),
    reference("head", "units", ondelete="SET NULL", nullable=True),
    integer("number", server_default="0"),
    integer("lasting", server_default="0"),
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

# A table of their own: the column and text feeds then read 100,000 units without paging past the blobs.
vectors = Table(
    "vectors",
    metadata,
    reference("unit", "units", primary_key=True),
    integer("bank"),
    integer("revision"),
    blob("vector"),
    integer("checksum", server_default="0"),
    index("vectors_feed", "bank", "revision"),
)

# From a message to the units made from it: an edited message closes the units of its previous wording.
unit_sources = Table(
    "unit_sources",
    metadata,
    integer("bank", primary_key=True),
    text("thread", primary_key=True),
    text("message", primary_key=True),
    reference("unit", "units", primary_key=True),
    index("unit_sources_unit", "unit"),
    sqlite_with_rowid=False,
)

# The same statement retained twice is one event.
validity_events = Table(
    "validity_events",
    metadata,
    integer("id", primary_key=True),
    reference("unit", "units"),
    text("kind"),
    integer("effective_at"),
    integer("revision"),
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

# The text before an edit is not kept: an edit is often made to get rid of it.
unit_edits = Table(
    "unit_edits",
    metadata,
    integer("id", primary_key=True),
    integer("bank"),
    reference("unit", "units"),
    integer("revision"),
    integer("made_at"),
    text("fields"),
    index("unit_edits_feed", "bank", "revision", "unit"),
    index("unit_edits_unit", "unit"),
    sqlite_autoincrement=True,
)

record_categories = Table(
    "record_categories",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("kind"),
    text("name"),
    index("record_categories_bank", "bank", "kind"),
    sqlite_autoincrement=True,
)

# `name` is as `spelling_key` compares it; a spelling belongs to one category.
record_category_names = Table(
    "record_category_names",
    metadata,
    integer("bank", primary_key=True),
    text("kind", primary_key=True),
    text("name", primary_key=True),
    reference("category", "record_categories"),
    index("record_category_names_category", "category"),
    sqlite_with_rowid=False,
)

# `kind` and `category` are in the index, so that a sum still finds and reports a record whose row is damaged.
records = Table(
    "records",
    metadata,
    reference("unit", "units", primary_key=True),
    integer("ordinal", primary_key=True),
    integer("bank"),
    text("kind"),
    reference("category", "record_categories", ondelete=None, nullable=True),
    text("value"),
    integer("is_number"),
    text("measure"),
    text("stated"),
    integer("checksum"),
    index("records_kind", "bank", "kind", "category", "unit"),
    index("records_category", "category", "unit", where="category IS NOT NULL"),
    sqlite_with_rowid=False,
)

# `names` keeps an entity's normalised names in order; entity_names and entity_blocks make them searchable. `facts_changed` and
# `observed_at` are revisions: the last that changed the entity's valid facts, and the one whose facts were summarised.
entities = Table(
    "entities",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("entity_id"),
    text("name"),
    text("type"),
    text("role"),
    text("names"),
    integer("mentions", server_default="0"),
    integer("last_seen", nullable=True),
    integer("facts_changed", server_default="0"),
    integer("observed_at", server_default="0"),
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
)

entity_blocks = Table(
    "entity_blocks",
    metadata,
    integer("bank", primary_key=True),
    text("block", primary_key=True),
    reference("entity", "entities", primary_key=True),
    index("entity_blocks_entity", "entity"),
    sqlite_with_rowid=False,
)

# `detail` is JSON: entity ids, names and mentions moved, all that undoing needs.
entity_changes = Table(
    "entity_changes",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("kind"),
    text("detail"),
    integer("made_at"),
    integer("undone", server_default="0"),
    index("entity_changes_bank", "bank"),
    sqlite_autoincrement=True,
)

mentions = Table(
    "mentions",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("entity", "entities", primary_key=True),
    integer("bank"),
    integer("revision"),
    text("text"),
    index("mentions_entity", "entity", "unit"),
    index("mentions_feed", "bank", "revision", "unit", "entity"),
    sqlite_with_rowid=False,
)

# `code` is a LINK_CODES value of ports/memory_graph.py: these numbers are on disk and are never renumbered.
links = Table(
    "links",
    metadata,
    reference("source", "units", primary_key=True),
    reference("target", "units", primary_key=True),
    integer("code", primary_key=True),
    real("weight"),
    integer("bank"),
    integer("revision"),
    index("links_target", "target"),
    index("links_feed", "bank", "revision", "source", "target", "code", "weight"),
    sqlite_with_rowid=False,
)

# The last revision that changed links or mentions in place: a graph that has not reached it is rebuilt.
graph_epochs = Table(
    "graph_epochs",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision"),
)

# The observations made by the engine; a unit of that network which is not here was retained by the caller.
observations = Table(
    "observations",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("entity", "entities"),
    index("observations_entity", "entity", "unit"),
)

observation_facts = Table(
    "observation_facts",
    metadata,
    reference("observation", "observations", primary_key=True),
    reference("fact", "units", primary_key=True),
    index("observation_facts_fact", "fact"),
    sqlite_with_rowid=False,
)

# `facts` is JSON: row ids. A row each would make two thousand of a hub's facts.
observed_left_out = Table(
    "observed_left_out",
    metadata,
    reference("entity", "entities", primary_key=True),
    text("facts"),
)

# Banks changed while observations were switched off, so that nothing was enqueued.
unobserved = Table(
    "unobserved",
    metadata,
    reference("bank", "banks", primary_key=True),
)

# An opinion is named by its first wording and goes with it: later wordings follow from it.
opinions = Table(
    "opinions",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("bank", "banks"),
    real("confidence"),
    integer("formed_at"),
    integer("recorded_at"),
    integer("revision"),
    text("origin"),
    text("operation"),
    integer("profile"),
    text("reasoning"),
    integer("assessed_to"),
    index("opinions_bank", "bank", "formed_at", "unit"),
    index("opinions_operation", "bank", "operation", where="operation <> ''"),
    index("opinions_revision", "bank", "revision"),
)

opinion_wordings = Table(
    "opinion_wordings",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("opinion", "opinions"),
    integer("number"),
    text("reason"),
    integer("revision"),
    UniqueConstraint("opinion", "number"),
)

opinion_grounds = Table(
    "opinion_grounds",
    metadata,
    reference("wording", "opinion_wordings", primary_key=True),
    reference("fact", "units", primary_key=True),
    index("opinion_grounds_fact", "fact"),
    sqlite_with_rowid=False,
)

# `sources` is JSON, and so is `restates`: row ids. `version` is the wording that was assessed.
evidence = Table(
    "evidence",
    metadata,
    reference("opinion", "opinions", primary_key=True),
    reference("fact", "units", primary_key=True),
    text("sources"),
    text("restates"),
    text("assessment"),
    text("strength"),
    text("rule"),
    real("step"),
    text("reason"),
    reference("version", "opinion_wordings"),
    integer("effective_at"),
    integer("recorded_at"),
    integer("revision"),
    index("evidence_fact", "fact"),
    index("evidence_version", "version"),
    sqlite_with_rowid=False,
)

# Reflections whose outcome is stored, including those that formed no opinion.
opinion_operations = Table(
    "opinion_operations",
    metadata,
    reference("bank", "banks", primary_key=True),
    text("key", primary_key=True),
    sqlite_with_rowid=False,
)

# `revision`: of the bank whose memories answered; `checked_to`: up to which changes were looked at since, never below it.
# `forgotten`: the text is gone, because a memory its writer was shown was erased, or was withdrawn before an archive.
mental_models = Table(
    "mental_models",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("model_id"),
    text("name"),
    text("question"),
    text("tags"),
    text("refreshes"),
    integer("max_tokens"),
    integer("created_at"),
    text("text", server_default=""),
    integer("extractive", server_default="0"),
    integer("refreshed_at", nullable=True),
    integer("revision", server_default="0"),
    integer("checked_to", server_default="0"),
    integer("forgotten", server_default="0"),
    UniqueConstraint("bank", "model_id"),
    UniqueConstraint("bank", "name"),
)

# The memories the text was written from: those it cites are `cited`, the others were only shown to its writer.
mental_model_grounds = Table(
    "mental_model_grounds",
    metadata,
    reference("model", "mental_models", primary_key=True),
    reference("unit", "units", primary_key=True),
    integer("cited"),
    index("mental_model_grounds_unit", "unit"),
    sqlite_with_rowid=False,
)

directives = Table(
    "directives",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("directive_id"),
    text("text"),
    text("tags"),
    integer("created_at"),
    UniqueConstraint("bank", "text", "tags"),
    UniqueConstraint("bank", "directive_id"),
)

# `namespace`: each label escaped and ended by a dot, so that a prefix is a range. `ttl`: microseconds.
items = Table(
    "items",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("namespace"),
    text("key"),
    text("value"),
    integer("created_at"),
    integer("updated_at"),
    integer("ttl", nullable=True),
    integer("expires_at", nullable=True),
    integer("checksum", server_default="0"),
    UniqueConstraint("bank", "namespace", "key"),
    index("items_expiring", "expires_at", "bank", where="expires_at IS NOT NULL"),
    index("items_newest", "bank", desc("updated_at"), "namespace", "key"),
)

item_units = Table(
    "item_units",
    metadata,
    reference("unit", "units", primary_key=True),
    reference("item", "items"),
    index("item_units_item", "item"),
)

# How many values and texts were deleted or replaced whose words may still be in the files.
item_residue = Table(
    "item_residue",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("texts"),
)

# `due` and `early` are computed, so that no statement that changes a task can forget them: when it is next to be leased, and the
# same for a worker that does not wait for more of the same (`debounce`); NULL once there is nothing to do. `again`: microseconds, of a
# task that was enqueued once more during the present lease.
tasks = Table(
    "tasks",
    metadata,
    integer("id", primary_key=True),
    reference("bank", "banks"),
    text("kind"),
    text("payload"),
    text("state"),
    integer("attempts", server_default="0"),
    integer("lease_until", nullable=True),
    integer("not_before"),
    text("last_error", server_default=""),
    text("key", server_default=""),
    integer("lease", server_default="0"),
    integer("uncounted", server_default="0"),
    integer("debounce", server_default="0"),
    integer("again", nullable=True),
    integer("due", _due("not_before"), nullable=True),
    integer("early", _due("not_before - debounce"), nullable=True),
    index("tasks_key", "bank", "kind", "key", where="key <> ''", unique=True),
    index("tasks_due", "kind", "due", where="due IS NOT NULL"),
    index("tasks_early", "kind", "early", where="early IS NOT NULL"),
    index("tasks_bank_due", "bank", "kind", "due"),
    index("tasks_bank_early", "bank", "kind", "early", where="early IS NOT NULL"),
    index("tasks_leased", "bank", where="lease_until IS NOT NULL"),
    sqlite_autoincrement=True,
)

# Units that indexes have to drop.
removed = Table(
    "removed",
    metadata,
    integer("unit", primary_key=True),
    reference("bank", "banks"),
    integer("revision"),
    index("removed_feed", "bank", "revision"),
)

# Units to be indexed again because a turn they were made from was erased, and at which revision.
retold = Table(
    "retold",
    metadata,
    reference("unit", "units", primary_key=True),
    integer("bank"),
    integer("revision"),
    index("retold_feed", "bank", "revision"),
)

# The last revision that erased anything: an index that has not reached it has files to clean.
erasures = Table(
    "erasures",
    metadata,
    reference("bank", "banks", primary_key=True),
    integer("revision"),
)

# Banks with an erasure not yet scrubbed from the files. No foreign key: a dropped bank waits here too.
unscrubbed = Table(
    "unscrubbed",
    metadata,
    integer("bank", primary_key=True),
)
