"""What a child needs, imported once in the process that children are forked from; nothing of it starts a thread."""

from __future__ import annotations

import chromadb.api.rust  # noqa: F401
import rustworkx  # noqa: F401

import hindsight_evals.benchmarks.kills.believing
import hindsight_evals.benchmarks.kills.child  # noqa: F401
from hindsight_integrations.engine import assembly  # noqa: F401
