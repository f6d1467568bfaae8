"""Word stems: by language, and from several threads concurrently."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hindsight_integrations.language.stems import snowball


@pytest.mark.parametrize(
    ("algorithm", "forms"),
    [
        ("english", ("optimize", "optimizes", "optimized", "optimizing", "optimization")),
        ("german", ("arbeiten", "arbeitet", "arbeite")),
        ("spanish", ("trabajo", "trabajas", "trabajaba", "trabajar")),
    ],
)
def test_forms_of_one_word_have_one_stem(algorithm: str, forms: tuple[str, ...]) -> None:
    """Inflected forms of a word have the same stem."""
    assert len({snowball(algorithm)(form) for form in forms}) == 1


def test_threads_do_not_mix_up_their_words() -> None:
    """Eight concurrent threads get the same stems as one."""
    words = [
        f"{start}{ending}" for start in ("optimiz", "refactor", "schedul") for ending in ("ing", "ed", "es")
    ]
    many = [f"{word}{number}ings" for number in range(300) for word in words]
    alone = [snowball("english")(word) for word in many]
    for _ in range(3):
        together = snowball("english")
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(together, many)) == alone
