"""Which names an entity keeps when some of its units are forgotten."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.ledger.erasure import kept_names


@every_row(
    ("forgotten", "remaining", "name", "names"),
    [
        (["Alice Chen"], ["Alice"], "Alice", ("alice",)),
        (["Alice Chen"], ["Alice", "ALICE CHEN's"], "Alice Chen", ("alice chen", "alice")),
        (["Alice"], ["Alice Chen"], "Alice Chen", ("alice chen",)),
        (["Alice", "Alice Chen"], ["Ally", "A. Chen"], "A. Chen", ("a. chen",)),
    ],
)
def test_a_name_goes_when_nothing_else_uses_it(
    forgotten: list[str], remaining: list[str], name: str, names: tuple[str, ...]
) -> None:
    """Unused names are erased; other spellings count as use, and an entity without names takes its last mention."""
    kept = kept_names("Alice Chen", ["alice chen", "alice"], forgotten, remaining)
    assert (kept.name, kept.names) == (name, names)
