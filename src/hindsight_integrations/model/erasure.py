"""Erasure: the selection of content to erase, the receipt, and recognition of names and identifiers in texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from hindsight_integrations.model.display import Displayed, Table, count
from hindsight_integrations.model.names import ALSO_WORDS
from hindsight_integrations.model.time import Interval


@dataclass(frozen=True, slots=True)
class Erasure:
    """A selection of content to erase from a bank. Exactly one selector is set, except where noted.

    Attributes:
        unit: the id of one unit.
        document: the id of a document; erases its row, chunks and units.
        entity: the id of an entity; erases it and every unit that mentions it.
        names: with `entity`, normalised names; erases only these and the units that mention the entity by them. Empty
            means all.
        window: an interval; erases units that happened or were mentioned in it.
        everything: True erases all content, but not the bank, its profile, profile history and embedder.
        thread: the id of a conversation; erases its turns and every memory made from them.
        message: with `thread`, the id of one message; erases its turn and every memory made from it.
        told: normalised names; erases every unit and turn whose text contains one as a whole name. May be combined with
            `entity`.
        units: the ids of several units. May be combined with `identifiers`.
        identifiers: telephone, card, account and order numbers, plates and e-mail addresses, normalised by
            `identifiers_in`; erases every unit and turn that contains one, in any spelling.
        before: a time; erases all units and turns mentioned earlier.
        tags: with `before`, erases only units and turns with one of these tags. Empty means all.
    """

    unit: str | None = None
    document: str | None = None
    entity: str | None = None
    names: tuple[str, ...] = ()
    window: Interval | None = None
    everything: bool = False
    thread: str | None = None
    message: str | None = None
    told: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    before: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BankCopy:
    """A copy of a bank in the indexes of a process; only banks on PostgreSQL have copies.

    Attributes:
        bank: the bank's name; empty if the bank was forgotten.
        holder: the id of the cache folder, or of the engine that keeps its copies in memory.
        place: the cache folder as "host:path", or "memory of host:pid".
        process: the process that opened the copy last, as "host:pid".
        opened_at: the time at which it was opened last.
        confirmed: whether the copy contains nothing that was erased, neither in memory nor in files.
    """

    bank: str
    holder: str
    place: str
    process: str
    opened_at: datetime
    confirmed: bool


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReceipt(Displayed):
    """The ids and counts of the content that was erased, or, for a dry run, would be erased.

    Attributes:
        unit_ids: the ids of the erased units, including items of documents; empty if a whole bank was forgotten.
        entity_ids: the ids of the entities that are no longer mentioned.
        counts: the number of erased rows per kind ("units", "turns", "documents", "chunks", "entities", "names", "tasks",
            ...).
        revision: the bank's revision after the erasure; every index has reached it.
        dry_run: True if nothing was erased; the same call without `dry_run` erases this content.
        names: for a dry run, the normalised names that entities would lose, including those of erased entities, sorted.
        files_clean: True if the files were rewritten. False if another process was reading the ledger; the next forget or
            open tries again. Always False on PostgreSQL, whose operator cleans its files (docs/scale.md).
        restored: the ids of memories and items that are valid again because the statement that ended them was erased.
        copies: the copies of the bank in all processes' indexes on PostgreSQL, at the time of the receipt; `hindsight.copies`
            returns their present state. Empty for a data directory.
    """

    unit_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    counts: Mapping[str, int]
    revision: int
    files_clean: bool = True
    dry_run: bool = False
    names: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    copies: tuple[BankCopy, ...] = ()

    def _display_facts(self) -> tuple[str, ...]:
        counts = [f"{number:,} {kind.replace('_', ' ')}" for kind, number in self.counts.items() if number]
        unconfirmed = sum(not copy.confirmed for copy in self.copies)
        return (
            "dry run" if self.dry_run else "erased",
            *(counts or ["nothing"]),
            f"{len(self.restored):,} restored" if self.restored else "",
            "" if self.files_clean else "files not rewritten",
            f"{count(unconfirmed, 'copy', 'copies')} unconfirmed" if unconfirmed else "",
        )

    def _display_tables(self) -> tuple[Table, ...]:
        rows = [(kind.replace("_", " "), number) for kind, number in self.counts.items() if number]
        ids = [(unit_id,) for unit_id in self.unit_ids]
        names = [(name,) for name in self.names]
        title = "would be erased" if self.dry_run else "erased"
        return (
            Table((title, "rows"), rows),
            Table(("unit ids",), ids),
            Table(("names",), names),
            copies_table(self.copies),
        )


def copies_table(copies: Iterable[BankCopy]) -> Table:
    """Return a table of copies for display."""
    rows = [(copy.place, "confirmed" if copy.confirmed else "unconfirmed", copy.holder) for copy in copies]
    return Table(("copy", "erasures", "holder"), rows)


_NUMBER_SUFFIX = (
    r"(?P<number>(?:\s|\s?#\s?|\s(?:no|nr|v)\.?\s?)(?:\d+(?:\.\d+)*|(?-i:[IVXL]{2,5}|[VX]))(?!\w)(?!\s?[%$\u20ac\u00a3])(?![:.,]\d))"
    r"(?P<after>\s+[^\W\d_]+)?"
)
_UNCASED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
"""Matches a letter of a script that has no capitals and no spaces between words."""

_BEGINS = re.compile(
    r"(?:^|[.!?…:]\s|^\S{1,40}:\s)[\"'(\u201c]*$"
)  # the speaker at the beginning of a verbatim memory
_FOLLOWING = re.compile(r"(?:['\u2019]s)?\s(?:(?:de|del|la|le|van|von|di|da)\s)*([^\W\d_a-zà-öø-ÿ][\w-]*)")
_GERMAN = re.compile(
    r"\b(?:ich|der|die|das|und|ist|nicht|habe|hat|mit|den|dem|ein|eine|war|zu|auf)\b", re.IGNORECASE
)
_NO_NAMES = frozenset(
    [
        "i", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april",
        "may", "june", "july", "august", "september", "october", "november", "december",
    ]
)  # fmt: skip


class WholeNames:
    """A matcher of whole names in texts, which excludes names that are part of a longer one.

    Args:
        names: the normalised names (`normalise_name`).
        texts: texts of the bank; a longer name that is unambiguous in one of them ("Apollo 2 launches") is
            recognised in all texts.
        uncounted: words that a preceding number cannot modify: in "Apollo 2 was" the number belongs to the name, in "Apollo
            2 cups" perhaps not.
    """

    def __init__(
        self, names: Collection[str], texts: Iterable[str] = (), uncounted: Collection[str] = ()
    ) -> None:
        self._uncounted = frozenset(uncounted)
        self._names = sorted(filter(None, names), key=len, reverse=True)
        self._longer = {longer for text in texts for longer in self._longer_names(text)}

    def __bool__(self) -> bool:
        return bool(self._names)

    def stand_in(self, text: str) -> bool:
        """Return whether a text contains one of the names as a whole name, not inside a longer one."""
        return any(self._whole(match) for match in self._matches(text))

    def only_inside_longer(self, text: str) -> bool:
        """Return whether a text contains the names only inside longer names."""
        matches = list(self._matches(text))
        return bool(matches) and not any(map(self._whole, matches))

    def _whole(self, match: re.Match[str]) -> bool:
        if match["name"].casefold() in ALSO_WORDS and not match["name"][0].isupper():
            return False
        if _continues(match):
            return False
        return not match["number"] or not (self._is_part(match) or _spelled(match) in self._longer)

    def _is_part(self, match: re.Match[str]) -> bool:
        """Return whether the number after a name is part of the name, because no counted noun follows."""
        if match["name"][-1].isdigit():
            return False
        if _begins(match):
            return True
        after = (match["after"] or "").strip()
        return not after or not after.islower() or after in self._uncounted

    def _longer_names(self, text: str) -> Iterable[str]:
        return [_spelled(match) for match in self._matches(text) if match["number"] and self._is_part(match)]

    def _matches(self, text: str) -> Iterable[re.Match[str]]:
        if not self._names:
            return ()
        return self._pattern.finditer(" ".join(unicodedata.normalize("NFKC", text).split()))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        alternatives = "|".join(map(_bounded, self._names))
        return re.compile(rf"(?P<name>{alternatives})(?:{_NUMBER_SUFFIX})?", re.IGNORECASE)


def looks_like_a_name(text: str) -> bool:
    """Return whether a text can be a name: it has a capital letter, a digit, or a letter of a script without capitals."""
    return any(letter.isupper() or letter.isdigit() for letter in text) or _UNCASED.search(text) is not None


def _bounded(name: str) -> str:
    written = re.escape(name)
    return written if _UNCASED.search(name) else rf"(?<![\w-]){written}(?!\w|-[^\W_])"


def _continues(match: re.Match[str]) -> bool:
    """Return whether a capitalised word continues the name before it.

    In German, where all nouns are capitalised, it continues only a name at the beginning of a sentence.
    """
    following = _FOLLOWING.match(match.string, match.end("name"))
    if following is None or match["name"].islower() or following[1].casefold() in _NO_NAMES:
        return False
    return not _GERMAN.search(match.string) or _begins(match)


def _begins(match: re.Match[str]) -> bool:
    return _BEGINS.search(match.string, 0, match.start()) is not None


def _spelled(match: re.Match[str]) -> str:
    return " ".join(f"{match['name']}{match['number']}".casefold().split())


_AT = r"(?:\s*@\s*|\s*[(\[]\s*at\s*[)\]]\s*|\s+at\s+)"
_DOT = r"(?:\.|\s*[(\[]\s*dot\s*[)\]]\s*|\s+dot\s+)"
_EMAIL = re.compile(
    rf"\b(?P<local>[\w+-]+(?:{_DOT}[\w+-]+)*){_AT}(?P<domain>[\w-]+(?:{_DOT}[\w-]+)+)\b", re.IGNORECASE
)
_DOTS = re.compile(_DOT, re.IGNORECASE)
# Groups of digits, or of letters before digits ("B-KL 4410", "tulip-4471"), with separators.
_GROUP = r"(?:[A-Z]{1,4}(?=[ -]?\d)|[A-Z]{1,3}-[A-Z]{1,3}(?=[ -]?\d)|[^\W\d_]+-(?=\d)|\w*\d\w*)"
_NUMBER = re.compile(
    rf"(?<![\w.,:€$£])\+?\(?{_GROUP}(?:[ ./()-]{{0,3}}{_GROUP})*(?![\w:])(?!,\d)(?!\s?[%€$£])"
)
_DATE_OR_AMOUNT = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[-/]\d{2,4}|\d+(?:[.,]\d+)?"
)
_SHORTEST = 4  # minimum letters and digits of an identifier; shorter numbers may be amounts, times or ages
_CARD = range(13, 20)  # number of digits of a payment card (ISO/IEC 7812)
# number of digits of a telephone number, possibly with a country code (ITU-T E.164 allows 15)
_TELEPHONE = (9, 15)


def identifiers_in(text: str) -> frozenset[str]:
    """Return the identifiers in a text, normalised."""
    emails = {_email(match) for match in _EMAIL.finditer(text)}
    rest = _EMAIL.sub(" ", text)
    numbers = {
        _number(match)
        for match in _NUMBER.finditer(rest)
        if _number(match) != match[0] or _is_identifier(match[0])
    }
    return frozenset(emails | numbers)


def identifies_any(text: str, identifiers: Collection[str]) -> bool:
    """Return whether a text contains one of these normalised identifiers, in any spelling."""
    return bool(identifiers) and not identifiers_in(text).isdisjoint(identifiers)


def kind_words(identifier: str) -> frozenset[str]:
    """Return the words that people use for an identifier of this format, such as "phone number", "e-mail address" or "card"."""
    if "@" in identifier:
        return frozenset({"email", "mail", "e", "address"})
    if not identifier.isdecimal():
        return frozenset({"iban", "account", "order", "plate", "number", "code"})
    if len(identifier) < _TELEPHONE[0]:
        return frozenset({"order", "customer", "code", "number"})
    if len(identifier) in _CARD:
        return frozenset({"card", "account", "number"})
    return frozenset({"phone", "telephone", "mobile", "cell", "number", "account"})


def _is_identifier(written: str) -> bool:
    """Return whether a single word is an identifier, which is neither a date nor a number as short as a year."""
    bare = written.isdecimal() and len(written) > _SHORTEST
    return bare or (not _DATE_OR_AMOUNT.fullmatch(written) and len(re.sub(r"\W", "", written)) >= _SHORTEST)


def _email(match: re.Match[str]) -> str:
    local, domain = (_DOTS.sub(".", match[part]) for part in ("local", "domain"))
    return f"{local}@{domain}".casefold()


def _number(match: re.Match[str]) -> str:
    """Normalise an identifier to one word; dates, amounts and short numbers stay as they are."""
    written = match[0]
    spelled = re.sub(r"\(0\)", "", written) if written.startswith("+") else written
    joined = re.sub(r"\W", "", spelled)
    if _DATE_OR_AMOUNT.fullmatch(written) or len(joined) < _SHORTEST:
        return written
    least, most = _TELEPHONE
    national = written[0] in "+(0"  # a plain "555-123-4567" may be from another country
    if joined.isdecimal() and national and least < len(joined) <= most:
        return joined[-least:]
    return joined.casefold()
