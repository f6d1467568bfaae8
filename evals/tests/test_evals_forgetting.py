"""The forgetting cases: sixty in ten families, each decidable by the texts alone."""

from __future__ import annotations

from collections import Counter

import pytest
from table import every_row

from hindsight_evals.episode import Episode
from hindsight_evals.forgetting.cases import (
    ForgettingFamily,
    Form,
    Mutation,
    forgetting_cases,
    forgetting_episodes,
)
from hindsight_evals.memory_system import Context, ServedText
from hindsight_evals.metrics.context_fama import context_fama
from hindsight_evals.metrics.stating import says


def context(episode: Episode, *, without: frozenset[str] = frozenset()) -> Context:
    texts = (text for session in episode.sessions for text in session.texts if not text.sources & without)
    return Context(tuple(ServedText(text.text, text.sources, 5) for text in texts))


def test_there_are_six_cases_of_each_of_ten_families() -> None:
    """A third of them held out, all three mutations among them."""
    cases = forgetting_cases()
    assert Counter(case.family for case in cases) == dict.fromkeys(ForgettingFamily, 6)
    assert Counter(case.held_out for case in cases) == {False: 40, True: 20}
    assert {case.mutation for case in cases} == set(Mutation)
    assert len({case.id for case in cases}) == len(cases)
    assert len(list(forgetting_episodes(Form.PLAIN, held_out=True))) == 20
    assert len(list(forgetting_episodes(Form.PLAIN))) == 60


@every_row("episode", tuple(forgetting_episodes(Form.EXTRACTED)), ids=lambda episode: episode.name)
def test_the_right_texts_pass_and_all_texts_do_not(episode: Episode) -> None:
    """Each item is stated by its session's text; serving everything leaks; omitting withdrawn items passes."""
    [question] = episode.questions
    said = {
        source: text.text for session in episode.sessions for text in session.texts for source in text.sources
    }
    for item in question.items:
        assert all(says(said[source], item.text) for source in item.sources), item.text
    everything = context_fama(context(episode), question.items)
    assert everything is not None
    assert everything.mpa == 1
    assert everything.faa == 0
    gone = frozenset(source for item in question.items if not item.valid for source in item.sources)
    right = context_fama(context(episode, without=gone), question.items)
    assert right is not None
    assert right.faa == 1
    assert (right.mpa == 1) is not _also_holds(episode, gone)


def _also_holds(episode: Episode, gone: frozenset[str]) -> bool:
    """Whether the valid items are stated only by sessions that also state withdrawn ones."""
    return any(item.valid and item.sources <= gone for item in episode.questions[0].items)


@pytest.mark.parametrize("form", Form)
def test_who_is_told_the_deletions_is_told_each_once(form: Form) -> None:
    """By the session that withdraws, with the turn that had stated it; the same in both forms."""
    for episode in forgetting_episodes(form):
        gone = {(item.text, item.sources) for item in episode.questions[0].items if not item.valid}
        told = [(w.text, w.sources) for session in episode.sessions for w in session.withdrawals]
        assert sorted(told, key=str) == sorted(gone, key=str)
        assert all((session.facts is None) is (form is Form.PLAIN) for session in episode.sessions)
