"""The imports of the process from which children are forked; none of them starts a thread."""

from __future__ import annotations

import chromadb.api.rust  # noqa: F401
import rustworkx  # noqa: F401

import hindsight_evals.benchmarks.kills.believing
import hindsight_evals.benchmarks.kills.child  # noqa: F401
from hindsight_integrations.engine import assembly  # noqa: F401
