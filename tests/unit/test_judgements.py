"""What a text judges or guesses beyond its grounds, what it names and counts that they do not, and in which language it is."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.text.grounding import grounded_share, unknown_names, unknown_numbers
from hindsight_integrations.text.judgements import judgement
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.which_language import in_another_language, written_in

ALL = tuple(LANGUAGES.values())


@every_row(
    ("code", "text"),
    [
        ("en", "Nora is an excellent pilot."),
        ("en", "Nora is a reliable and thoughtful colleague."),
        ("en", "Nora may move to Bergen."),
        ("en", "Nora might be a vegetarian."),
        ("en", "Nora appears to enjoy the night shifts."),
        ("en", "Nora is likely to leave."),
        ("en", "Nora keeps two cats, suggesting that she likes animals."),
        ("en", "This shows how much it means, which reflects her love of the sea."),
        ("en", "Nora, I believe, is a pilot."),
        ("en", "In my view Nora is a pilot."),
        ("de", "Nora ist eine ausgezeichnete Lotsin."),
        ("de", "Nora ist vermutlich Lotsin."),
        ("de", "Nora scheint gern nachts zu arbeiten."),
        ("de", "Nora dürfte bald umziehen."),
        ("de", "Das deutet darauf hin, dass Nora umzieht."),
        ("de", "Meiner Meinung nach ist Nora Lotsin."),
        ("de", "Nora ist wohl Lotsin."),
        ("es", "Nora es una piloto excelente."),
        ("es", "Nora es muy generosa."),
        ("es", "Probablemente Nora se mude."),
        ("es", "Nora parece disfrutar de las noches."),
        ("es", "Puede que Nora se mude."),
        ("es", "Nora tiene dos gatos, lo que sugiere que le gustan."),
        ("es", "En mi opinión Nora es piloto."),
    ],
)
def test_judgements_and_guesses_are_seen(code: str, text: str) -> None:
    """Each of them says more than "Nora works as a pilot and keeps two cats" does."""
    assert judgement(text, ["Nora works as a pilot and keeps two cats."], LANGUAGES[code])


@every_row(
    ("code", "text"),
    [
        ("en", "Nora moved to Bergen on May 8, 2023."),
        ("en", "Nora appeared in a school play in May and suggested a second one."),
        ("en", "Nora finds the winter routes hard and wants to work in Oslo."),
        ("en", "Nora is the great-aunt of two children and studies fine arts."),
        ("en", "Nora is a kind of harbour pilot who dedicated a bench to her teacher."),
        ("en", 'Nora called the trip "a wonderful week, probably the best".'),
        ("en", "Nora's will was read in the presence of the likely candidates."),
        ("de", "Nora fühlt sich in Bergen wohl und arbeitet nachts."),
        ("de", "Nora zog am 8. Mai nach Bergen und möchte dort bleiben."),
        ("es", "Nora se mudó a Bergen el 8 de mayo y tiene una lista de precios."),
        ("es", "Nora trabaja de noche y quiere seguir en Bergen."),
    ],
)
def test_accounts_are_none(code: str, text: str) -> None:
    """Plans, feelings, quotes and words that only look like judgements are told without being one."""
    assert judgement(text, ["Nora works as a pilot."], LANGUAGES[code]) == ""


def test_what_the_grounds_judge_or_guess_may_be_told() -> None:
    """The very same guess, and a judgement of the same stem; another guess is one's own."""
    grounds = ["Rui finds Nora wonderfully calm and says she will probably be captain."]
    english = LANGUAGES["en"]
    assert judgement("Rui calls Nora wonderful.", grounds, english) == ""
    assert judgement("Nora will probably be captain.", grounds, english) == ""
    assert "apparently" in judgement("Nora will apparently be captain.", grounds, english)


def test_names_must_be_in_the_grounds() -> None:
    """At any place of a sentence, as owner too; initials may stand for words in a row."""
    grounds = ["Nora and Rui studied computer science in the United Kingdom.", "Nora"]
    english = LANGUAGES["en"]
    assert unknown_names("Nora studied CS in the UK with Rui.", grounds, english) == []
    assert unknown_names("Rui's course was Nora's too.", grounds, english) == []
    assert unknown_names("Lena studied with Rui.", grounds, english) == ["Lena"]
    assert unknown_names("Nora studied with Lena Berg in Oslo.", grounds, english) == ["Lena Berg", "Oslo"]
    assert unknown_names("Nora studied at MIT.", grounds, english) == ["MIT"]
    assert unknown_names("Together they studied. Both did. Since then Nora works.", grounds, english) == []


@every_row(
    ("code", "text", "unknown"),
    [
        ("en", "Nora has 2 cats and 3 dogs.", []),
        ("en", "Nora has three dogs and two cats.", []),
        ("en", "Nora has 4 dogs.", ["4"]),
        ("en", "Nora has eleven dogs.", ["eleven"]),
        ("en", "Nora paid 1,250.50 euros in 2019.", []),
        ("en", "Nora paid 1,350 euros.", ["1350"]),
        ("en", "Nora bought it in 2018.", ["2018"]),
        ("en", "Nora has 1 house.", []),
        ("de", "Nora hat elf Hunde.", ["elf"]),
        ("es", "Nora tiene once perros.", ["once"]),
    ],
)
def test_numbers_must_be_in_the_grounds(code: str, text: str, unknown: list[str]) -> None:
    """In figures or in words, with thousands, decimals and years; a count of what is told one by one is no invention."""
    grounds = ["Nora has two cats and 3 dogs.", "Nora paid 1250.5 euros in 2019."]
    if code != "en":
        grounds = ["Nora: 2, 3."]
    assert unknown_numbers(text, grounds, LANGUAGES[code]) == unknown


def test_the_share_of_grounded_words() -> None:
    """Names do not count: they are checked by themselves."""
    english = LANGUAGES["en"]
    assert grounded_share("Nora steers ships", ["Nora steers big ships"], ["Nora"], english) == 1.0
    assert grounded_share("Nora steers trains", ["Nora steers big ships"], ["Nora"], english) == 0.5
    assert grounded_share("Nora bakes bread", ["Nora steers big ships"], ["Nora"], english) == 0.0
    assert grounded_share("Nora", ["Nora steers big ships"], ["Nora"], english) == 1.0


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
    """By script or stop words, of languages nobody has taught us too; a few words without any may be of any language."""
    assert in_another_language(text, sample, ALL) is another


def test_a_text_without_stop_words_is_in_no_known_language() -> None:
    """Then nothing is checked that needs words of one."""
    assert written_in("Nora works in the harbour.", ALL) is LANGUAGES["en"]
    assert written_in("Nora travaille depuis lundi.", ALL) is None
    assert written_in("", ALL) is None
