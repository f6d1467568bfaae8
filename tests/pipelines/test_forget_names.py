"""Forgetting a person never silently erases another one, and can be previewed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from archived import archived_rows
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, Message


def tell(bank: MemoryBank, *facts: tuple[str, str]) -> None:
    """Retain (text, name of the person in it) pairs as an extraction would, one message each."""
    start = bank.count()
    for place, (text, name) in enumerate(facts, start):
        message = Message(text, "Narrator", f"2024-05-{place % 28 + 1:02}", id=f"m{place}")
        entities = [{"text": name, "type": "PERSON"}]
        bank.retain([message], facts=[{"what": text, "sources": [message.id], "entities": entities}])


def texts(bank: MemoryBank) -> set[str]:
    return {unit.text for unit in bank.iterate_units()}


def people(bank: MemoryBank) -> list[tuple[str, ...]]:
    return sorted(entity.names for entity in bank.entities.list())


BERG = [("Anna Berg sails.", "Anna Berg"), ("Anna Berg rows.", "Anna Berg")]
BORG = [("Anna Borg bakes bread.", "Anna Borg")]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Two people whom entity resolution merged."""
    bank = light.bank("b")
    tell(bank, *BERG, *BORG)
    assert people(bank) == [("anna berg", "anna borg")]
    return bank


@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_somebody_of_a_like_name_is_not_erased_silently(bank: MemoryBank) -> None:
    """The call is rejected; the error lists which names certainly belong to whom, with numbers of memories, and a remedy."""
    before = archived_rows(bank.archive.export, "units")
    for name in ("Anna Berg", "anna borg", bank.entities.list()[0].id):
        for dry_run in (False, True):
            with pytest.raises(InvalidRequest) as refused:
                bank.forget(entity=name, dry_run=dry_run)
            assert "'anna borg' (1 memories)" in refused.value.reason
            assert "'anna berg' (2 memories)" in refused.value.reason
            assert "names=['anna berg']" in refused.value.remedy
    assert archived_rows(bank.archive.export, "units") == before


@pytest.mark.parametrize(
    ("names", "kept", "left"),
    [
        (["Anna Berg"], BORG, [("anna borg",)]),
        (["anna BORG's"], BERG, [("anna berg",)]),
        (["Anna Berg", "Anna Borg"], [], []),
    ],
)
def test_the_names_that_are_meant_are_erased_alone(
    bank: MemoryBank, names: list[str], kept: list[tuple[str, str]], left: list[tuple[str, ...]]
) -> None:
    """Memories under another name stay with their entity, which keeps that name; later ones are added to it."""
    foreseen = bank.forget(entity="Anna Berg", names=names, dry_run=True)
    receipt = bank.forget(entity="Anna Berg", names=names)
    assert (foreseen.unit_ids, foreseen.counts) == (receipt.unit_ids, receipt.counts)
    assert texts(bank) == {text for text, _ in kept}
    assert people(bank) == left
    assert [entity.name.casefold() for entity in bank.entities.list()] == [name for (name,) in left]


def test_a_name_given_by_hand_is_the_entitys_own(bank: MemoryBank) -> None:
    """An alias is erased with its entity, even if entity resolution had found it before; so are manually merged names."""
    bank.entities.alias("Anna Berg", "The Captain")
    bank.entities.alias("Anna Berg", "Anna Borg")
    tell(bank, ("The Captain swims.", "The Captain"), ("Nancy Drew dives.", "Nancy Drew"))
    bank.entities.merge("Anna Berg", "Nancy Drew")
    assert len(bank.forget(entity="Anna Berg").unit_ids) == 5
    assert (texts(bank), people(bank)) == (set(), [])


def test_an_undone_alias_is_no_longer_its_own(bank: MemoryBank) -> None:
    """An alias that was undone does not count."""
    change = bank.entities.alias("Anna Berg", "Anna Borg")
    bank.entities.undo(change.id)
    with pytest.raises(InvalidRequest, match="anna borg"):
        bank.forget(entity="Anna Berg")


def test_who_was_found_alike_before_a_merge_by_hand_stays_uncertain(bank: MemoryBank) -> None:
    """A manual merge says nothing about a third person whom entity resolution had merged with one of the two."""
    tell(bank, ("Captain Nemo dives.", "Captain Nemo"))
    bank.entities.merge("Captain Nemo", "Anna Berg")
    with pytest.raises(InvalidRequest) as refused:
        bank.forget(entity="Captain Nemo")
    assert "to other entities: 'anna borg' (1 memories); " in refused.value.reason
    assert "'captain nemo' (1 memories), 'anna berg' (2 memories)" in refused.value.reason


def test_after_a_split_each_is_erased_alone(bank: MemoryBank) -> None:
    """After a manual split, each is forgotten without an error, and the other stays."""
    bank.entities.split("Anna Berg", names=["Anna Borg"])
    bank.forget(entity="Anna Borg")
    assert texts(bank) == {text for text, _ in BERG}
    bank.forget(entity="Anna Berg")
    assert texts(bank) == set()


def test_employees_of_one_letter_are_not_one_to_an_erasure(light: Hindsight) -> None:
    """If similarity merged three people, the error names each of them."""
    bank = light.bank("b")
    tell(bank, *((f"Employee {letter} works.", f"Employee {letter}") for letter in "XYZ"))
    if len(people(bank)) == 1:
        with pytest.raises(InvalidRequest, match=r"'employee y'.*'employee z'"):
            bank.forget(entity="Employee X")
    bank.forget(entity="Employee X", names=["Employee X"])
    assert texts(bank) == {"Employee Y works.", "Employee Z works."}


@every_row(
    ("options", "message"),
    [
        ({"entity": "Anna Berg", "names": ["Anna Burg"]}, "is not one of its names: anna berg, anna borg"),
        ({"entity": "Anna Berg", "names": "Anna Berg"}, "is a single str. Pass a list"),
        ({"entity": "Anna Berg", "names": []}, "it is empty"),
        ({"entity": "Anna Berg", "names": [5]}, "not text"),
        ({"names": ["Anna Berg"], "everything": True}, "only restrict entity="),
    ],
)
def test_names_that_make_no_sense_are_refused(bank: MemoryBank, options: Any, message: str) -> None:
    """A name that the entity does not have, or an empty list, erases nothing."""
    with pytest.raises(InvalidRequest, match=message):
        bank.forget(**options)
    assert bank.count() == 3


def selectors(bank: MemoryBank) -> list[dict[str, Any]]:
    document = bank.retain("Carol Danvers flies.", document_id="d1", entities=["Carol Danvers"])
    return [
        {"unit": document.unit_ids[0]},
        {"document": "d1"},
        {"entity": "Carol Danvers"},
        {"entity": "Anna Berg", "names": ["Anna Borg"]},
        {"window": ("2024-05-01", "2024-05-02")},
        {"everything": True},
    ]


def test_every_erasure_can_be_tried_without_erasing(
    opener: Callable[..., Hindsight], light_config: HindsightConfig, tmp_path: Path
) -> None:
    """A dry run lists memories and names, changes no stored byte, and the erasure then does exactly that."""
    bank = opener(tmp_path, config=light_config).bank("b")
    tell(bank, *BERG, *BORG)
    expected = [{"carol danvers"}, {"carol danvers"}, {"carol danvers"}, {"anna borg"}, set(), {"anna berg", "anna borg", "carol danvers"}]  # fmt: skip
    for selector, names in zip(selectors(bank), expected, strict=True):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        foreseen = bank.forget(**selector, dry_run=True)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        assert foreseen.dry_run
        assert foreseen.unit_ids
        assert names <= set(foreseen.names)
    done_with: list[dict[str, Any]] = [{"entity": "Carol Danvers"}, {"everything": True}]
    for selector in done_with:
        foreseen = bank.forget(**selector, dry_run=True)
        done = bank.forget(**selector)
        assert (done.unit_ids, done.entity_ids, done.counts) == (
            foreseen.unit_ids,
            foreseen.entity_ids,
            foreseen.counts,
        )
        assert done.revision == foreseen.revision + 1


@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_the_receipt_of_a_done_erasure_names_nothing(bank: MemoryBank) -> None:
    """It contains ids and counts, but no text or name of what was erased."""
    receipt = bank.forget(entity="Anna Berg", names=["Anna Berg", "Anna Borg"])
    assert (receipt.dry_run, receipt.names) == (False, ())
    said = repr(asdict(receipt)).casefold()
    assert not any(word in said for word in ("anna", "berg", "borg", "sails", "bread"))


def test_a_dry_run_of_nothing_is_an_error_as_the_erasure_is(bank: MemoryBank) -> None:
    """A misspelt id is also an error in a dry run."""
    for field in ("unit", "document", "entity"):
        selector: dict[str, Any] = {field: "nobody"}
        with pytest.raises(InvalidRequest):
            bank.forget(**selector, dry_run=True)
    assert bank.forget(window=("1990-01-01", "1990-01-02"), dry_run=True).unit_ids == ()


def test_a_disk_that_fills_up_after_the_erasure_says_so_in_the_receipt(
    opener: Callable[..., Hindsight],
    light_config: HindsightConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The memories are erased although the files could not be rewritten: the result is a receipt, not an error."""
    from hindsight_integrations.errors import LedgerFailed
    from hindsight_integrations.ledger.erasure import Eraser

    engine = opener(tmp_path, config=light_config)
    bank = engine.bank("b")
    tell(bank, *BERG)

    def full(_: Eraser) -> None:
        raise LedgerFailed(tmp_path, "database or disk is full")

    monkeypatch.setattr(Eraser, "scrub", full)
    receipt = bank.forget(entity="Anna Berg")
    assert (len(receipt.unit_ids), receipt.files_clean, bank.count()) == (2, False, 0)
    monkeypatch.undo()
    engine.close()
    opener(tmp_path, config=light_config)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"Anna" in path.read_bytes()]
