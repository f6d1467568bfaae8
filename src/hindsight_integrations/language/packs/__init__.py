"""The languages that are known: a file of words and rules each, and one of code where words are not enough.

Another language is another file here, `<ISO 639-1>.toml`. Its keys are the fields of `Language` and of what that is made of.

- A pattern is a regular expression. Line breaks and the blanks around them are layout. `{name}` stands for a part: a pattern
  from the `parts` of the section or of one around it, from `PARTS`, or any word of a table of times (`{any_months}`). A part
  `{not_after = "a the"}` refuses what stands behind these words. Rules of times have the fragments of their grammar as well.
- Words are a text that blanks part, or a list where one of them has a blank.
- A table gives words, which commas part, their value; a list of words numbers them from 1.
- Words and tables of times are spelled out: "(last|past) year(s)?" are four. Each is written as its texts are folded, and with
  `typed` letters replaced too.
- A rule of times is the name of its meaning, its pattern, and "weak" if it is a time only behind a preposition or inside
  a longer phrase. Meanings are functions of `times/meanings.py`, and of the language's own code.

Code of a language is the module of the same name: `from_second` puts a text into the first person, `PARTS` are patterns it
computes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
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
    fragments,
    level_of,
)
from hindsight_integrations.language.times.written import is_foreign_language

PARTS = {
    "near_year": YEAR,
    "far_year": "(?P<year>1[0-9]{3}|20[0-9]{2})",  # behind "in", which needs a year less near
    "decade": "(?P<decade>(?:1[5-9]|20)[0-9]0)",
    "end": r"(?=\s*(?:$|[?.!,;:)]))",  # of a clause
    "iso_day": r"{year}(?P<mark>[-/.])(?P<m>[01]?[0-9])(?P=mark)(?P<d>[0-9]{1,2})"
    r"(?:(?:T| )[0-2]?[0-9]:[0-5][0-9](?::[0-9.]+)?Z?)?",
    "iso_month": r"{year}[-/](?P<m>[0-9]{2})",
    "iso_week": r"{year}-?(?-i:W)(?P<number>[0-9]{2})(?:-[1-7])?",
    "day_dot_month": r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.",
    "day_dot_blank_month": r"(?P<d>[0-9]{1,2})\.\s?(?P<m>[0-9]{1,2})\.",
    "winter_years": "{year} ?[/-] ?(?:20)?[0-9]{2}",
    "short_winter_years": "'?(?P<y>[0-9]{2})/'?[0-9]{2}",
}
"""Parts of patterns that every language has."""

_HERE = Path(__file__).parent
_FRAGMENTS = {f"{name}{second}" for name in (*fragments(Words()), "time") for second in ("", "2")}
_PLACEHOLDER = re.compile(r"\{([a-z_]+2?)\}")
_CHOICE = re.compile(r"\(([^()]*)\)(\??)")


class InvalidLanguage(ValueError):
    """A file of a language that cannot be used.

    Attributes:
        file: its name.
        key: of what is wrong in it.
        reason: what is wrong.
    """

    def __init__(self, file: str, key: str, reason: str) -> None:
        super().__init__(f"{file}: {key}: {reason}" if key else f"{file}: {reason}")
        self.file, self.key, self.reason = file, key, reason


class _Languages(MutableMapping[str, Language]):
    """Languages by their code, English first; each is read when it is first asked for."""

    def __init__(self) -> None:
        self._own: dict[str, Language] = {}

    def __getitem__(self, code: str) -> Language:
        return self._own[code] if code in self._own else _packed(code)

    def __setitem__(self, code: str, language: Language) -> None:
        self._own[code] = language

    def __delitem__(self, code: str) -> None:
        del self._own[code]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*_codes(), *self._own)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def languages_of(codes: Iterable[str]) -> tuple[Language, ...]:
    """The languages that codes name; of one without a file here only written dates are read.

    Args:
        codes: ISO 639-1, of those with a file and those that `dateparser` knows.

    Raises:
        InvalidRequest: one is unknown; the error names those that are known.
    """
    return tuple(_language(code) for code in codes)


def is_known_language(code: str) -> bool:
    """Whether a language has a file here, or at least its dates can be read.

    Args:
        code: ISO 639-1, two small letters.
    """
    return code in LANGUAGES or is_foreign_language(code)


def _language(code: str) -> Language:
    if code in LANGUAGES:
        return LANGUAGES[code]
    if not is_known_language(code):
        known = ", ".join(sorted(LANGUAGES))
        remedy = f"Use one of: {known}; or another code of ISO 639-1, of which dates are read."
        raise InvalidRequest("languages", f"{code!r} is not a known language", remedy)
    return Language(code=code)


@cache
def _codes() -> tuple[str, ...]:
    """Of the files here; English first, which a text is read in that is in none of them."""
    return tuple(sorted((file.stem for file in _HERE.glob("*.toml")), key=lambda code: (code != "en", code)))


@cache
def _packed(code: str) -> Language:
    """The language of a file here.

    Raises:
        KeyError: there is no such file.
        InvalidLanguage: the file is wrong.
    """
    if code not in _codes():
        raise KeyError(code)
    name = f"{__name__}.{code}"
    own = import_module(name) if find_spec(name) else ModuleType(name)
    return read_language(_HERE / f"{code}.toml", own)


def read_language(file: Path, code: ModuleType) -> Language:
    """The language of a file.

    Args:
        file: its name is the language's code.
        code: what words alone cannot say: `from_second`, `PARTS`, meanings of times.

    Raises:
        InvalidLanguage: naming the file, the key and what is wrong with it.
    """
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidLanguage(file.name, "", str(error)) from error
    return _Reader(file, code).language(raw)


class _Reader:
    """Reads the values of a file as the types of the fields they are for."""

    def __init__(self, file: Path, code: ModuleType) -> None:
        self._file, self._code = file, code
        self._letters: list[Mapping[int, Any]] = []  # how letters of a word are replaced, once a spelling

    def language(self, raw: dict[str, Any]) -> Language:
        """What the whole file says."""
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
        """A dataclass of a section's values, beside the fields that are given."""
        parts = {**parts, **raw.pop("parts", {})}
        hints = _hints(kind)
        for name, value in raw.items():
            inner = f"{key}.{name}" if key else name
            if name not in hints:
                raise self._fault(inner, f"unknown key; the keys are {', '.join(sorted(hints))}")
            given[name] = self._read(hints[name], value, inner, parts)
        return kind(**given)

    def _read(self, hint: Any, value: Any, key: str, parts: Mapping[str, Any]) -> Any:  # noqa: ANN401 # any field's
        """A value as the type of its field."""
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
        """A text with its parts; placeholders of fragments, which a grammar of times knows, stay."""

        def part(match: re.Match[str]) -> str:
            name = match[1]
            if name in _FRAGMENTS:
                return match[0]
            if name not in parts or name in inside:
                raise self._fault(
                    key, f"{match[0]} is {'a part of itself' if name in inside else 'not a part'}"
                )
            found = parts[name]
            if isinstance(found, dict):
                return _not_after(found["not_after"])
            return self._filled(_joined(found), key, parts, inside=(*inside, name))

        return _PLACEHOLDER.sub(part, text)

    def _spelled(self, words: Iterable[str]) -> Iterator[str]:
        """Each of the words that a text spells out, in each of its spellings."""
        for written in words:
            for word in _spelled_out(written) if "(" in written else (written,):
                if self._letters:
                    yield from dict.fromkeys(word.translate(letters) for letters in self._letters)
                else:
                    yield word

    def _times(self, raw: dict[str, Any], parts: Mapping[str, Any]) -> TimeRules:
        """The words and rules of time."""
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
        """The table of numbers, and those that are made of tens and ones: "{tens}-{ones}"."""
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
        """The pattern of a rule, and what it means."""
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
    """The types of a dataclass's fields."""
    return get_type_hints(kind)


def _listed(words: str | Iterable[str]) -> Iterable[str]:
    """Words of a text that blanks part, or of a list."""
    return words.split() if isinstance(words, str) else words


def _joined(text: str) -> str:
    """A pattern without its line breaks and the blanks around them."""
    lines = text.split("\n")
    return text if len(lines) == 1 else "".join(line.strip() for line in lines)


def _spelled_out(written: str) -> Iterator[str]:
    """The words of a text with choices: "(last|past) year(s)?" are four."""
    choice = _CHOICE.search(written)
    if choice is None:
        yield written
        return
    before, after = written[: choice.start()], written[choice.end() :]
    for one in (*choice[1].split("|"), *([""] if choice[2] else [])):
        yield from _spelled_out(before + one + after)


def _not_after(words: str) -> str:
    """A pattern that refuses a phrase behind any of these words, which blanks part."""
    return "".join(rf"(?<!\b{word}\x20)" for word in words.split())


def _by_form(things: Mapping[str, str]) -> dict[str, str]:
    """Each form of a word with the thing it means; forms are parted by commas, and the thing's own name is one.

    Raises:
        ValueError: a form means two things.
    """
    found: dict[str, str] = {}
    for thing, forms in things.items():
        for form in dict.fromkeys((thing, *filter(None, forms.split(", ")))):
            if found.setdefault(form, thing) != thing:
                raise ValueError(f"{form!r} means {found[form]!r} and {thing!r}")
    return found


LANGUAGES: MutableMapping[str, Language] = _Languages()
ENGLISH = LANGUAGES["en"]
