"""Forgetting a name erases the whole name in any spelling, and no longer name that contains it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.erasure import WholeNames

LIGHT = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    languages=tuple(LANGUAGES),
)


def told(engine: Hindsight, *texts: str) -> MemoryBank:
    bank = engine.bank(f"bank {hash(texts)}")
    for number, text in enumerate(texts):
        bank.retain([{"role": "user", "content": text, "id": f"m{number}"}], timestamp="2025-01-01")
    return bank


def left(bank: MemoryBank) -> list[str]:
    return [unit.text.removeprefix("user: ") for unit in bank.iterate_units()]


@every_row(
    ("entity", "texts", "stays"),
    [
        ("Project Apollo", ["Project Apollo is late.", "Project Apollo 2 is early."], [1]),
        (
            "Project Apollo",
            ["Project Apollo ships in May.", "Project Apollo 2 ships in June.", "We ship Project Apollo 2."],
            [1, 2],
        ),
        ("iPhone 12", ["My iPhone 12 Pro is new.", "My iPhone 12 broke."], [0]),
        ("San Jos\u00e9", ["San Jos\u00e9 del Cabo is hot.", "San Jos\u00e9 is cold."], [0]),
        ("Sam", ["Sam's Club is cheap.", "Sam's dog barks.", "Sam is here."], [0]),
        ("Berlin", ["The Berlin Wall fell.", "I live in Berlin."], [0]),
        ("Karl", ["Karl Marx wrote books.", "Karl called."], [0]),
        (
            "Anna",
            ["Anna Maria likes tea.", "Anna moved.", "I called Anna. She is well.", "I saw Anna Monday."],
            [0],
        ),
        ("Anna", ["Ich habe Anna Blumen gekauft.", "Anna Schmidt ist nett."], [1]),
        ("Acme Corp", ["I work with Acme Corp.", "I work with Acme Corp 2000."], [1]),
        ("Galaxy Tab", ["I like my Galaxy Tab.", "My Galaxy Tab 7 is old."], [1]),
        ("Room 101", ["Room 101 is cold.", "Room 1012 is warm.", "Room 10 is red."], [1, 2]),
        ("Windows 10", ["I use Windows 10.", "I use Windows 11."], [1]),
        ("LH100", ["I fly with LH100 tomorrow.", "I fly LH1002."], [1]),
        ("Boeing 747", ["The Boeing 747 is big.", "The Boeing 747-8 is bigger."], [1]),
        ("Henry", ["I read about Henry VIII.", "I met Henry."], [0]),
        ("Anna", ["I owe Anna 20 euros.", "I met Anna 10 minutes ago.", "Anna-Maria sings."], [2]),
        (
            "\u738b\u4f1f",
            ["\u738b\u4f1f\u4f4f\u5728\u5317\u4eac\u3002", "\u674e\u5a1c\u4f4f\u5728\u4e0a\u6d77\u3002"],
            [1],
        ),
        (
            "\u7530\u4e2d\u3055\u3093",
            [
                "\u7530\u4e2d\u3055\u3093\u306f\u5143\u6c17\u3067\u3059\u3002",
                "\u9234\u6728\u3055\u3093\u306f\u533b\u8005\u3067\u3059\u3002",
            ],
            [1],
        ),
        ("Ingrid", ["Ingrid called.", "The dog barked."], [1]),
        ("Dr. O'Brien", ["I saw Dr. O'Brien on Monday.", "I saw Dr. Miller."], [1]),
        ("Sinead O'Connor", ["I like Sinead O'Connor.", "I like Connor."], [1]),
    ],
)
def test_an_entity_is_its_whole_name(
    light_in: Hindsight, entity: str, texts: list[str], stays: list[int]
) -> None:
    bank = told(light_in, *texts)
    assert set(bank.forget(entity=entity, dry_run=True).unit_ids) == {
        unit.id for unit in bank.iterate_units() if unit.text not in {f"user: {texts[n]}" for n in stays}
    }
    bank.forget(entity=entity)
    assert sorted(left(bank)) == sorted(texts[n] for n in stays)


@every_row(
    ("said", "texts", "stays"),
    [
        ("everything about Building A", ["Building A has a leak.", "Building B is fine."], [1]),
        ("everything you know about Anna", ["Anna sings.", "Bob dances."], [1]),
        ("alles \u00fcber Graz", ["Ich war in Graz.", "Ich mag Wien."], [1]),
        ("todo sobre Pedro", ["Pedro vive aqu\u00ed.", "Ana vive all\u00ed."], [1]),
        ("customer 847", ["Customer 847 complained.", "Customer 8471 is happy."], [1]),
        (
            "/etc/app/conf active configuration",
            ["The active configuration is in /etc/app/conf.", "The logs are in /var/log."],
            [1],
        ),
        ("+1-555-123-4567", ["Mine is +1 (555) 123 4567.", "Hers is 555-123-4567."], [1]),
        ("Frank's phone number", ["Frank's phone number is 5551234.", "Frank likes tea."], [1]),
        ("my birthday", ["My birthday is May 3.", "Mia's birthday is May 4."], [1]),
        (
            "my address",
            ["My address is 7 Oak St.", "Her address is 9 Elm St.", "I addressed the letter."],
            [1, 2],
        ),
    ],
)
def test_a_text_means_what_people_say(
    light_in: Hindsight, said: str, texts: list[str], stays: list[int]
) -> None:
    bank = told(light_in, *texts)
    bank.forget(text=said)
    assert sorted(left(bank)) == sorted(texts[n] for n in stays)


def test_a_longer_name_told_for_certain_counts_everywhere() -> None:
    """ "I see Apollo 2 launches" alone could be a count; with "Apollo 2 is early" it is the longer name."""
    alone, known = WholeNames(["apollo"]), WholeNames(["apollo"], ["Apollo 2 is early."])
    assert alone.stand_in("I see Apollo 2 launches on Monday.")
    assert not known.stand_in("I see Apollo 2 launches on Monday.")
    assert known.stand_in("Apollo and Apollo 2 launch.")


def test_a_word_that_is_no_name_is_not_known(light_in: Hindsight) -> None:
    bank = told(light_in, "I like tea.")
    with pytest.raises(InvalidRequest, match="tea"):
        bank.forget(entity="tea")
    assert left(bank) == ["I like tea."]


def test_nothing_of_a_whole_name_is_left_in_the_files(tmp_path: Path) -> None:
    """The memories of an unknown entity are removed from the files like any others; the longer name's memory stays."""
    with Hindsight.open(tmp_path / "memory", reranker=None, config=LIGHT) as engine:
        bank = told(engine, "My flight is QX9031.", "My flight is QX90312.")
        assert bank.forget(entity="QX9031").files_clean
        assert left(bank) == ["My flight is QX90312."]
    found = [
        path
        for path in (tmp_path / "memory").rglob("*")
        if path.is_file() and b"QX9031." in path.read_bytes()
    ]
    assert found == []


def test_a_caller_forgets_what_it_picked_from_a_dry_run(light_in: Hindsight) -> None:
    bank = told(light_in, "Anna sings.", "Anna dances.", "Anna paints.")
    found = bank.forget(text="everything about Anna", dry_run=True).unit_ids
    bank.forget(units=[each for each in found if "dances" not in bank.get(each).text])
    assert left(bank) == ["Anna dances."]
    with pytest.raises(InvalidRequest, match="these ids"):
        bank.forget(units=["nothing"])


@pytest.fixture
def light_in(opener: Callable[..., Hindsight]) -> Hindsight:
    return opener(config=LIGHT)
