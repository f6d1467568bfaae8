"""The tables of names and of questions for a cause, one folder per language (tests/unit/language_table/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations.language.language import language_of
from hindsight_integrations.language.names import NameSpotter
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.questions import asks_for_a_cause, chain_steps

TABLES = Path(__file__).parent / "language_table"
LEAST_RECALL = {"es": 0.92}  # of names; 0.85 in other languages


def codes_with(table: str) -> list[str]:
    return sorted(file.parent.name for file in TABLES.glob(f"*/{table}.jsonl"))


def rows(code: str, table: str) -> list[dict[str, Any]]:
    lines = (TABLES / code / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def found_names(text: str, *codes: str, others: tuple[str, ...] = ()) -> list[str]:
    languages = [LANGUAGES[code] for code in codes]
    spotter = NameSpotter([text, *others], people=(), aliases=(), languages=languages)
    return [name.text for name in spotter.names_in(text)]


@every_row("code", codes_with("names"))
@every_row("alone", [True, False])
def test_names_are_found_and_nouns_are_not(code: str, *, alone: bool) -> None:
    """Names are found and nouns are hardly ever taken for names, also with every language configured."""
    right = found = wanted = 0
    for row in rows(code, "names"):
        names = found_names(row["text"], *((code,) if alone else LANGUAGES))
        right += len(set(names) & set(row["names"]))
        found += len(names)
        wanted += len(row["names"])
    assert right >= 0.97 * found
    assert right >= LEAST_RECALL.get(code, 0.85) * wanted


@pytest.mark.parametrize("code", codes_with("why"))
def test_questions_for_a_cause_are_distinguished_from_others(code: str) -> None:
    """ "weshalb" and "a qué se debe" ask for a cause; "Grundstück" and "por casualidad" do not."""
    table = rows(code, "why")
    right = [row for row in table if asks_for_a_cause(row["question"], [LANGUAGES[code]]) == row["why"]]
    assert len(right) >= 0.94 * len(table)


@every_row(
    ("code", "question", "steps"),
    [
        ("de", "Wer ist der Chef von Annas Schwester?", 2),
        ("de", "Wie heißt der Chef der Schwester von Anna?", 2),
        ("de", "Wie heißt die Schwester von Anna?", 0),
        ("es", "¿Quién es la hermana del jefe de Ana?", 2),
        ("es", "¿Quién es la hermana de Ana?", 0),
        ("es", "¿Cuál es el nombre de la calle de la esquina?", 0),
    ],
)
def test_chains_lead_to_a_name(code: str, question: str, steps: int) -> None:
    """A chain of possessives starts from the name at its end; a chain without a name is ignored."""
    assert chain_steps(question, [LANGUAGES[code]]) == steps


def test_a_name_in_one_message_is_one_in_the_next() -> None:
    """ "mit Tamsin" in one message makes "Tamsins" a name in another."""
    assert found_names("Tamsins Garten ist groß.", "de") == []
    assert found_names("Tamsins Garten ist groß.", "de", others=("Ich war mit Tamsin dort.",)) == ["Tamsin"]


@every_row(
    ("text", "code"),
    [
        ("I have no longer a car.", "en"),
        ("Ich habe kein Auto mehr.", "de"),
        ("Ya no tengo coche.", "es"),
        ("Zzz!", "en"),
    ],
)
def test_a_text_is_read_in_its_language(text: str, code: str) -> None:
    """Of all languages, the one with the most stop words in the text is used; else the first."""
    assert language_of(text, tuple(LANGUAGES.values())).code == code
