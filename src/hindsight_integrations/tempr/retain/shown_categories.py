"""The categories of records shown to the model with a passage, so that one thing has one name (decision 113). Reads the bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.text.vocabulary.known_categories import categories_to_show

CATEGORY_TOKENS = 300  # of categories with one passage: about a hundred names


def with_categories(
    passages: Sequence[Passage], view: BankView, tokens: TokenCounter, *, tags: tuple[str, ...]
) -> list[Passage]:
    """Each passage with names in use for the records of each kind, within a budget of tokens.

    Tags are borders of sight: a retain that has some is shown the categories of the memories shown to it, and no others.

    Args:
        passages: with the memories shown.
        view: the bank.
        tokens: counts what names cost.
        tags: of the retain.
    """
    known = view.ledger.categories(view.bank)
    shown = []
    for passage in passages:
        seen = {(r.kind, r.category) for unit in passage.memories for r in unit.records}
        fit = [one for one in known if not tags or (one.kind, one.name) in seen]
        text = "\n".join(message.text for message in passage.messages)
        names = categories_to_show(fit, text, limit=CATEGORY_TOKENS, count=tokens.count)
        shown.append(replace(passage, categories=names))
    return shown
