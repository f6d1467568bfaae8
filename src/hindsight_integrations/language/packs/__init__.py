"""Language packs: one TOML file of words and rules per language, plus a Python module if it needs code.

To add a language, add `<ISO 639-1>.toml` here. Its keys are the fields of `Language` and of its nested dataclasses.

- A pattern is a regular expression. Line breaks, the spaces around them and the indentation of the first line are
  removed; a space that is needed there is written `[ ]`. `{name}` inserts a part: a pattern
  from the `parts` of the section or an enclosing one, from `PARTS`, or any word of a time table (`{any_months}`). A part
  `{not_after = "a the"}` rejects matches after these words. Time rules can also use the fragments of their grammar.
- Words are a space-separated string, or a list if a word contains a space.
- A table maps comma-separated words to a value; a list of words numbers them from 1.
- Words and tables of times are expanded: "(last|past) year(s)?" gives four. Each is folded like the texts, and added
  with `typed` letters replaced too.
- A time rule consists of the name of a function that interprets its matches (in `language/times/meanings.py` or the language's
  module), its pattern, and "weak" if a match is a time only after a preposition or inside a longer phrase.

A language's module has the same name as its file. In it, `from_second` rewrites a text in the first person, and `PARTS`
are computed patterns.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.stems import snowball
from hindsight_integrations.language.times import meanings
from hindsight_integrations.language.times.grammar import (
    FRAGMENTS,
    TIME,
    YEAR,
    Continuation,
    Decoys,
    InvalidRule,
    Level,
    Rule,
    TimeRules,
    Words,
    any_of,
    level_of,
)
from hindsight_integrations.language.times.written import is_foreign_language

PARTS = {
    "near_year": YEAR,
    # for use after "in", which may precede a year in the distant past or future
    "far_year": "(?P<year>1[0-9]{3}|20[0-9]{2})",
    "decade": "(?P<decade>(?:1[5-9]|20)[0-9]0)",
    "end": r"(?=\s*(?:$|[?.!,;:)]))",  # end of a clause
    "iso_day": r"{year}(?P<mark>[-/.])(?P<m>[01]?[0-9])(?P=mark)(?P<d>[0-9]{1,2})"
    r"(?:(?:T| )[0-2]?[0-9]:[0-5][0-9](?::[0-9.]+)?Z?)?",
    "iso_month": r"{year}[-/](?P<m>[0-9]{2})",
    "iso_week": r"{year}-?(?-i:W)(?P<number>[0-9]{2})(?:-[1-7])?",
    "day_dot_month": r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.",
    "day_dot_blank_month": r"(?P<d>[0-9]{1,2})\.\s?(?P<m>[0-9]{1,2})\.",
    "winter_years": "{year} ?[/-] ?(?:20)?[0-9]{2}",
    "short_winter_years": "'?(?P<y>[0-9]{2})/'?[0-9]{2}",
}
"""Parts of patterns available to every language."""

_HERE = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{([a-z_]+2?)\}")
_CHOICE = re.compile(r"\(([^()]*)\)(\??)")


class InvalidLanguage(ValueError):
    """A language file is invalid.

    Attributes:
        file: the file's name.
        key: the invalid key.
        reason: what is wrong.
    """

    def __init__(self, file: str, key: str, reason: str) -> None:
        super().__init__(f"{file}: {key}: {reason}" if key else f"{file}: {reason}")
        self.file, self.key, self.reason = file, key, reason


class _Languages(Mapping[str, Language]):
    """Languages by code, English first; each file is read on first access."""

    def __getitem__(self, code: str) -> Language:
        return _packed(code)

    def __iter__(self) -> Iterator[str]:
        return iter(_codes())

    def __len__(self) -> int:
        return len(_codes())


def languages_of(codes: Iterable[str]) -> tuple[Language, ...]:
    """Return the languages with these codes; in a language without a file, only written dates are recognised.

    Args:
        codes: ISO 639-1 codes of languages with a file or supported by `dateparser`.

    Raises:
        InvalidRequest: a language is unknown; the error lists the known ones.
    """
    return tuple(_language(code) for code in codes)


def _language(code: str) -> Language:
    if code in LANGUAGES:
        return LANGUAGES[code]
    if not is_foreign_language(code):
        known = ", ".join(sorted(LANGUAGES))
        remedy = f"Use one of: {known}; or another ISO 639-1 code, for which only dates are recognised."
        raise InvalidRequest("languages", f"{code!r} is not a known language", remedy)
    return Language(code=code)


@cache
def _codes() -> tuple[str, ...]:
    """Return the codes of the language files; English first, as the fallback."""
    return tuple(sorted((file.stem for file in _HERE.glob("*.toml")), key=lambda code: (code != "en", code)))


@cache
def _packed(code: str) -> Language:
    """Read the language file of a code.

    Raises:
        KeyError: there is no such file.
        InvalidLanguage: the file is invalid.
    """
    if code not in _codes():
        raise KeyError(code)
    name = f"{__name__}.{code}"
    own = import_module(name) if find_spec(name) else ModuleType(name)
    return read_language(_HERE / f"{code}.toml", own)


def read_language(file: Path, code: ModuleType) -> Language:
    """Read a language file.

    Args:
        file: the language file, named after the language code, such as `de.toml`.
        code: the language's Python module. It may define `from_second`, `PARTS` and functions that interpret time
            expressions.

    Raises:
        InvalidLanguage: names the file, the key and what is wrong.
    """
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidLanguage(file.name, "", str(error)) from error
    return _Reader(file, code).language(raw)


class _Reader:
    """Converts the values of a language file to the types of their fields."""

    def __init__(self, file: Path, code: ModuleType) -> None:
        self._file, self._code = file, code
        self._letters: list[Mapping[int, Any]] = []  # letter replacements; each gives one spelling of a word

    def language(self, raw: dict[str, Any]) -> Language:
        """Build the language from the whole file."""
        parts = {
            **PARTS,
            **getattr(self._code, "PARTS", {}),
            "stop_words": " ".join(_listed(raw.get("stop_words", ""))),
        }
        given: dict[str, Any] = {"code": self._file.stem}
        if "stemmer" in raw:
            given["stem"] = snowball(raw.pop("stemmer"))
        if "times" in raw:
            given["times"] = self._times(raw.pop("times"), parts)
        language: Language = self._section(Language, raw, "", parts, given)
        from_second = getattr(self._code, "from_second", None)
        if from_second is None:
            return language
        return replace(language, person=replace(language.person, from_second=from_second))

    def _section(
        self,
        kind: Any,  # noqa: ANN401 # a dataclass
        raw: dict[str, Any],
        key: str,
        parts: Mapping[str, Any],
        given: dict[str, Any],
    ) -> Any:  # noqa: ANN401 # of the type that it is given
        """Build a dataclass from a section's values and the given fields."""
        parts = {**parts, **raw.pop("parts", {})}
        hints = _hints(kind)
        for name, value in raw.items():
            inner = f"{key}.{name}" if key else name
            if name not in hints:
                raise self._fault(inner, f"unknown key; the keys are {', '.join(sorted(hints))}")
            given[name] = self._read(hints[name], value, inner, parts)
        return kind(**given)

    def _read(self, hint: Any, value: Any, key: str, parts: Mapping[str, Any]) -> Any:  # noqa: ANN401 # any field's
        """Convert a value of the file to the type of its field."""
        if hint in (str, bool, int) and type(value) is not hint:
            raise self._fault(key, f"{value!r} must be of the type {hint.__name__}")
        try:
            return self._as(hint, value, key, parts)
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            if isinstance(error, InvalidLanguage):
                raise
            raise self._fault(key, str(error)) from error

    def _as(self, hint: Any, value: Any, key: str, parts: Mapping[str, Any]) -> Any:  # noqa: ANN401 # one return a type
        origin, inside = get_origin(hint), get_args(hint)
        if origin is UnionType:
            return self._as(inside[0], value, key, parts)
        if is_dataclass(hint):
            return self._section(hint, value, key, parts, {})
        if hint is str:
            return self._pattern(value, key, parts)
        if origin is re.Pattern:
            return re.compile(self._pattern(value, key, parts))
        if origin is frozenset:
            return frozenset(
                self._spelled(_listed(self._filled(value, key, parts) if isinstance(value, str) else value))
            )
        if origin is tuple:
            return tuple(_listed(value))
        if origin is Callable:
            return meanings.yearly_time(value)
        if origin is not Mapping:
            return hint(value)
        if key == "records.things":
            return _by_form(value)
        if not isinstance(value, dict):
            value = {name: number for number, name in enumerate(_listed(value), 1)}
        if inside[0] is str:
            value = {name: one for names, one in value.items() for name in self._spelled(names.split(", "))}
        return {inside[0](name): self._as(inside[1], one, key, parts) for name, one in value.items()}

    def _pattern(self, text: str, key: str, parts: Mapping[str, Any]) -> str:
        return self._filled(_joined(text), key, parts)

    def _filled(self, text: str, key: str, parts: Mapping[str, Any], *, inside: tuple[str, ...] = ()) -> str:
        """Insert the parts into a pattern; placeholders of the time grammar's fragments stay."""

        def part(match: re.Match[str]) -> str:
            name = match[1]
            if name in FRAGMENTS:
                return match[0]
            if name not in parts or name in inside:
                raise self._fault(
                    key, f"{match[0]} is {'a part of itself' if name in inside else 'not a known part'}"
                )
            found = parts[name]
            if isinstance(found, dict):
                return "".join(rf"(?<!\b{word}\x20)" for word in found["not_after"].split())
            return self._filled(_joined(found), key, parts, inside=(*inside, name))

        return _PLACEHOLDER.sub(part, text)

    def _spelled(self, words: Iterable[str]) -> Iterator[str]:
        """Yield the expanded words, each in all of its spellings."""
        for written in words:
            for word in _spelled_out(written) if "(" in written else (written,):
                if self._letters:
                    yield from dict.fromkeys(word.translate(letters) for letters in self._letters)
                else:
                    yield word

    def _times(self, raw: dict[str, Any], parts: Mapping[str, Any]) -> TimeRules:
        """Build the time rules."""
        parts = {**parts, **raw.pop("parts", {})}
        folding = str.maketrans(*raw.pop("folding", ("", "")))
        self._letters = [folding, *([str.maketrans(raw.pop("typed"))] if "typed" in raw else [])]
        rules, continuations = raw.pop("rules", []), raw.pop("continuations", [])
        raw["numbers"] = self._numbers(raw)
        texts = {
            name: raw.pop(name)
            for name, hint in _hints(Words).items()
            if hint in (str, Decoys) and name in raw
        }
        words: Words = self._section(Words, raw, "times", parts, {"folding": folding})
        tables = {
            f"any_{field.name}": any_of(value)
            for field in fields(Words)
            if isinstance(value := getattr(words, field.name), Mapping | frozenset)
            and field.name != "folding"
        }
        self._letters = []
        given = {
            name: self._read(_hints(Words)[name], text, f"times.{name}", parts | tables)
            for name, text in texts.items()
        }
        try:
            return TimeRules(
                self._file.stem,
                replace(words, **given),
                tuple(self._rule(rule, parts | tables) for rule in rules),
                tuple(self._continuation(rule, parts | tables) for rule in continuations),
            )
        except InvalidRule as error:
            raise self._fault("times", str(error)) from error

    def _numbers(self, raw: dict[str, Any]) -> dict[str, int]:
        """Build the table of numbers, with compounds of tens and ones: "{tens}-{ones}"."""
        ones, tens = (
            {n: v for ns, v in raw.pop(key, {}).items() for n in ns.split(", ")} for key in ("ones", "tens")
        )
        compounds = {
            compound.format(ones=one, tens=ten): ones[one] + tens[ten]
            for compound in raw.pop("compounds", ())
            for one in ones
            for ten in tens
        }
        return {**ones, **tens, **compounds, **raw.pop("numbers", {})}

    def _rule(self, rule: Sequence[str], parts: Mapping[str, Any]) -> Rule:
        pattern, meaning = self._meaning(rule, "times.rules", parts)
        level = level_of(meaning, Level.PART if pattern.endswith(TIME) else Level.ATOM)
        return Rule(pattern, meaning, level, weak="weak" in rule[2:])

    def _continuation(self, rule: Sequence[str], parts: Mapping[str, Any]) -> Continuation:
        pattern, meaning = self._meaning(rule, "times.continuations", parts)
        return Continuation(pattern, meaning, level_of(meaning, Level.PART))

    def _meaning(
        self, rule: Sequence[str], key: str, parts: Mapping[str, Any]
    ) -> tuple[str, Callable[..., Any]]:
        """Return a rule's pattern and the function that interprets its matches."""
        if not isinstance(rule, list) or rule[2:] not in ([], ["weak"]):
            raise self._fault(
                key, f"{rule} is not a rule; write [meaning, pattern] or [meaning, pattern, 'weak']"
            )
        meaning = getattr(self._code, rule[0], None) or getattr(meanings, rule[0], None)
        if meaning is None:
            raise self._fault(key, f"there is no meaning {rule[0]!r}")
        return self._pattern(rule[1], key, parts), meaning

    def _fault(self, key: str, reason: str) -> InvalidLanguage:
        return InvalidLanguage(self._file.name, key, reason)


@cache
def _hints(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a dataclass's fields, cached."""
    return get_type_hints(kind)


def _listed(words: str | Iterable[str]) -> Iterable[str]:
    """Return the words of a space-separated string or a list."""
    return words.split() if isinstance(words, str) else words


def _joined(text: str) -> str:
    """Remove a pattern's line breaks and the spaces around them, and the indentation of its only line."""
    lines = text.split("\n")
    if len(lines) == 1:
        return text.lstrip(" ") if text.startswith("  ") else text
    return "".join(line.strip() for line in lines)


def _spelled_out(written: str) -> Iterator[str]:
    """Expand choices: "(last|past) year(s)?" gives four."""
    choice = _CHOICE.search(written)
    if choice is None:
        yield written
        return
    before, after = written[: choice.start()], written[choice.end() :]
    for one in (*choice[1].split("|"), *([""] if choice[2] else [])):
        yield from _spelled_out(before + one + after)


def _by_form(things: Mapping[str, str]) -> dict[str, str]:
    """Map each comma-separated form, and the thing's own name, to the thing.

    Raises:
        ValueError: a form denotes two things.
    """
    found: dict[str, str] = {}
    for thing, forms in things.items():
        for form in dict.fromkeys((thing, *filter(None, forms.split(", ")))):
            if found.setdefault(form, thing) != thing:
                raise ValueError(f"{form!r} means {found[form]!r} and {thing!r}")
    return found


LANGUAGES: Mapping[str, Language] = _Languages()
ENGLISH = LANGUAGES["en"]
