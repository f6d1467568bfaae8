"""The description of every possible profile that a model sees, word for word (paper eq. 23, earlier paper 6.1 and 8.3).

The description consists of a sentence, which the golden files contain for every combination of traits, of a
line for each trait, and of a text for the band of the bias strength, each of which is recorded once. The
output of `verbalize` for each of the 1,104 profiles must consist of exactly these. `UPDATE_GOLDEN=1 pytest
tests/golden` accepts a change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from table import every_row

from hindsight_integrations.model.profile import BankProfile, BigFive, Character, Disposition
from hindsight_integrations.prompts.character import character_in_words, verbalize
from hindsight_integrations.prompts.rendering import template

HERE = Path(__file__).parent
BANDS = {"low": (0.0, 0.2, 0.3999999), "middle": (0.4, 0.5, 0.6999999), "high": (0.7, 0.9, 1.0)}
"""Shares of each band, its borders included [earlier paper 8.3]."""

DISPOSITIONS = {" ".join(map(str, each)): Disposition(*each) for each in product(range(1, 6), repeat=3)}
PERSONALITIES = {
    " ".join(each): BigFive(*(BANDS[band][1] for band in each)) for each in product(BANDS, repeat=5)
}


def recorded(name: str, text: str) -> str:
    """Return the golden text with this name; with UPDATE_GOLDEN, store the given one first."""
    path = HERE / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def sentences(grid: dict[str, Disposition] | dict[str, BigFive]) -> str:
    """One line per character: its degrees and its sentence."""
    return "".join(f"{key}: {character_in_words(each).splitlines()[0]}\n" for key, each in grid.items())


def parts() -> dict[str, dict[str, str]]:
    """The line of each degree of each trait, and the text of each band of the bias strength."""
    found: dict[str, dict[str, str]] = {"bias strength": {}}
    for band, (_, share, _) in BANDS.items():
        found["bias strength"][band] = verbalize(BankProfile(bias_strength=share)).rsplit("\n\n", 1)[1]
    shares: dict[str, float] = {band: share for band, (_, share, _) in BANDS.items()}
    degrees: dict[str, float] = {str(degree): degree for degree in range(1, 6)}
    for kind, values in ((Disposition, degrees), (BigFive, shares)):
        for place, trait in enumerate(fields(kind), 1):
            found[trait.name] = {
                key: character_in_words(kind(**{trait.name: value})).splitlines()[place]  # type: ignore[arg-type]
                for key, value in values.items()
            }
    return found


def test_what_each_trait_is_called_is_as_recorded() -> None:
    """The sentences of the 125 dispositions and of the 243 personalities are the recorded ones."""
    assert recorded("dispositions.txt", sentences(DISPOSITIONS)) == sentences(DISPOSITIONS)
    assert recorded("personalities.txt", sentences(PERSONALITIES)) == sentences(PERSONALITIES)
    assert len(set(sentences(DISPOSITIONS).splitlines())) == 125
    assert len(set(sentences(PERSONALITIES).splitlines())) == 243


def test_how_each_trait_shows_is_as_recorded() -> None:
    """Five lines per dimension, three per trait and three texts of bias strength are all different."""
    text = json.dumps(parts(), indent=1, ensure_ascii=False) + "\n"
    assert recorded("character_parts.json", text) == text
    lines = [line for degrees in parts().values() for line in degrees.values()]
    assert len(set(lines)) == len(lines) == 3 * 5 + 5 * 3 + 3


@cache
def golden() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    lines = "".join((HERE / name).read_text("utf-8") for name in ("dispositions.txt", "personalities.txt"))
    pairs = dict(line.split(": ", 1) for line in lines.splitlines())
    return pairs, json.loads((HERE / "character_parts.json").read_text("utf-8"))


def grid() -> Iterator[tuple[str, Character]]:
    yield from DISPOSITIONS.items()
    yield from PERSONALITIES.items()


@pytest.mark.parametrize("band", BANDS)
def test_every_profile_in_words_is_what_is_recorded_of_its_parts(band: str) -> None:
    """For every character and every band: the golden sentence, the golden line of each trait, the golden text of the band."""
    known, lines = golden()
    for key, character in grid():
        traits = zip(asdict(character), key.split(), strict=True)
        words = [known[key], *(lines[trait][degree] for trait, degree in traits)]
        expected = [template("character"), "\n".join(words), lines["bias strength"][band]]
        for share in BANDS[band]:
            said = verbalize(BankProfile(disposition=character, bias_strength=share))
            assert said == "\n\n".join(expected)


@every_row("trait", [each.name for each in fields(BigFive)])
def test_a_trait_is_worded_by_its_band(trait: str) -> None:
    """All values in a band have one wording; 0.4 and 0.7 belong to the band above."""
    for shares in BANDS.values():
        assert len({character_in_words(BigFive(**{trait: share})) for share in shares}) == 1
    assert len({character_in_words(BigFive(**{trait: shares[0]})) for shares in BANDS.values()}) == 3


def test_equation_23() -> None:
    """The paper's example: trusting, flexible, empathetic (S = 1, L = 2, E = 5; paper eq. 23, Figure 5)."""
    said = character_in_words(Disposition(skepticism=1, literalism=2, empathy=5))
    first = "You are generally trusting, interpret language flexibly, and are highly empathetic."
    assert said.splitlines()[0] == first


def test_the_trait_description_of_the_earlier_paper() -> None:
    """Its example: open, not conscientious, outgoing, disagreeable, neither calm nor anxious (earlier paper 7.2)."""
    said = character_in_words(BigFive(0.9, 0.2, 0.7, 0.3, 0.5)).splitlines()[0]
    assert said == (
        "You embrace novel approaches, work flexibly, seek collaboration, speak up in dissent, and notice risks without "
        "dwelling on them."
    )
