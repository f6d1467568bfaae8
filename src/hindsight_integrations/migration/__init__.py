"""Memories of other systems, brought over with their times: langmem's stores and mem0."""

from __future__ import annotations

from hindsight_integrations.migration.langmem import aimport_langmem, import_langmem
from hindsight_integrations.migration.mem0 import aimport_mem0, import_mem0
from hindsight_integrations.migration.records import ImportReport, LeftOut

__all__ = ["ImportReport", "LeftOut", "aimport_langmem", "aimport_mem0", "import_langmem", "import_mem0"]
