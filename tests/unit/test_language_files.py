"""A language is a file: its content, and the errors for an invalid one."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest
from table import every_row

from hindsight_integrations.language.packs import LANGUAGES, InvalidLanguage, read_language
from hindsight_integrations.language.times.finding import find_window
from hindsight_integrations.language.times.grammar import first_word, grammar_of

FRENCH = """
stop_words = "le la les de"
negation = '''
  (?i)\\b(?:ne
  |jamais)\\b'''

[times]
folding = ["é", "e"]
rules = [
  ["which_unit", '{in}la {unit} {which}'],
  ["near_day", '{near}'],
]

[times.parts]
in = "(?:dans )?"

[times.units]
"semaine(s)?" = "week"

[times.which]
"(dernier|passe)e, d'avant" = -1

[times.near]
"aujourd'hui" = 0
"hier" = -1
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "fr.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_language_is_a_file(tmp_path: Path) -> None:
    """Words, patterns with their parts and rules are enough; words with choices are expanded."""
    french = read_language(written(tmp_path, FRENCH), ModuleType("fr"))
    assert french.code == "fr"
    assert french.stop_words == {"le", "la", "les", "de"}
    assert french.negation.search("Je ne fume pas")
    assert french.times is not None
    assert {"semaine", "semaines"} == set(french.times.words.units)
    window = find_window(
        "Où étions-nous la semaine passée ?", datetime(2024, 5, 22, tzinfo=UTC), rules=french.times
    )
    assert window is not None
    assert window.interval.start == datetime(2024, 5, 13, tzinfo=UTC)


def test_the_indentation_of_a_pattern_is_not_part_of_it(tmp_path: Path) -> None:
    """A pattern may start on the line after its quotes; a leading space that belongs to it is kept."""
    patterns = "negation = '''\n  \\bne\\b'''\n[names]\nverb = ' [A-Z]'\n"
    language = read_language(written(tmp_path, patterns), ModuleType("fr"))
    assert language.negation.pattern == r"\bne\b"
    assert language.names.verb.pattern == " [A-Z]"


@every_row(
    ("old", "new", "key", "reason"),
    [
        ("stop_words", "stopwords", "stopwords", "unknown key"),
        ("(?:ne", "(?:(ne", "negation", "missing )"),
        ("{in}la", "{into}la", "times.rules", "{into} is not a known part"),
        ('"near_day"', '"nearest"', "times.rules", "'nearest'"),
        ('= "week"', '= "weak"', "times.units", "'weak'"),
        ("{which}'", "({which}'", "times", "missing )"),
        ("{which}'", "{year}'", "times", "which_unit needs the group which"),
        ('"(?:dans )?"', '"{in}"', "times.rules", "{in} is a part of itself"),
        ('= "le la', "= le la", "", "Invalid value"),
        ('["near_day", ', '["near_day", "weak", ', "times.rules", "is not a rule"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(
    tmp_path: Path, old: str, new: str, key: str, reason: str
) -> None:
    """The error names the file, the key and the reason, when the file is read."""
    with pytest.raises(InvalidLanguage) as refused:
        read_language(written(tmp_path, FRENCH.replace(old, new, 1)), ModuleType("fr"))
    assert refused.value.file == "fr.toml"
    assert refused.value.key == key
    assert reason in refused.value.reason
    assert str(refused.value).startswith("fr.toml: ")


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_rule_is_left_out_that_would_match(code: str) -> None:
    """A word of a text is tried with the rules that may begin with it; the others would not match."""
    times = LANGUAGES[code].times
    assert times is not None
    grammar, words = grammar_of(times), times.words
    tables = (
        words.months,
        words.units,
        words.numbers,
        words.which,
        words.near,
        words.holidays,
        words.weekdays,
        words.ordinals,
    )
    names = [name for table in tables for name in table]
    names += [
        "2023",
        "3",
        "5.",
        "1/2",
        "'90s",
        "Q3",
        "the",
        "in",
        "on",
        "der",
        "vor",
        "el",
        "hace",
        "2024-W03",
        "24h",
    ]
    draw = random.Random(code)
    for joint in (" ", "", "-"):
        for _ in range(60):
            text = joint.join(draw.choices(names, k=5))
            for at in range(len(text)):
                tried = grammar.beginning_with(first_word(text, at))
                left_out = [rule for rule in grammar.rules if rule not in tried]
                assert not [rule.rule.pattern for rule in left_out if rule.pattern.match(text, at)]
