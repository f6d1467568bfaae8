"""How each kind of an archive's rows leaves the ledger and comes in again: a select and its inserts a kind."""

from __future__ import annotations

from hindsight_integrations.backends.ledger.rules import archives as kinds
from hindsight_integrations.backends.ledger.sqlite.mental_models import WITHDRAWN
from hindsight_integrations.backends.ledger.sqlite.rows import IS_FACT, OWN_COLUMNS
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.model.units import UnitKind

ROWS_IN_ORDER = frozenset({"chunks", "entity_changes"})
"""Tables whose rows have an order of their own; the others lie by their keys."""


ARCHIVED_COLUMNS = OWN_COLUMNS.replace(", records", "")
"""Of a unit; how many records it has, its lines of records say."""


class Kind:
    """How one kind of row leaves and enters; `:bank` is the bank's row id, `:now` the revision the import makes."""

    def __init__(self, select: str, *inserts: str) -> None:
        self.select, self.inserts = select, inserts


def _unit(field: str) -> str:
    """The row id of the unit named by a field of the archived row."""
    return f"(SELECT id FROM units WHERE bank = :bank AND unit_id = :{field})"


def _entity(field: str) -> str:
    return f"(SELECT id FROM entities WHERE bank = :bank AND entity_id = :{field})"


_CATEGORY = "(SELECT id FROM record_categories WHERE bank = :bank AND kind = :kind AND name = :{})"
"""The row id of the category named by a field of the archived row."""


_UNLEASED = f"replace(state, '{TaskState.LEASED.value}', '{TaskState.PENDING.value}')"


def _into(table: str, columns: str, **expressions: str) -> str:
    """An INSERT of these columns, each from the field of its name unless an expression says from what."""
    values = [expressions.get(name, f":{name}") for name in columns.split(", ")]
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join(values)})"


def _into_each(table: str, column: str) -> str:
    """An INSERT of an entity's values of one column, which are a list in the field of the column's plural."""
    values = f"SELECT :bank, value, {_entity('entity_id')} FROM json_each(:{column}s)"
    return f"INSERT INTO {table} (bank, {column}, entity) {values}"


def _plain(table: str, columns: str) -> Kind:
    """A table of the bank whose rows stand by themselves."""
    order = " ORDER BY rowid" if table in ROWS_IN_ORDER else ""
    select = f"SELECT {columns} FROM {table} WHERE bank = :bank{order}"
    return Kind(select, _into(table, f"bank, {columns}"))


_PART_OF = "(SELECT unit_id FROM units AS document WHERE document.id = units.head) AS part_of"


def _units(*kinds: UnitKind) -> Kind:
    """Units of some kinds, with their vectors (a turn that could not be embedded has none), documents before their items."""
    wanted = ", ".join(f"'{kind.value}'" for kind in kinds)
    return Kind(
        f"SELECT {ARCHIVED_COLUMNS}, {_PART_OF}, vector FROM units LEFT JOIN vectors ON unit = units.id "
        f"WHERE units.bank = :bank AND kind IN ({wanted}) ORDER BY head IS NOT NULL, id",
        _into(
            "units",
            f"{ARCHIVED_COLUMNS}, head, bank, created, changed",
            head=_unit("part_of"),
            created=":now",
            changed=":now",
        ),
        "INSERT INTO vectors (unit, bank, revision, vector) "
        f"SELECT {_unit('unit_id')}, :bank, :now, :vector WHERE :vector IS NOT NULL",
    )


KINDS = {
    kinds.PROFILE_CHANGE: Kind(
        "SELECT number, profile, effective_at, recorded_at, reason FROM profile_changes WHERE bank = :bank ORDER BY number",
        _into("profile_changes", "bank, number, profile, effective_at, recorded_at, reason"),
    ),
    kinds.DOCUMENT: _plain("documents", "id, content_hash, context, mentioned_at, metadata, tags"),
    kinds.CHUNK: _plain("chunks", "document, ordinal, text, content_hash, position"),
    kinds.MESSAGE: _plain("message_keys", "thread, message, content_hash, revision"),
    kinds.CATEGORY: Kind(
        "SELECT kind, name, (SELECT json_group_array(name) FROM (SELECT name FROM record_category_names "
        "WHERE category = record_categories.id ORDER BY name)) AS spellings "
        "FROM record_categories WHERE bank = :bank ORDER BY id",
        _into("record_categories", "bank, kind, name"),
        f"INSERT INTO record_category_names SELECT :bank, :kind, value, {_CATEGORY.format('name')} "
        "FROM json_each(:spellings)",
    ),
    kinds.UNIT: _units(UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM),
    kinds.RECORD: Kind(
        "SELECT unit_id AS unit, ordinal, records.kind AS kind, name AS category, value, is_number, measure, stated "
        "FROM records JOIN units ON units.id = unit "
        "LEFT JOIN record_categories ON record_categories.id = category WHERE records.bank = :bank "
        "ORDER BY unit, ordinal",
        _into(
            "records",
            "unit, ordinal, bank, kind, category, value, is_number, measure, stated, checksum",
            unit=_unit("unit"),
            category=_CATEGORY.format("category"),
            checksum="0",
        ),
    ),
    kinds.WAITING: _units(UnitKind.TURN),
    kinds.TURN: Kind(
        "SELECT turns.thread, message, unit_id AS unit, turns.text, turns.speaker, role, said_at, turns.tags FROM turns "
        "LEFT JOIN units ON units.id = unit WHERE turns.bank = :bank",
        _into("turns", "bank, thread, message, unit, text, speaker, role, said_at, tags", unit=_unit("unit")),
    ),
    kinds.EVENT: Kind(
        "SELECT own.unit_id AS unit, event.kind AS kind, effective_at, revision, stating.unit_id AS by_unit, reason "
        "FROM validity_events AS event JOIN units AS own ON own.id = event.unit LEFT JOIN units AS stating "
        "ON stating.id = event.by_unit WHERE own.bank = :bank ORDER BY event.id",
        _into(
            "validity_events",
            "unit, kind, effective_at, revision, by_unit, reason",
            unit=_unit("unit"),
            by_unit=_unit("by_unit"),
        ),
    ),
    kinds.ENTITY: Kind(
        "SELECT entity_id, name, type, role, names, facts_changed, observed_at FROM entities WHERE bank = :bank "
        "ORDER BY id",
        _into("entities", "bank, entity_id, name, type, role, names, facts_changed, observed_at"),
        _into_each("entity_names", "name"),
        _into_each("entity_blocks", "block"),
    ),
    kinds.MENTION: Kind(
        "SELECT unit_id AS unit, entity_id AS entity, mentions.text AS text FROM mentions JOIN units "
        "ON units.id = unit JOIN entities ON entities.id = entity WHERE mentions.bank = :bank",
        _into(
            "mentions",
            "unit, entity, bank, revision, text",
            unit=_unit("unit"),
            entity=_entity("entity"),
            revision=":now",
        ),
    ),
    kinds.OBSERVATION: Kind(
        "SELECT unit_id AS unit, entity_id AS entity FROM observations JOIN units ON units.id = unit "
        "JOIN entities ON entities.id = entity WHERE units.bank = :bank ORDER BY unit",
        _into("observations", "unit, entity", unit=_unit("unit"), entity=_entity("entity")),
    ),
    kinds.OBSERVATION_FACT: Kind(
        "SELECT one.unit_id AS observation, two.unit_id AS fact FROM observation_facts "
        "JOIN units AS one ON one.id = observation JOIN units AS two ON two.id = fact WHERE one.bank = :bank "
        "ORDER BY observation, fact",
        _into("observation_facts", "observation, fact", observation=_unit("observation"), fact=_unit("fact")),
    ),
    kinds.OBSERVED: Kind(
        "SELECT entity_id AS entity, (SELECT json_group_array(unit_id) FROM (SELECT unit_id FROM json_each(facts) AS fact "
        "CROSS JOIN units ON units.id = fact.value ORDER BY units.id)) AS left_out "
        "FROM observed_left_out JOIN entities ON entities.id = entity WHERE bank = :bank ORDER BY entities.id",
        "INSERT INTO observed_left_out (entity, facts) SELECT "
        f"{_entity('entity')}, (SELECT json_group_array(id) FROM (SELECT units.id AS id FROM json_each(:left_out) AS fact "
        "CROSS JOIN units ON unit_id = fact.value WHERE bank = :bank ORDER BY units.id))",
    ),
    kinds.MENTAL_MODEL: Kind(
        "SELECT model_id, name, question, tags, refreshes, max_tokens, created_at, iif(withdrawn, '', text) AS text, "
        "iif(withdrawn, 0, extractive) AS extractive, refreshed_at, withdrawn, NOT EXISTS (SELECT 1 FROM units "
        f"WHERE bank = :bank AND changed > checked_to AND {IS_FACT}) AS checked "
        f"FROM (SELECT *, {WITHDRAWN} AS withdrawn FROM mental_models WHERE bank = :bank) ORDER BY id",
        _into(
            "mental_models",
            "bank, model_id, name, question, tags, refreshes, max_tokens, created_at, text, extractive, refreshed_at, "
            "revision, checked_to, forgotten",
            revision=":now",
            checked_to="iif(:checked, :now, 0)",
            forgotten=":withdrawn",
        ),
    ),
    kinds.MENTAL_MODEL_GROUND: Kind(
        "SELECT model_id AS model, unit_id AS unit, cited FROM mental_model_grounds JOIN units ON units.id = unit "
        f"JOIN mental_models ON mental_models.id = model WHERE units.bank = :bank AND NOT {WITHDRAWN} ORDER BY model, unit",
        _into(
            "mental_model_grounds",
            "model, unit, cited",
            model="(SELECT id FROM mental_models WHERE bank = :bank AND model_id = :model)",
            unit=_unit("unit"),
        ),
    ),
    kinds.DIRECTIVE: Kind(
        "SELECT directive_id, text, tags, created_at FROM directives WHERE bank = :bank ORDER BY id",
        _into("directives", "bank, directive_id, text, tags, created_at"),
    ),
    kinds.LINK: Kind(
        "SELECT one.unit_id AS source, two.unit_id AS target, code, weight FROM links "
        "JOIN units AS one ON one.id = source JOIN units AS two ON two.id = target WHERE links.bank = :bank",
        _into(
            "links",
            "source, target, code, weight, bank, revision",
            source=_unit("source"),
            target=_unit("target"),
            revision=":now",
        ),
    ),
    kinds.EDIT: Kind(
        "SELECT unit_id AS unit, made_at, fields FROM unit_edits JOIN units ON units.id = unit "
        "WHERE units.bank = :bank ORDER BY unit_edits.id",
        _into("unit_edits", "bank, unit, revision, made_at, fields", unit=_unit("unit"), revision=":now"),
    ),
    kinds.CHANGE: _plain("entity_changes", "kind, detail, made_at, undone"),
    kinds.OPINION: Kind(
        "SELECT unit_id AS unit, opinions.confidence AS confidence, formed_at, recorded_at, revision, origin, operation, "
        "opinions.profile AS profile_change, reasoning, assessed_to FROM opinions JOIN units ON units.id = unit "
        "WHERE opinions.bank = :bank ORDER BY unit",
        _into(
            "opinions",
            "unit, bank, confidence, formed_at, recorded_at, revision, origin, operation, profile, reasoning, assessed_to",
            unit=_unit("unit"),
            profile=":profile_change",
            assessed_to="min(:assessed_to, :now)",
        ),
    ),
    kinds.WORDING: Kind(
        "SELECT own.unit_id AS unit, first.unit_id AS opinion, opinion_wordings.number AS number, opinion_wordings.reason AS reason, "
        "opinion_wordings.revision AS revision FROM opinions JOIN opinion_wordings ON opinion = opinions.unit "
        "JOIN units AS own ON own.id = opinion_wordings.unit JOIN units AS first ON first.id = opinion "
        "WHERE opinions.bank = :bank ORDER BY opinion, opinion_wordings.number",
        _into(
            "opinion_wordings",
            "unit, opinion, number, reason, revision",
            unit=_unit("unit"),
            opinion=_unit("opinion"),
        ),
    ),
    kinds.GROUND: Kind(
        "SELECT one.unit_id AS wording, two.unit_id AS fact FROM opinion_grounds "
        "JOIN units AS one ON one.id = wording JOIN units AS two ON two.id = fact WHERE one.bank = :bank "
        "ORDER BY wording, fact",
        _into("opinion_grounds", "wording, fact", wording=_unit("wording"), fact=_unit("fact")),
    ),
    kinds.EVIDENCE: Kind(
        "SELECT one.unit_id AS opinion, two.unit_id AS fact, evidence.sources AS sources, (SELECT json_group_array(unit_id) "
        "FROM (SELECT unit_id FROM json_each(restates) AS other CROSS JOIN units ON units.id = other.value "
        "ORDER BY units.id)) AS restates, assessment, strength, rule, step, evidence.reason AS reason, "
        "judged.unit_id AS version, effective_at, evidence.recorded_at AS recorded_at, evidence.revision AS revision "
        "FROM opinions JOIN evidence ON opinion = opinions.unit JOIN units AS one ON one.id = opinion "
        "JOIN units AS two ON two.id = fact JOIN units AS judged ON judged.id = version "
        "WHERE opinions.bank = :bank ORDER BY opinion, fact",
        _into(
            "evidence",
            "opinion, fact, sources, restates, assessment, strength, rule, step, reason, version, effective_at, "
            "recorded_at, revision",
            opinion=_unit("opinion"),
            fact=_unit("fact"),
            restates="(SELECT json_group_array(id) FROM (SELECT units.id AS id FROM json_each(:restates) AS other "
            "CROSS JOIN units ON unit_id = other.value WHERE bank = :bank ORDER BY units.id))",
            version=_unit("version"),
        ),
    ),
    kinds.OPERATION: Kind(
        "SELECT key AS operation FROM opinion_operations WHERE bank = :bank",
        _into("opinion_operations", "bank, key", key=":operation"),
    ),
    kinds.ITEM: Kind(
        "SELECT namespace, key AS item_key, value, created_at, updated_at, ttl, expires_at FROM items "
        "WHERE bank = :bank ORDER BY id",
        _into(
            "items", "bank, namespace, key, value, created_at, updated_at, ttl, expires_at", key=":item_key"
        ),
    ),
    kinds.ITEM_TEXT: Kind(
        f"SELECT {ARCHIVED_COLUMNS}, {_PART_OF}, vector, namespace, key AS item_key FROM items "
        "JOIN item_units ON item = items.id JOIN units ON units.id = item_units.unit "
        "JOIN vectors ON vectors.unit = units.id WHERE items.bank = :bank ORDER BY units.id",
        *_units(UnitKind.ITEM).inserts,
        f"INSERT INTO item_units (unit, item) SELECT {_unit('unit_id')}, id FROM items "
        "WHERE bank = :bank AND namespace = :namespace AND key = :item_key",
    ),
    kinds.TASK: Kind(  # a lease is of this ledger: a leased task leaves as a pending one
        f"SELECT kind, key AS task_key, payload, {_UNLEASED} AS state, attempts, not_before, last_error FROM tasks "
        "WHERE bank = :bank ORDER BY id",
        _into(
            "tasks",
            "bank, kind, key, payload, state, attempts, not_before, last_error",
            key=":task_key",
        ),
    ),
}
"""In the order in which they leave: what is referred to before what refers to it."""
