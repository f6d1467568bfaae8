"""Hubs kept up to date commit by commit are those that counting everything finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.search.graph.activation import hub_entities
from hindsight_integrations.search.projection.hubs import Hubs

commits = st.lists(st.lists(st.lists(st.integers(1, 12), max_size=4, unique=True), max_size=12), max_size=15)
"""Of each commit its units, of each unit the entities it mentions."""


@given(commits, st.lists(st.integers(1, 15), max_size=3, unique=True).map(sorted))
def test_hubs_are_those_of_a_count_of_everything(history: list[list[list[int]]], roles: list[int]) -> None:
    """As a bank grows entities become hubs and stop being hubs; at each commit they are what the definition says."""
    hubs, units, counts = Hubs(), 0, np.zeros(20, np.int64)
    given_roles = np.array(roles, np.int64)
    for mentioned in history:
        entities = np.array([entity for unit in mentioned for entity in unit], np.int64)
        units += len(mentioned)
        hubs.count(entities)
        np.add.at(counts, entities, 1)
        every = np.flatnonzero(counts)
        expected = hub_entities(every, counts[every], units, given_roles)
        assert hubs.of(units, given_roles).tolist() == expected.tolist()
