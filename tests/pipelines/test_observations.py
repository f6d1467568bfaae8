"""Observations of entities by a model: requested, checked, repaired or rejected, and updated when facts change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from observed_banks import (
    ALICE,
    LIGHT,
    OBSERVED,
    REAL,
    Asked,
    Opened,
    bank_opener,
    covered,
    grounds,
    ledger_of,
    observations,
    observed,
    said,
    tell,
    waiting,
)
from table import every_row

from hindsight_integrations import BankProfile, Hindsight, HindsightConfig, ModelUnavailable
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.units import FactType
from hindsight_integrations.prompts.repair import REPAIRS
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder


@pytest.fixture
def opened(opener: Callable[..., Hindsight]) -> Opened:
    """Opens a bank with a scripted model."""
    return bank_opener(opener)


def test_the_papers_example_of_alice(opened: Opened, tmp_path: Path) -> None:
    """Five facts become the earlier paper's three observations, each with the facts it is based on, on the real backends."""
    asked = Asked([said(*OBSERVED)])
    bank = opened(asked, REAL, tmp_path / "data")
    facts = tell(bank, *ALICE)
    assert observed(bank).stale
    settled = bank.tasks.settle()
    assert (settled.observed, settled.created, settled.failed) == (1, 3, {})
    assert grounds(bank) == {text: frozenset(facts[n - 1] for n in numbers) for text, numbers in OBSERVED}
    assert not observed(bank).stale
    assert covered(bank) == (set(facts), set())
    (shown,) = asked.shown
    assert [line for line in shown.splitlines() if line.startswith("[")] == [
        f"[{n}] (mentioned on {day}) {text}"
        for n, (day, text) in enumerate(
            zip(
                ["Tuesday, January 2, 2024", "Wednesday, January 3, 2024", "Thursday, January 4, 2024", "Friday, January 5, 2024", "Saturday, January 6, 2024"],
                ALICE,
                strict=True,
            ),
            1,
        )
    ]  # fmt: skip
    newest = observations(bank)[OBSERVED[0][0]]
    assert (newest.fact_type, newest.occurred, newest.sources) == (FactType.OBSERVATION, None, ())
    assert newest.mentioned_at == bank.get(facts[2]).mentioned_at
    assert newest.tokens > 0


ONCE = [
    ("second person", ("You are a software engineer at Google", [1, 2])),
    ("first person", ("I am a software engineer at Google", [1, 2])),
    ("900 characters", ("Alice is a software engineer at Google. " * 23, [1, 2])),
    ("a fact that does not exist", ("Alice works at Google", [17])),
    ("another's fact", ("Bruno owns a red kayak", [1])),
    ("another language", ("Alice arbeitet als Softwareentwicklerin bei der Firma Google", [1, 2])),
    ("an invented number", ("Alice joined Google in 2019", [4])),
    ("nothing", ("", [1])),
]


@every_row("spoiled", [one for _, one in ONCE], ids=[name for name, _ in ONCE])
def test_a_spoiled_answer_is_repaired(opened: Opened, spoiled: tuple[str, list[int]]) -> None:
    """The model gets the faults of each observation, and its next answer is stored."""
    asked = Asked([said(*OBSERVED[:2], spoiled), said(*OBSERVED)])
    bank = opened(asked)
    tell(bank, {"what": "Bruno owns a red kayak"}, entity="Bruno")
    tell(bank, *ALICE)
    bank.tasks.settle()
    assert len(asked.shown) == 2
    assert "observation 3: " in asked.shown[1]
    assert {text for text in observations(bank) if "Alice" in text} == {text for text, _ in OBSERVED}


@every_row("spoiled", [one for _, one in ONCE], ids=[name for name, _ in ONCE])
def test_what_stays_spoiled_is_refused_and_the_rest_kept(
    opened: Opened, spoiled: tuple[str, list[int]]
) -> None:
    """After failed repairs, valid observations are stored, invalid ones never, and their facts are listed as omitted."""
    asked = Asked([said(*OBSERVED[:2], spoiled)])
    bank = opened(asked)
    facts = tell(bank, *ALICE)
    assert bank.tasks.settle().failed == {}
    assert len(asked.shown) == 1 + REPAIRS
    assert set(observations(bank)) == {text for text, _ in OBSERVED[:2]}
    assert covered(bank) == (set(facts[:4]), {facts[4]})


@every_row(
    "answer",
    [
        said(),
        said(("I like Google", [1]), ("You work there", [2])),
        "no JSON at all",
        {"observations": "none"},
    ],
    ids=["a dropped list", "all spoiled", "no answer", "another shape"],
)
def test_nothing_sound_at_all_fails_the_task_and_stores_nothing(opened: Opened, answer: Any) -> None:
    """The previous observations stay, marked as stale; the task is tried again later, and then succeeds."""
    asked = Asked([said(*OBSERVED), *[answer] * (1 + REPAIRS), said(*OBSERVED[:2], (OBSERVED[2][0], [5, 6]))])
    bank = opened(asked)
    tell(bank, *ALICE)
    bank.tasks.settle()
    before = observations(bank)
    tell(bank, "Alice is methodical in her approach to ML")
    settled = bank.tasks.settle()
    assert next(iter(settled.failed.values())).startswith("MalformedOutput")
    assert settled.tokens_in > 0
    assert observations(bank) == before
    assert observed(bank).stale
    (task,) = waiting(bank)
    assert task.attempts == 1
    ledger_of(bank).tasks.make_due(bank.name, [TaskKind.OBSERVE])
    assert bank.tasks.settle().observed == 1
    assert not observed(bank).stale


def test_a_model_that_writes_nothing_sound_is_done_without_after_three_tries(
    opened: Opened, clock: FrozenClock
) -> None:
    """A small model's entity still gets observations: selected facts, and none of the model's text."""
    asked = Asked([said(("I like Google", [1]), ("You work there", [2]))])
    bank = opened(asked)
    tell(bank, *ALICE)
    for _ in range(2):
        assert bank.tasks.settle().failed
        assert not observations(bank)
        clock.advance(timedelta(hours=1))
    settled = bank.tasks.settle()
    assert (settled.observed, settled.failed) == (1, {})
    assert settled.tokens_in > 0
    assert set(observations(bank)) <= set(ALICE)
    assert len(asked.shown) == 3 * (1 + REPAIRS)
    assert not observed(bank).stale


def test_a_model_that_is_away_is_waited_for(opened: Opened) -> None:
    """No attempt is counted, nothing is stored, and no facts are selected instead."""
    asked = Asked([ModelUnavailable("scripted", "down")])
    bank = opened(asked)
    tell(bank, *ALICE)
    assert next(iter(bank.tasks.settle().failed.values())).startswith("ModelUnavailable")
    assert observations(bank) == {}
    (task,) = waiting(bank)
    assert task.attempts == 0


def test_an_embedder_that_fails_leaves_nothing_half_formed(opener: Callable[..., Hindsight]) -> None:
    """Neither units nor their grounds are written without vectors; the task waits."""

    class Failing(HashEmbedder):
        broken = False

        def embed_documents(self, texts: Any) -> Any:
            """As the parent, until it is broken."""
            if self.broken:
                raise ModelUnavailable("embedder", "gone")
            return super().embed_documents(texts)

    embedder = Failing()
    bank = opener(config=HindsightConfig(storage=LIGHT), embeddings=embedder).bank("team")
    tell(bank, *ALICE)
    embedder.broken = True
    assert bank.tasks.settle().observed == 0
    embedder.broken = False
    assert observations(bank) == {}
    assert observed(bank).units == ()


def test_two_facts_need_no_model(opened: Opened) -> None:
    """They are the observations themselves, unless the settings require more."""
    asked = Asked([said((ALICE[0], [1]), (ALICE[1], [2]))])
    bank = opened(asked)
    tell(bank, *ALICE[:2])
    bank.tasks.settle()
    assert (asked.shown, set(observations(bank))) == ([], set(ALICE[:2]))
    eager = opened(asked, fewest_facts=2)
    tell(eager, *ALICE[:2])
    eager.tasks.settle()
    assert len(asked.shown) == 1


def test_one_fact_is_its_own_observation(opened: Opened) -> None:
    """No model is called to summarise a single fact."""
    asked = Asked(["never asked"])
    bank = opened(asked)
    (fact,) = tell(bank, ALICE[0])
    assert bank.tasks.settle().observed == 1
    assert (asked.shown, grounds(bank)) == ([], {ALICE[0]: frozenset({fact})})


def test_of_superseded_facts_nothing_is_left(opened: Opened) -> None:
    """A withdrawn fact ends its observation at once, and the update finds nothing to summarise."""
    bank = opened(Asked(["never asked"]))
    tell(bank, "Alice lives in Paris near the canal")
    bank.tasks.settle()
    assert set(observations(bank)) == {"Alice lives in Paris near the canal"}
    tell(bank, {"what": "Nobody lives in Paris near the canal any more", "invalidates": ["Alice lives in Paris near the canal"]}, entity="Paris")  # fmt: skip
    assert "Alice lives in Paris near the canal" not in observations(bank)
    assert bank.tasks.settle().failed == {}
    assert (observed(bank).units, observed(bank).stale, waiting(bank)) == ((), False, [])


def test_a_superseded_fact_is_not_shown_to_the_model(opened: Opened) -> None:
    """Only valid facts are summarised."""
    answers = [
        said(*OBSERVED),
        said(("Alice works at Mozilla", [5]), *((text, [n]) for n, text in enumerate(ALICE[1:3], 1))),
    ]
    asked = Asked(answers)
    bank = opened(asked)
    tell(bank, *ALICE)
    bank.tasks.settle()
    tell(bank, {"what": "Alice works at Mozilla", "invalidates": ["Alice works at Google"]})
    bank.tasks.settle()
    assert "Alice works at Google" not in asked.shown[-1]
    assert "Alice works at Mozilla" in observations(bank)


def test_the_same_again_is_the_same_rows(opened: Opened) -> None:
    """Made again from the same facts in the same words, an observation keeps its id; the others are replaced."""
    bank = opened(Asked([said(*OBSERVED), said(*OBSERVED[1:], ("Alice rows on the lake on Sundays", [6]))]))
    tell(bank, *ALICE)
    bank.tasks.settle()
    before = observations(bank)
    tell(bank, "Alice rows on the lake on Sundays")
    assert bank.tasks.settle().created == 1
    after = observations(bank)
    assert OBSERVED[0][0] not in after
    assert all(after[text].id == before[text].id for text, _ in OBSERVED[1:])


def test_facts_of_different_tags_are_never_mixed(opened: Opened) -> None:
    """A summary contains nothing of a fact that its reader may not see, and the model is never shown both."""

    def by_group() -> Any:
        shown = asked.shown[-1]
        text = next(one for one in (*ALICE, "Alice is treated for asthma") if one in shown)
        return said((text, [1]))

    asked = Asked([by_group])
    bank = opened(asked, fewest_facts=2)
    tell(bank, *ALICE[:2], tags=["work"])
    tell(bank, "Alice is treated for asthma", "Alice takes asthma spray daily", tags=["private"])
    bank.tasks.settle()
    assert {tuple(unit.tags) for unit in observations(bank).values()} == {("work",), ("private",)}
    assert len(asked.shown) == 2
    assert not any("Google" in shown and "asthma" in shown for shown in asked.shown)
    assert all(unit.tags == bank.get(fact).tags for text, unit in observations(bank).items() for fact in grounds(bank)[text])  # fmt: skip


def test_who_the_agent_is_changes_nothing(opened: Opened) -> None:
    """The prompt is the same to the byte whatever the profile is, because observations are neutral."""
    seen = set()
    for profile in (
        BankProfile(),
        BankProfile(name="Marvin", background="I distrust everybody.", bias_strength=1.0),
    ):
        asked = Asked([said(*OBSERVED)])
        bank = opened(asked)
        bank.profile.set(profile)
        tell(bank, *ALICE)
        bank.tasks.settle()
        seen.add((asked.systems[0], asked.shown[0]))
    assert len(seen) == 1
    assert "Marvin" not in str(seen)


def test_the_system_message_is_one_prefix_for_all(opened: Opened) -> None:
    """Services can cache it: it contains no name, fact or number of the entity."""
    asked = Asked([said()])
    bank = opened(asked, fewest_facts=2)
    tell(bank, *ALICE)
    tell(bank, "Bruno owns a red kayak", "Bruno rows at dawn", entity="Bruno")
    bank.tasks.settle()
    assert len(asked.systems) == 2 * (1 + REPAIRS)
    assert len(set(asked.systems)) == 1
    assert "Alice" not in asked.systems[0]


def test_a_fact_edited_while_the_model_writes_is_read_again(opened: Opened) -> None:
    """The answer from before the edit is not stored; the model is called again with the fact's new text."""

    def first() -> Any:
        bank.edit(facts[3], text="Alice joined Google in 2021")
        return said(*OBSERVED)

    asked = Asked([first, said(OBSERVED[0], ("Alice joined Google in 2021", [4]), OBSERVED[2])])
    bank = opened(asked)
    facts = tell(bank, *ALICE)
    settled: Settled = bank.tasks.settle()
    assert settled.failed == {}
    assert "2023" not in str(list(observations(bank)))
    assert "Alice joined Google in 2021" in observations(bank)
    assert "joined Google in 2021" in asked.shown[-1]


def test_a_fact_forgotten_while_the_model_writes_does_not_come_back(opened: Opened) -> None:
    """An erasure revokes the task: its answer is dropped, and the next summary is made without the fact."""

    def first() -> Any:
        bank.forget(unit=facts[3])
        return said(*OBSERVED)

    asked = Asked([first, said(OBSERVED[0], (OBSERVED[2][0], [4]))])
    bank = opened(asked)
    facts = tell(bank, *ALICE)
    bank.tasks.settle()
    bank.tasks.settle()
    assert "2023" not in str(list(observations(bank)))
    assert len(observations(bank)) == 2
    assert "2023" not in asked.shown[-1]


def test_forgetting_a_fact_leaves_nothing_of_it(opened: Opened, tmp_path: Path) -> None:
    """Neither observations, tasks, prompts nor files contain it."""
    kept = "Alice keeps the code zyxquorl in a drawer"
    asked = Asked([said(*OBSERVED, (kept, [6])), said(*OBSERVED)])
    bank = opened(asked, REAL, tmp_path / "data")
    *_, fact = tell(bank, *ALICE, kept)
    bank.tasks.settle()
    assert kept in observations(bank)
    bank.forget(unit=fact)
    assert kept not in observations(bank)
    bank.tasks.settle()
    assert set(observations(bank)) == {text for text, _ in OBSERVED}
    assert "zyxquorl" not in asked.shown[-1]
    assert not any("zyxquorl" in task.payload + task.reason for task in bank.tasks.list())
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert [path for path in files if b"zyxquorl" in path.read_bytes()] == []


def test_retained_observations_are_left_alone(opened: Opened) -> None:
    """A caller's observations are neither shown to the model nor removed with the generated ones."""
    given = "Alice was introduced to the team as the lead"
    asked = Asked([said(*OBSERVED)])
    bank = opened(asked)
    tell(bank, {"what": given, "fact_type": "observation"}, *ALICE)
    bank.tasks.settle()
    tell(bank, "Alice is methodical in her approach to ML")
    bank.tasks.settle()
    assert given in observations(bank)
    assert given not in "".join(asked.shown)
