"""Directives: rules set by the operator of a bank, in both APIs."""

from __future__ import annotations

import asyncio

import pytest
from builders import at

from hindsight_integrations import Directive, Hindsight, InvalidRequest
from hindsight_integrations.model.mental_models import in_force


def test_rules_are_given_listed_and_removed(light: Hindsight) -> None:
    """In either API, in the order in which they were added; a repeated rule is stored once, and rules are not memories."""
    bank = light.bank("alice")
    brief = bank.directives.add("Answer in one sentence.")
    face = bank.asynchronous.directives

    async def on_the_other_face() -> Directive:
        """The same method, awaited."""
        return await face.add("Never name prices.", tags=["shop", "b", "shop"])

    kind = asyncio.run(on_the_other_face())
    assert bank.directives.add(" Answer in one sentence.\n") == brief
    assert kind.tags == ("b", "shop")
    assert bank.directives.list() == (brief, kind) == asyncio.run(face.list())
    bank.directives.remove(brief.id)
    assert bank.directives.list() == (kind,)
    assert bank.count() == 0


def test_what_is_no_rule_is_refused(light: Hindsight) -> None:
    """Each error names a remedy, and nothing is stored."""
    bank = light.bank("alice")
    for text, reason in ((" ", "it is empty"), ("x" * 1_001, "over the limit of 1,000")):
        with pytest.raises(InvalidRequest, match=reason):
            bank.directives.add(text)
    with pytest.raises(InvalidRequest, match=r"Pass an id from directives\.list\(\)"):
        bank.directives.remove("nonsense")
    for number in range(50):
        bank.directives.add(f"Rule {number}.")
    with pytest.raises(InvalidRequest, match=r"which is the maximum\. Remove some first"):
        bank.directives.add("One more.")
    assert len(bank.directives.list()) == 50


def test_a_tagged_rule_holds_for_its_tags() -> None:
    """A rule without tags applies to all questions."""
    rules = [
        Directive(name, name, tags, at(0)) for name, tags in (("all", ()), ("a", ("a",)), ("ab", ("a", "b")))
    ]
    held = {tags: [rule.id for rule in in_force(rules, tags)] for tags in ((), ("a",), ("b", "c"), ("c",))}
    assert held == {(): ["all"], ("a",): ["all", "a", "ab"], ("b", "c"): ["all", "ab"], ("c",): ["all"]}
