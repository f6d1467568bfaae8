"""The contract of every TokenCounter. Inherit, name the class Test..., and provide a `counter` fixture."""

from __future__ import annotations

import pytest

from hindsight_integrations.models.protocols import TokenCounter


class TokenCounterContract:
    """Checks order, empty input and that no text is special."""

    @pytest.fixture
    def counter(self) -> TokenCounter:
        raise NotImplementedError

    def test_one_count_a_text_in_order(self, counter: TokenCounter) -> None:
        """Each text has its own count, in order."""
        short, long = "A dog barks.", "A dog barks at the postman who comes every single morning."
        counts = counter.count([long, short, long])
        assert counts[0] == counts[2] > counts[1] > 0

    def test_nothing_costs_nothing(self, counter: TokenCounter) -> None:
        """Empty texts have no tokens, and no texts are not an error."""
        assert counter.count(["", ""]) == [0, 0]
        assert counter.count([]) == []

    def test_special_literals_are_plain_text(self, counter: TokenCounter) -> None:
        """A message that quotes a model's control tokens is counted, not rejected."""
        (count,) = counter.count(["Say <|endoftext|> and <|im_start|> twice."])
        assert count > 1

    def test_counts_are_repeatable(self, counter: TokenCounter) -> None:
        """The same text always has the same count."""
        assert counter.count(["The same text."]) == counter.count(["The same text."])

    def test_odd_texts_count(self, counter: TokenCounter) -> None:
        """Emoji, control characters and half a surrogate pair can be counted."""
        counts = counter.count(["🐕‍🦺", "\x00 nul", "\ud83d half"])
        assert all(count > 0 for count in counts)

    def test_it_has_a_name(self, counter: TokenCounter) -> None:
        """`doctor` shows how tokens are counted."""
        assert counter.name
