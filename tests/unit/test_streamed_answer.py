"""A streamed answer: the line with the sources is never shown, however the text is split; all other text is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.reflect.streaming import StreamedAnswer


def read(text: str, size: int) -> tuple[str, tuple[str, ...] | None]:
    answer = StreamedAnswer()
    shown = "".join(answer.feed(text[at : at + size]) for at in range(0, len(text), size))
    rest, marks = answer.end()
    assert answer.text == shown + rest
    return shown + rest, marks


@every_row("size", [1, 3, 1000])
@every_row(
    ("text", "shown", "marks"),
    [
        ("Hello there.\nSOURCES: 1, 4, M1", "Hello there.", ("1", "4", "M1")),
        ("Hello.\n\n**Sources:** [2], [3]\n", "Hello.", ("2", "3")),
        ("I do not know.\nSOURCES: none", "I do not know.", ()),
        ("I do not know.\nSOURCES:", "I do not know.", ()),
        ("Just a text.", "Just a text.", None),
        ("The\nsources: of the Nile\nare far.\nSOURCES: 9", "The\nsources: of the Nile\nare far.", ("9",)),
        ("One line.\nSo be it.\nS", "One line.\nSo be it.\nS", None),
        ("\n\nTwo.\n\nSOURCES: 1 and 2.", "Two.", ("1", "2")),
        ("SOURCES: 1", "", ("1",)),
        ("All in one, SOURCES: 3", "All in one, SOURCES: 3", None),
    ],
)
def test_what_is_shown_and_what_is_cited(
    text: str, shown: str, marks: tuple[str, ...] | None, size: int
) -> None:
    """The shown text and the citations do not depend on how the service splits the stream."""
    assert read(text, size) == (shown, marks)


PARTS = st.lists(
    st.sampled_from(["SOURCES:", " 1, 2", "\n", "sou", "rces", ": ", "Ann left.", " ", "*"]), max_size=12
)


@given(PARTS, st.integers(1, 9))
def test_pieces_do_not_matter(parts: list[str], size: int) -> None:
    """A split text is read like the whole text; only white space and the last line are dropped."""
    text = "".join(parts)
    shown, marks = read(text, size)
    assert (shown, marks) == read(text, max(len(text), 1))
    assert text.strip().startswith(shown)
    if marks is None:
        assert shown == text.strip()
