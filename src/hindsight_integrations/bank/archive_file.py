"""The archive format: JSON lines. A header, then a row a line as [kind, fields], then a line that seals them all.

    {"format": "hindsight-archive", "version": 1}
    ["bank", {"revision": 7, "embedder": {...}, "profile": {...}}]
    ["unit", {"unit_id": "...", "text": "...", "vector": "<base64 of float32, little endian>", ...}]
    ...
    {"rows": 812, "units": 120, "sha256": "<of every line before this one>"}

Units and entities are named by their ids, instants are microseconds since 1970 UTC. Kinds: bank, document, chunk,
message, unit, event, entity, mention, link, edit, entity_change, evidence, task.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import IO

from hindsight_integrations.errors import EmbedderMismatch, InvalidRequest
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.ports.ledger import ArchiveRow, Json

FORMAT, VERSION = "hindsight-archive", 1
UNIT, BANK = "unit", "bank"
ADDED_SINCE: dict[str, dict[str, Json]] = {
    UNIT: {"speaker": ""}
}  # fields that the first archives did not have


def write_archive(file: IO[str], rows: Iterable[ArchiveRow]) -> int:
    """Write header, rows and seal; returns how many units went by."""
    seal = hashlib.sha256()
    counts = {"rows": 0, "units": 0}
    _put(file, {"format": FORMAT, "version": VERSION}, seal)
    for row in rows:
        _put(file, [row.kind, dict(row.fields)], seal)
        counts["rows"] += 1
        counts["units"] += row.kind == UNIT
    file.write(json.dumps({**counts, "sha256": seal.hexdigest()}) + "\n")
    return counts["units"]


def _put(file: IO[str], value: Json, seal: hashlib._Hash) -> None:
    line = json.dumps(value, separators=(",", ":")) + "\n"
    seal.update(line.encode())
    file.write(line)


def read_archive(file: Iterable[str], *, bank: str, embedder: EmbedderIdentity) -> Iterator[ArchiveRow]:
    """The rows of an archive, one at a time; the seal is checked after the last.

    Args:
        file: its lines.
        bank: the bank they are for, for messages.
        embedder: who must have made the vectors.

    Raises:
        InvalidRequest: it is no archive, of a newer version, damaged or cut short.
        EmbedderMismatch: its vectors come from another embedder.
    """
    lines = iter(file)
    first = next(lines, "")
    _check_header(_parsed(first))
    seal = hashlib.sha256(first.encode())
    for count, line in enumerate(lines):
        value = _parsed(line)
        if isinstance(value, dict):
            if (value.get("rows"), value.get("sha256"), next(lines, None)) != (count, seal.hexdigest(), None):
                raise _damaged("its lines do not match its seal")
            return
        row = _row(value)
        if row.kind == BANK:
            _check_embedder(row, bank, embedder)
        seal.update(line.encode())
        yield row
    raise _damaged("its last line is missing: it was cut short")


def _parsed(line: str) -> Json:
    try:
        value: Json = json.loads(line)
    except ValueError as error:
        raise _damaged(f"a line is not JSON ({error})") from error
    return value


def _check_header(header: Json) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidRequest("archive", "it is no hindsight archive", "Pass a file made by archive.export.")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InvalidRequest(
            "archive",
            f"its format has version {version}, this package reads {VERSION}",
            "Upgrade hindsight-integrations.",
        )


def _row(value: Json) -> ArchiveRow:
    if isinstance(value, list) and len(value) == 2:
        kind, fields = value
        if isinstance(kind, str) and isinstance(fields, dict):
            return ArchiveRow(kind, {**ADDED_SINCE.get(kind, {}), **fields})
    raise _damaged("a line is not [kind, fields]")


def _check_embedder(row: ArchiveRow, bank: str, embedder: EmbedderIdentity) -> None:
    fields = row.fields.get("embedder")
    if fields is None:
        return
    try:
        made = _identity(fields)
    except (TypeError, KeyError) as error:
        raise _damaged(f"its embedder cannot be read ({error})") from error
    if not made.matches(embedder):
        raise EmbedderMismatch(bank, str(made), str(embedder))


def _identity(fields: Json) -> EmbedderIdentity:
    if not isinstance(fields, dict) or not isinstance(thresholds := fields["thresholds"], dict):
        raise TypeError("not an object")
    name, dimension, weights = fields["name"], fields["dimension"], fields["weights"]
    if not isinstance(dimension, int):
        raise TypeError("dimension")
    cosines = {key: float(str(value)) for key, value in thresholds.items()}
    return EmbedderIdentity(str(name), dimension, str(weights), Thresholds(**cosines))


def _damaged(reason: str) -> InvalidRequest:
    return InvalidRequest("archive", reason, "Export it again. The bank was left as it was.")
