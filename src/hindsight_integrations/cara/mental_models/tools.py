"""What refreshing mental models works with."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.search.remembered_vectors import RememberedVectors


@dataclass(frozen=True, slots=True)
class MentalModelTools:
    """What the refreshing of mental models needs of the engine.

    Attributes:
        vectors: of their questions and texts.
        reflecting: with which a standing question is answered.
    """

    projector: Projector
    embedder: Embedder
    vectors: RememberedVectors
    workers: Runner
    clock: Clock
    reflecting: ReflectTools
