"""Plots of results and banks: their content, in the caller's axes or a new figure."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from builders import at, make_unit
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from table import every_row

from hindsight_integrations import (
    Assessment,
    Channel,
    Evidence,
    Hindsight,
    Interval,
    InvalidRequest,
    MemoryBank,
    MissingDependency,
    OpinionHistory,
    RecalledUnit,
    RecallResult,
    UnitPage,
    plots,
)
from hindsight_integrations.model.opinions import (
    EvidenceEntry,
    EvidenceStrength,
    OpinionLog,
    OpinionOrigin,
    OpinionVersion,
    UpdateRule,
)
from hindsight_integrations.model.recalled import RecallReason
from hindsight_integrations.model.trace import ChannelHit

FACTS = [
    ("Ana moved to Lisbon.", ["Ana", "Lisbon"]),
    ("Ana rows with Rui.", ["Ana", "Rui"]),
    ("Rui sold his boat to Marten for $500 or $20.", ["Rui", "Marten"]),
    ("Marten lives in Porto.", ["Marten", "Porto"]),
]


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Four memories, each with two entities, in a chain from Lisbon to Porto."""
    bank = light.bank("alice")
    for number, (what, entities) in enumerate(FACTS):
        message = {"role": "user", "name": "Alice", "content": what, "id": f"m{number}"}
        fact = {"what": what, "sources": [message["id"]], "entities": entities}
        bank.retain([message], facts=[fact], timestamp=f"2025-03-0{number + 1}")
    return bank


def texts(axes: Axes) -> list[str]:
    """All texts in a plot, including axis labels; the plot is drawn first, which parses formulas."""
    axes.figure.canvas.draw()
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()] if axes.axison else []
    labels = [*axes.texts, axes.title, *ticks]
    return [label.get_text() for label in labels]


def history() -> OpinionHistory:
    def entry(number: int, assessment: Assessment, before: float, after: float) -> EvidenceEntry:
        row = Evidence(
            unit_id=f"fact{number}",
            sources=("ada",),
            assessment=assessment,
            strength=EvidenceStrength.STRONG,
            rule=UpdateRule.ADDITIVE,
            step=0.15,
            reason="",
            version="opinion",
            effective_at=at(24 * number),
            recorded_at=at(24 * number),
            revision=number,
        )
        return EvidenceEntry(row, before != after, before, after)

    wordings = (
        OpinionVersion("opinion", "I like plums.", at(0), "", (), 1),
        OpinionVersion("second", "I like ripe plums.", at(48), "", (), 2),
    )
    log = OpinionLog("opinion", 0.7, at(0), at(0), 1, OpinionOrigin.REFLECT, "", 0, "", (), (), wordings)
    entries = (
        entry(1, Assessment.REINFORCE, 0.7, 0.85),
        entry(2, Assessment.CONTRADICT, 0.85, 0.55),
        entry(3, Assessment.REINFORCE, 0.55, 0.55),
    )
    return OpinionHistory(log, entries, 0.55)


@every_row(
    ("hops", "numbers", "names"),
    [
        (1, ["1", "2"], {"Ana", "Lisbon", "Rui"}),
        (2, ["1", "2", "3"], {"Ana", "Lisbon", "Rui", "Marten"}),
        (3, ["1", "2", "3", "4"], {"Ana", "Lisbon", "Rui", "Marten", "Porto"}),
    ],
)
def test_a_memory_graph_goes_as_far_as_it_is_told(
    bank: MemoryBank, hops: int, numbers: list[str], names: set[str]
) -> None:
    """One hop leads over memories to the entities they mention; the speaker, who is part of every memory, is left out."""
    written = texts(plots.memory_graph(bank, "ana", hops=hops))
    assert [text for text in written if text.isdecimal()] == numbers
    assert names <= set(written)
    assert not {"Alice", "Marten", "Porto"} - names & set(written)
    assert any("1  Ana moved to Lisbon." in text for text in written)


def test_a_graph_around_the_speaker_is_drawn_when_asked_for(bank: MemoryBank) -> None:
    bank.retain([{"role": "user", "name": "Alice", "content": "I like Rui."}])
    assert "Alice" not in texts(plots.memory_graph(bank, "Rui"))
    assert {"Memories around Alice", "Alice", "Rui"} <= set(texts(plots.memory_graph(bank, "Alice")))


def test_a_graph_shows_the_newest_thirty_memories_and_says_so(light: Hindsight) -> None:
    bank = light.bank("alice")
    messages = [{"role": "user", "content": f"Ana counts to {n}.", "id": f"m{n}"} for n in range(40)]
    facts = [{"what": m["content"], "sources": [m["id"]], "entities": ["Ana"]} for m in messages]
    bank.retain(messages, facts=facts, timestamp="2025-03-01")
    written = texts(plots.memory_graph(bank, "Ana", hops=2))
    assert "Memories around Ana (30 of 40 memories)" in written
    assert [int(text) for text in written if text.isdecimal()] == list(range(1, 31))
    (legend,) = [text for text in written if "\n" in text]
    assert "counts to 39." in legend
    assert "counts to 9." not in legend


@every_row(
    ("around", "options", "message"),
    [
        ("Nobody", {}, "'Nobody' is not known"),
        ("Ana", {"hops": 0}, "hops: 0 is not a whole number from 1 to 3"),
    ],
)
def test_a_graph_that_cannot_be_drawn_says_why(
    bank: MemoryBank, around: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        plots.memory_graph(bank, around, **options)


def test_an_async_bank_is_told_how_to_be_drawn(bank: MemoryBank) -> None:
    given: Any = bank.asynchronous
    with pytest.raises(InvalidRequest, match=r"Pass MemoryBank\.over\(bank\)"):
        plots.memory_graph(given, "Ana")
    assert plots.memory_graph(MemoryBank.over(bank.asynchronous), "Ana")


def test_a_timeline_lists_memories_oldest_first(bank: MemoryBank) -> None:
    """It accepts the results of lists and recalls; dollar signs are printed."""
    written = texts(plots.timeline(bank.units()))
    assert [text.replace(r"\$", "$") for text in written if text in written[-4:]] == [w for w, _ in FACTS]
    assert "Ana rows with Rui." in texts(plots.timeline(bank.recall("Rui")))


def test_a_timeline_tells_bars_mentions_and_endings_apart() -> None:
    may = Interval(datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC))
    units = (replace(make_unit("a"), occurred=may), replace(make_unit("b"), closed_at=at(48)))
    markers = [line.get_marker() for line in plots.timeline(UnitPage(units, 2)).lines]
    assert markers == [
        "o",
        "None",
        "x",
        "None",
        "o",
    ]  # b: mentioned, its time, ended; a: its time, its beginning


def test_a_confidence_plot_steps_at_each_fact_that_counts() -> None:
    """Formed at 0.70, up to 0.85, down to 0.55; facts that do not count change nothing; a rewording is marked."""
    axes = plots.confidence(history())
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [0.7, 0.85, 0.55, 0.55]
    assert [line.get_marker() for line in axes.lines[1:4]] == ["o", "^", "X"]
    assert "reworded" in texts(axes)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["0.55  I like ripe plums."]


def test_several_opinions_share_axes() -> None:
    axes = plots.confidence(history())
    assert plots.confidence(history(), ax=axes) is axes
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2


def test_a_channel_plot_shows_the_rank_in_each_channel_or_the_reason() -> None:
    hits = {Channel.SEMANTIC: ChannelHit(1, 0.9), Channel.GRAPH: ChannelHit(3, 0.4)}
    units = (
        RecalledUnit(make_unit("a", "Rui owes me $5 and $7."), 0.5, hits),
        RecalledUnit(make_unit("b"), 0.1, reason=RecallReason.CORE),
    )
    written = texts(plots.channels(RecallResult(units, 5)))
    assert written[:3] == ["1", "3", "core memory"]
    assert {"semantic", "keyword", "graph", "temporal"} <= set(written)
    assert r"Rui owes me \$5 and \$7." in written


EMPTY: list[Callable[..., Axes]] = [
    lambda **options: plots.channels(RecallResult((), 0), **options),
    lambda **options: plots.timeline([], **options),
    lambda **options: plots.confidence(history(), **options),
]


@every_row("draw", EMPTY)
def test_every_plot_draws_into_the_axes_it_is_given(draw: Callable[..., Axes]) -> None:
    """This includes results without memories; no other figure is opened."""
    _, axes = plt.subplots()
    open_figures = plt.get_fignums()
    assert draw(ax=axes) is axes
    texts(axes)
    assert plt.get_fignums() == open_figures


@every_row("draw", EMPTY)
def test_without_matplotlib_the_error_says_what_to_install(draw: Callable[..., Axes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingDependency, match=r'pip install "hindsight-integrations\[plots\]"'):
            draw()


def test_importing_the_plots_does_not_import_matplotlib() -> None:
    """A program without plots does not load it."""
    script = "import sys; from hindsight_integrations import plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_example_of_a_notebook_in_the_readme_runs(bank: MemoryBank) -> None:
    """It draws its plots; pandas is replaced here."""
    readme = (Path(__file__).resolve().parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (code,) = [block for block in blocks if "import plots" in block]
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined] # as far as it is used
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pandas", pandas)
        exec(code, {"bank": bank})  # noqa: S102 - the README's own
    assert len(plt.get_fignums()) == 3
