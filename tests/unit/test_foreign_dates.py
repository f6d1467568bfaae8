"""Dates in languages without a language file: only absolute dates are recognised."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from table import every_row

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.language.packs import languages_of
from hindsight_integrations.language.times.written import find_written_date
from hindsight_integrations.model.time import Granule

DATED = [
    ("fr", "Qu'est-ce que j'ai fait le 8 mai 2023 ?", "2023-05-08", "2023-05-09"),
    ("fr", "Où étais-je en mai 2023 ?", "2023-05-01", "2023-06-01"),
    ("fr", "Qui est venu entre le 3 mai 2023 et le 5 juin 2023 ?", "2023-05-03", "2023-06-06"),
    ("fr", "Qu'ai-je noté le 2023-05-08 ?", "2023-05-08", "2023-05-09"),
    ("fr", "Qu'ai-je fait le 31/12/2023 ?", "2023-12-31", "2024-01-01"),
    ("it", "Cosa ho fatto l'8 maggio 2023?", "2023-05-08", "2023-05-09"),
    ("it", "Dove ero a maggio 2023?", "2023-05-01", "2023-06-01"),
    ("pt", "O que fiz em 8 de maio de 2023?", "2023-05-08", "2023-05-09"),
    ("ru", "Что я делал 8 мая 2023 года?", "2023-05-08", "2023-05-09"),
    ("hu", "Mit csináltam 2023. május 8-án?", "2023-05-08", "2023-05-09"),
    ("ja", "2023年5月8日に何をしましたか", "2023-05-08", "2023-05-09"),
    ("ko", "2023년 5월에 뭐 했어?", "2023-05-01", "2023-06-01"),
]
DATELESS = [
    ("fr", "Qui a appelé hier ?"),  # relative: needs the language's grammar
    ("fr", "Qu'ai-je fait en 2019 ?"),  # a bare year may be any number
    ("fr", "Qu'ai-je fait le 8 mai ?"),
    ("fr", "Combien coûte la Peugeot 2008 ?"),
    ("fr", "Quel est le code de la chambre 2024 ?"),
    ("fr", "Quelle version de Python, la 3.11.2 ?"),
    ("fr", "Qu'ai-je fait le 05/06/2023 ?"),  # guessing the order of day and month
    ("fr", "Où habite Mai, et combien de temps ?"),
    ("fr", "Qui a écrit Mars et Vénus ?"),
    ("fr", "Qu'ai-je mangé le 31 février 2023 ?"),
    ("fr", "Pourquoi le 2023 n'est-il pas dans la liste de mai ?"),
    ("fr", "Combien de pages a le livre 1984 d'Orwell ?"),
    ("fr", "Ai-je 2000 euros ou 1999 euros sur mon compte ?"),
    ("fr", "Que prévoit l'Agenda 2030 pour la marche ?"),
    ("it", "Chi ha chiamato ieri?"),
    ("it", "Quanto costa la Peugeot 2008?"),
    ("it", "Chi ha scritto 2001: Odissea nello spazio?"),
    ("it", "Qual è il codice della stanza 2024?"),
    ("it", "Cosa faccio di solito a maggio?"),
    ("it", "Come si chiama il cane di Marzo?"),
]


@every_row(("code", "text", "first", "after"), DATED)
def test_a_date_in_full_is_read(code: str, text: str, first: str, after: str) -> None:
    """A day or month with its year gives a window."""
    window = find_written_date(text, codes=(code,))
    assert window is not None
    bounds = window.interval.start, window.interval.end
    assert [bound.date().isoformat() for bound in bounds] == [first, after]
    assert window.phrase in text


@every_row(("code", "text"), DATELESS)
def test_nothing_is_guessed(code: str, text: str) -> None:
    """Numbers, relative times, bare years, impossible and ambiguous dates give no window."""
    assert find_written_date(text, codes=(code,)) is None


def test_days_are_those_of_the_zone() -> None:
    """8 May in Tokyo starts at 15:00 UTC on the day before."""
    window = find_written_date("le 8 mai 2023", ZoneInfo("Asia/Tokyo"), codes=("fr",))
    assert window is not None
    assert window.interval.start == datetime(2023, 5, 7, 15, tzinfo=UTC)
    assert window.granule is Granule.DAY


@every_row(
    ("code", "known"),
    [("en", True), ("de", True), ("fr", True), ("zh", True), ("xx", False), ("klingon", False), ("", False)],
)
def test_which_languages_are_known(code: str, known: bool) -> None:
    """A language is known if it has a file or is supported by dateparser."""
    try:
        assert languages_of([code])[0].code == code
    except InvalidRequest:
        assert not known
    else:
        assert known


def test_an_unknown_language_reads_nothing() -> None:
    """An unknown language recognises nothing and does not raise."""
    assert find_written_date("le 8 mai 2023", codes=("xx",)) is None
    assert find_written_date("le 8 mai 2023", codes=("xx", "fr")) is not None
    assert find_written_date("le 8 mai 2023", codes=()) is None
