"""Telephone, card, account and order numbers, plates and e-mail addresses in one spelling, however they were written. Pure.

"+49 (0)170 123-4567" is 0170 1234567, "mila dot k at post dot example" is mila.k@post.example, "B-KL 4410" is BKL4410. A
longer identifier is never taken for a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_AT = r"(?:\s*@\s*|\s*[(\[]\s*at\s*[)\]]\s*|\s+at\s+)"
_DOT = r"(?:\.|\s*[(\[]\s*dot\s*[)\]]\s*|\s+dot\s+)"
_EMAIL = re.compile(
    rf"\b(?P<local>[\w+-]+(?:{_DOT}[\w+-]+)*){_AT}(?P<domain>[\w-]+(?:{_DOT}[\w-]+)+)\b", re.IGNORECASE
)
_DOTS = re.compile(_DOT, re.IGNORECASE)
# Groups of digits, or of letters and digits, set apart by a blank, dash, dot, slash or brackets. Letters alone belong to it in
# front of digits: capitals ("B-KL 4410", "DE02"), or any joined by a dash ("tulip-4471").
_GROUP = r"(?:[A-Z]{1,4}(?=[ -]?\d)|[A-Z]{1,3}-[A-Z]{1,3}(?=[ -]?\d)|[^\W\d_]+-(?=\d)|\w*\d\w*)"
_NUMBER = re.compile(
    rf"(?<![\w.,:€$£])\+?\(?{_GROUP}(?:[ ./()-]{{0,3}}{_GROUP})*(?![\w:])(?!,\d)(?!\s?[%€$£])"
)
_DATE_OR_AMOUNT = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[-/]\d{2,4}|\d+(?:[.,]\d+)?"
)
_SHORTEST = 4  # letters and digits; fewer are amounts, times and ages
_CARD = range(13, 20)  # digits of a payment card (ISO/IEC 7812)
_TELEPHONE = (9, 15)  # digits of a number that may have its country's in front (ITU-T E.164 allows 15)


def identifiers_in(text: str) -> frozenset[str]:
    """The identifiers a text has, each in its one spelling."""
    emails = {_email(match) for match in _EMAIL.finditer(text)}
    rest = _EMAIL.sub(" ", text)
    numbers = {
        _number(match) for match in _NUMBER.finditer(rest) if _number(match) != match[0] or _is_one(match[0])
    }
    return frozenset(emails | numbers)


def identifies_any(text: str, identifiers: Collection[str]) -> bool:
    """Whether one of these identifiers (in its one spelling) stands in a text, however it is written there."""
    return bool(identifiers) and not identifiers_in(text).isdisjoint(identifiers)


def kind_words(identifier: str) -> frozenset[str]:
    """What people call an identifier of that shape: "phone number", "e-mail address", "card"."""
    if "@" in identifier:
        return frozenset({"email", "mail", "e", "address"})
    if not identifier.isdecimal():
        return frozenset({"iban", "account", "order", "plate", "number", "code"})
    if len(identifier) < _TELEPHONE[0]:
        return frozenset({"order", "customer", "code", "number"})
    if len(identifier) in _CARD:
        return frozenset({"card", "account", "number"})
    return frozenset({"phone", "telephone", "mobile", "cell", "number", "account"})


def _is_one(written: str) -> bool:
    """Whether something is an identifier that is spelled as one word already: no date, and no number as short as a year."""
    bare = written.isdecimal() and len(written) > _SHORTEST
    return bare or (not _DATE_OR_AMOUNT.fullmatch(written) and len(re.sub(r"\W", "", written)) >= _SHORTEST)


def _email(match: re.Match[str]) -> str:
    local, domain = (_DOTS.sub(".", match[part]) for part in ("local", "domain"))
    return f"{local}@{domain}".casefold()


def _number(match: re.Match[str]) -> str:
    """An identifier as one word; dates, amounts and short numbers as they are."""
    written = match[0]
    spelled = re.sub(r"\(0\)", "", written) if written.startswith("+") else written
    joined = re.sub(r"\W", "", spelled)
    if _DATE_OR_AMOUNT.fullmatch(written) or len(joined) < _SHORTEST:
        return written
    least, most = _TELEPHONE
    national = written[0] in "+(0"  # a bare "555-123-4567" may be of another country
    if joined.isdecimal() and national and least < len(joined) <= most:
        return joined[-least:]
    return joined.casefold()
