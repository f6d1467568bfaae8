"""What an edge passes on of the activation it receives: the factor w * delta * mu of paper eq. 12."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.links import CausalRelation
from hindsight_integrations.ports.arrays import Float64Array
from hindsight_integrations.ports.memory_graph import LINK_CODES, Edges

DECAY = 0.8  # delta of paper eq. 12 [earlier paper 3.1.3]
GAIN_CAP = 0.95  # an edge always loses a little, so that activation cannot grow: 2.0 * 0.8 would (no source)
ENTITY_WEIGHT = 1.0  # "constant, never decays" [paper eq. 3; earlier paper 2.5.3]
ENTITY_MULTIPLIER = 1.2  # mu(entity) > 1 [paper eq. 12]; the value has no source
CAUSAL_MULTIPLIERS = {  # mu of causal links [earlier paper 3.1.3]
    CausalRelation.CAUSES: 2.0,
    CausalRelation.CAUSED_BY: 2.0,
    CausalRelation.ENABLES: 1.5,
    CausalRelation.PREVENTS: 1.5,
}
OTHER_MULTIPLIER = 1.0  # mu of semantic and temporal links [paper eq. 12; earlier paper 3.1.3]


_MULTIPLIERS = np.full(len(LINK_CODES), OTHER_MULTIPLIER)  # mu of paper eq. 12 by link code
for (_, _relation), _code in LINK_CODES.items():
    if _relation is not None:
        _MULTIPLIERS[_code] = CAUSAL_MULTIPLIERS[_relation]


def gain(weights: Float64Array, multipliers: Float64Array, decay: float = DECAY) -> Float64Array:
    """What an edge passes on: w * delta * mu of paper eq. 12, at most 0.95.

    Args:
        weights: edge weights in [0, 1], (n,).
        multipliers: mu of each edge's type, (n,).
        decay: delta in (0, 1).
    """
    return np.minimum(weights * decay * multipliers, GAIN_CAP)


def link_gain(edges: Edges) -> Float64Array:
    """Gain of each link, (n,): mu is 2 for causes and caused_by, 1.5 for enables and prevents, else 1."""
    return gain(edges.weights.astype(np.float64), _MULTIPLIERS[edges.codes])


def entity_gain() -> float:
    """Gain of the one logical hop fact-entity-fact: 1.0 * 0.8 * 1.2, capped."""
    return float(gain(np.array([ENTITY_WEIGHT]), np.array([ENTITY_MULTIPLIER]))[0])
