"""What every TokenCounter must do. Inherit, name the class Test..., and give a `counter` fixture."""

from __future__ import annotations

import pytest

from hindsight_integrations.models.protocols import TokenCounter


class TokenCounterContract:
    """Checks order, emptiness and that nothing in a text is special."""

    @pytest.fixture
    def counter(self) -> TokenCounter:
        raise NotImplementedError

    def test_one_count_a_text_in_order(self, counter: TokenCounter) -> None:
        """Each fact is charged its own cost."""
        short, long = "A dog barks.", "A dog barks at the postman who comes every single morning."
        counts = counter.count([long, short, long])
        assert counts[0] == counts[2] > counts[1] > 0

    def test_nothing_costs_nothing(self, counter: TokenCounter) -> None:
        """Empty texts take no room in a budget, and no texts are no error."""
        assert counter.count(["", ""]) == [0, 0]
        assert counter.count([]) == []

    def test_special_literals_are_plain_text(self, counter: TokenCounter) -> None:
        """A message quoting a model's control words is counted, not refused."""
        (count,) = counter.count(["Say <|endoftext|> and <|im_start|> twice."])
        assert count > 1

    def test_counts_are_repeatable(self, counter: TokenCounter) -> None:
        """The same text always costs the same."""
        assert counter.count(["The same text."]) == counter.count(["The same text."])

    def test_odd_texts_count(self, counter: TokenCounter) -> None:
        """Emoji, control characters and half a surrogate pair never stop a retain."""
        counts = counter.count(["🐕‍🦺", "\x00 nul", "\ud83d half"])
        assert all(count > 0 for count in counts)

    def test_it_has_a_name(self, counter: TokenCounter) -> None:
        """Doctor says how tokens are counted."""
        assert counter.name
