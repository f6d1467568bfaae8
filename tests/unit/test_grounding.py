"""Numbers of a text that its sources do not contain, and the language of a text."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.language.language import in_another_language, written_in
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.specifics import unknown_numbers

ALL = tuple(LANGUAGES.values())


@every_row(
    ("code", "text", "unknown"),
    [
        ("en", "Nora has 2 cats and 3 dogs.", []),
        ("en", "Nora has three dogs and two cats.", []),
        ("en", "Nora has 4 dogs.", ["4"]),
        ("en", "Nora has eleven dogs.", ["11"]),
        ("en", "Nora paid 1,250.50 euros in 2019.", []),
        ("en", "Nora paid 1,350 euros.", ["1350"]),
        ("en", "Nora bought it in 2018.", ["2018"]),
        ("en", "Nora has 1 house.", []),
        ("de", "Nora hat elf Hunde.", ["11"]),
        ("es", "Nora tiene once perros.", ["11"]),
    ],
)
def test_numbers_must_be_in_the_grounds(code: str, text: str, unknown: list[str]) -> None:
    """In digits or in words, with thousands, decimals and years; counting listed things is allowed."""
    grounds = ["Nora has two cats and 3 dogs.", "Nora paid 1250.5 euros in 2019."]
    if code != "en":
        grounds = ["Nora: 2, 3."]
    assert unknown_numbers(text, grounds, LANGUAGES[code]) == unknown


@every_row(
    ("text", "sample", "another"),
    [
        ("Nora works in the harbour.", "Nora has been a pilot since the spring.", False),
        ("Nora arbeitet seit Mai im Hafen.", "Nora has been a pilot since the spring.", True),
        ("Nora trabaja en el puerto desde mayo.", "Nora has been a pilot since the spring.", True),
        ("Nora travaille dans le port depuis le printemps dernier.", "Nora has been a pilot since the spring.", True),
        ("ノラは港で働いている。", "Nora has been a pilot since the spring.", True),
        ("Nora works in the harbour and at the lake.", "Nora ist seit dem Frühling Lotsin im Hafen.", True),
        ("Nora ist im Hafen in Emden angestellt.", "Nora ist seit dem Frühling Lotsin im Hafen.", False),
        ("Pilot, Bergen.", "Nora has been a pilot since the spring.", False),
        ("Nora est pilote depuis le printemps.", "Nora travaille dans le port.", False),
        ("", "Nora has been a pilot since the spring.", False),
    ],
)  # fmt: skip
def test_another_language_is_seen(text: str, sample: str, another: bool) -> None:
    """By script or stop words, in unsupported languages too; a few words without stop words may be in any language."""
    assert in_another_language(text, sample, ALL) is another


def test_a_text_without_stop_words_is_in_no_known_language() -> None:
    """Then no check is made that needs words of a language."""
    assert written_in("Nora works in the harbour.", ALL) is LANGUAGES["en"]
    assert written_in("Nora travaille depuis lundi.", ALL) is None
    assert written_in("", ALL) is None
