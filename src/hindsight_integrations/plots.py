"""Plots of results and banks, drawn with matplotlib (`pip install "hindsight-integrations[plots]"`).

    from hindsight_integrations import plots

    plots.channels(bank.recall("Where does Ana live?"))

Each function draws into `ax` or a new figure and returns the Axes. At most 30 memories are drawn; the title gives the
total. Banks must be sync: wrap an async bank with `MemoryBank.over(bank)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hindsight_integrations.errors import InvalidRequest, MissingDependency, shown
from hindsight_integrations.model.display import one_line
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.opinions import Assessment, OpinionHistory
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.validation.limits import checked_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_UNITS = 30
"""Maximum memories per plot, to keep it readable."""
MOST_ENTITIES = 1_000
"""Maximum entities that `memory_graph` reads, the most mentioned first."""

_WIDTH = 8.5  # width of a new figure in inches
_LABEL = 44  # maximum length of a memory beside an axis, in characters
_LEGEND_LINE = 90  # maximum length of a memory in a legend, in characters
_ARC = 0.9  # distance between neighbours on a ring; rings are at least 1 apart
_NAMES_APART = 0.33  # spacing of names on a ring in radians; names need more room than the memories' numbers
_NETWORKS = {
    FactType.WORLD: "tab:blue",
    FactType.EXPERIENCE: "tab:green",
    FactType.OPINION: "tab:orange",
    FactType.OBSERVATION: "tab:purple",
}
_MARKERS = {Assessment.REINFORCE: "^", Assessment.WEAKEN: "v", Assessment.CONTRADICT: "X"}


def memory_graph(bank: MemoryBank, around: str, *, hops: int = 1, ax: Axes | None = None) -> Axes:
    """Draw an entity, the memories that mention it, and the other entities in these memories.

    Memories are numbered circles, with their texts below the plot. The user, the agent and speakers are omitted, because
    they are part of every memory, unless one of them is the centre. Only valid memories are drawn. Reads the memories of
    up to 1,000 entities, which takes seconds for a bank of 10,000 memories.

    Args:
        bank: a sync bank.
        around: name or id of the central entity.
        hops: number of steps from an entity through its memories to further entities; 1 to 3.
        ax: where to draw; None creates a figure.

    Raises:
        InvalidRequest: the entity is unknown or its name ambiguous, or `hops` is out of range.
        MissingDependency: matplotlib is not installed.
    """
    if not isinstance(bank, MemoryBank):
        raise InvalidRequest("bank", f"{shown(bank)} is not a MemoryBank", "Pass MemoryBank.over(bank).")
    graph = _neighbourhood(bank, around, checked_count(hops, "hops", most=3))
    axes = _axes(ax, 3.5 + hops + 0.17 * len(graph.units))  # one line of the legend per memory
    for one, other in graph.edges:
        xs, ys = zip(graph.places[one], graph.places[other], strict=True)
        axes.plot(xs, ys, color="lightgray", linewidth=1, zorder=1)
    for number, unit in enumerate(graph.units.values(), start=1):
        spot = graph.places[unit.id]
        axes.scatter(*spot, s=240, color=_NETWORKS[unit.fact_type], zorder=2)
        axes.annotate(
            str(number), spot, ha="center", va="center", fontsize=9, color="white", weight="bold", zorder=3
        )
    for key, name in graph.names.items():
        box = {"boxstyle": "round", "facecolor": "moccasin" if key == graph.middle else "whitesmoke"}
        spot = graph.places[key]
        axes.annotate(_label(name, 24), spot, ha="center", va="center", fontsize=9, bbox=box, zorder=4)
    texts = [
        f"{number}  {_label(unit.text, _LEGEND_LINE)}"
        for number, unit in enumerate(graph.units.values(), start=1)
    ]
    axes.text(0, -0.02, "\n".join(texts), transform=axes.transAxes, va="top", fontsize=9)
    axes.set_title(_title(f"Memories around {graph.names[graph.middle]}", len(graph.units), graph.of))
    axes.set_aspect("equal")
    axes.margins(0.15)
    axes.axis("off")
    return axes


def timeline(units: Iterable[MemoryUnit | RecalledUnit], *, ax: Axes | None = None) -> Axes:
    """Draw when memories happened, oldest at the top.

    A bar is the event's time, a hollow circle the time of mention of a memory without an event time, and a cross the end
    of a memory's validity. Colours are fact types.

    Args:
        units: memories, a `UnitPage` or a `RecallResult`; the first 30 are drawn.
        ax: where to draw; None creates a figure.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    everything = [each.unit if isinstance(each, RecalledUnit) else each for each in units]
    drawn = sorted(everything[:MOST_UNITS], key=lambda unit: (unit.began, unit.id))
    axes = _axes(ax, _height(len(drawn)))
    for row, unit in enumerate(drawn):
        color = _NETWORKS[unit.fact_type]
        if unit.occurred:
            span = [_x(unit.occurred.start), _x(unit.occurred.end)]
            axes.plot(span, [row, row], color=color, linewidth=7, solid_capstyle="butt")
            axes.plot(span[0], row, "o", color=color)
        else:
            axes.plot(_x(unit.mentioned_at), row, "o", color=color, fillstyle="none")
        if unit.closed_at:
            axes.plot([_x(unit.began), _x(unit.closed_at)], [row, row], color=color, linestyle=":")
            axes.plot(_x(unit.closed_at), row, "x", color=color)
    _label_rows(axes, [unit.text for unit in drawn])
    networks = dict.fromkeys(unit.fact_type for unit in drawn)
    if len(networks) > 1:
        for network in networks:
            axes.plot([], [], "s", color=_NETWORKS[network], label=network.value)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    _dates(axes)
    axes.set_title(_title("When it happened", len(drawn), len(everything)))
    return axes


def confidence(history: OpinionHistory, *, ax: Axes | None = None) -> Axes:
    """Draw an opinion's confidence over conversation time, from its formation on.

    Upward triangles are facts that reinforce it, downward triangles weaken it, crosses contradict it; a dotted line is a
    new wording. Facts that do not count are omitted. Several opinions can share `ax`.

    Args:
        history: the result of `bank.opinions.history`.
        ax: where to draw; None creates a figure.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    axes = _axes(ax, 3.2)
    steps = [entry for entry in history.entries if entry.counts and entry.before != entry.after]
    moments = [history.log.formed_at, *(step.evidence.effective_at for step in steps)]
    values = [history.log.confidence, *(step.after for step in steps)]
    margin = max((moments[-1] - moments[0]) / 10, timedelta(hours=1))
    wording = history.log.versions[-1].text
    (line,) = axes.step(
        [*map(_x, moments), _x(moments[-1] + margin)],
        [*values, values[-1]],
        where="post",
        linewidth=2,
        label=f"{history.confidence:.2f}  {_label(wording, _LEGEND_LINE)}",
    )
    color = line.get_color()
    axes.plot(_x(moments[0]), values[0], "o", color=color)
    for step, moment, value in zip(steps, moments[1:], values[1:], strict=True):
        axes.plot(_x(moment), value, _MARKERS.get(step.evidence.assessment, "o"), color=color, markersize=9)
    for version in history.log.versions[1:]:
        axes.axvline(_x(version.since), color=color, linestyle=":")
        place = (_x(version.since), 0.03)
        axes.annotate("reworded", place, xytext=(4, 0), textcoords="offset points", color=color, fontsize=9)
    axes.set(ylim=(0, 1.05), ylabel="confidence")
    _dates(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), frameon=False)
    return axes


def channels(result: RecallResult, *, ax: Axes | None = None) -> Axes:
    """Draw each recalled memory's rank in the channels that found it, best memory first.

    A memory that no channel found is labelled with the reason why it was included.

    Args:
        result: the result of `bank.recall`; the first 30 memories are drawn.
        ax: where to draw; None creates a figure.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    drawn = result[:MOST_UNITS]
    axes = _axes(ax, _height(len(drawn)))
    for row, unit in enumerate(drawn):
        for column, channel in enumerate(Channel):
            if hit := unit.channels.get(channel):
                strength = max(0.2, 1 / hit.rank**0.5)
                axes.scatter(column, row, s=420, color="tab:blue", alpha=strength)
                color = "white" if strength > 0.6 else "black"
                axes.annotate(str(hit.rank), (column, row), ha="center", va="center", color=color, fontsize=9)
        if not unit.channels:
            axes.annotate(unit.ranks, (1.5, row), ha="center", va="center", fontsize=9)
    _label_rows(axes, [unit.text for unit in drawn])
    axes.set_xticks(range(len(Channel)), [channel.value for channel in Channel])
    axes.set_xlim(-0.5, len(Channel) - 0.5)
    axes.set_title(_title("Rank of each memory in each channel", len(drawn), len(result)))
    return axes


@dataclass(frozen=True, slots=True)
class _Graph:
    """Entities and memories, in order of their distance from the centre.

    Attributes:
        middle: id of the central entity.
        names: entity names by id.
        units: memories by id.
        of: number of memories, including those not drawn.
        edges: (entity id, unit id) pairs.
        places: (x, y) by id.
    """

    middle: str
    names: Mapping[str, str]
    units: Mapping[str, MemoryUnit]
    of: int
    edges: Sequence[tuple[str, str]]
    places: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _neighbourhood(bank: MemoryBank, around: str, hops: int) -> _Graph:
    """Return the memories and entities within `hops` links of an entity, with their positions in the plot."""
    middle_units = list(bank.iterate_units(entity=around))
    entities = bank.entities.list(limit=MOST_ENTITIES)
    middle = _entity_named(around, entities)
    units_of = {
        entity.id: list(bank.iterate_units(entity=entity.id))
        for entity in entities
        if entity.role is EntityRole.NONE and entity.id != middle.id
    } | {middle.id: middle_units}
    names = {entity.id: entity.name for entity in (middle, *entities)}
    entities_of: dict[str, list[str]] = {}
    for entity_id, units in units_of.items():
        for unit in units:
            entities_of.setdefault(unit.id, []).append(entity_id)

    rings: list[list[str]] = [[middle.id]]
    near: dict[str, MemoryUnit] = {}
    drawn: dict[str, MemoryUnit] = {}
    reached = {middle.id}
    for _ in range(hops):
        new = {unit.id: unit for entity in rings[-1] for unit in units_of[entity] if unit.id not in near}
        near |= new
        newest = sorted(new.values(), key=lambda unit: (unit.began, unit.id))[-(MOST_UNITS - len(drawn)) :]
        chosen = {unit.id: unit for unit in newest} if len(drawn) < MOST_UNITS else {}
        drawn |= chosen
        met = dict.fromkeys(entity for unit in chosen for entity in entities_of[unit])
        rings += [list(chosen), [entity for entity in met if entity not in reached]]
        reached |= met.keys()
    edges = [(entity, unit) for unit in drawn for entity in entities_of[unit] if entity in reached]
    drawn_names = {entity: names[entity] for ring in rings[::2] for entity in ring}
    return _Graph(middle.id, drawn_names, drawn, len(near), edges, _on_rings(rings, edges))


def _entity_named(around: str, entities: Sequence[Entity]) -> Entity:
    """Return the named entity, which exists but may be missing from the list."""
    name = normalise_name(around)
    return next(
        (entity for entity in entities if around == entity.id or name in entity.names),
        Entity(around, around, type=entities[0].type),
    )


def _on_rings(
    rings: Sequence[Sequence[str]], edges: Iterable[tuple[str, str]]
) -> dict[str, tuple[float, float]]:
    """Place nodes on rings around (0, 0), each as near as possible to its neighbours on the previous ring."""
    linked: dict[str, list[str]] = {}
    for one, other in edges:
        linked.setdefault(one, []).append(other)
        linked.setdefault(other, []).append(one)
    angles: dict[str, float] = dict.fromkeys(rings[0], 0.0)
    places = dict.fromkeys(rings[0], (0.0, 0.0))
    radius = 0.0
    for number, ring in enumerate(rings[1:]):
        of_names = number % 2 == 1
        radius = max(radius + max(1, 0.4 * radius), 0 if of_names else _ARC * len(ring) / math.tau)
        if number == 0:
            wanted = {key: math.tau * place / len(ring) for place, key in enumerate(ring)}
        else:
            wanted = {
                key: _mean_angle([angles[other] for other in linked[key] if other in angles]) for key in ring
            }
        spread = _spread(wanted, max(_ARC / radius, _NAMES_APART if of_names else 0))
        angles |= spread
        places |= {key: (radius * math.cos(angle), radius * math.sin(angle)) for key, angle in spread.items()}
    return places


def _mean_angle(angles: Sequence[float]) -> float:
    return math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles)))


def _spread(wanted: Mapping[str, float], gap: float) -> dict[str, float]:
    """Spread angles, keeping their order, so that neighbours are at least `gap` apart if the circle has room."""
    keys = sorted(wanted, key=lambda key: wanted[key] % math.tau)
    angles = [wanted[key] % math.tau for key in keys]
    least = min(gap, math.tau / max(1, len(keys)))
    for _ in range(200):
        for place in range(len(angles)):
            after = (place + 1) % len(angles)
            between = (angles[after] - angles[place]) + (math.tau if after <= place else 0)
            if after != place and between < least:
                angles[place] -= (least - between) / 2
                angles[after] += (least - between) / 2
    return dict(zip(keys, angles, strict=True))


def _axes(ax: Axes | None, height: float) -> Axes:
    """Return the caller's axes, or those of a new figure.

    Raises:
        MissingDependency: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        remedy = 'Run: pip install "hindsight-integrations[plots]"'
        raise MissingDependency(error.name or "matplotlib", remedy) from error
    return plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]


def _height(rows: int) -> float:
    return 1.2 + 0.35 * max(2, rows)


def _label_rows(axes: Axes, texts: Sequence[str]) -> None:
    """Label one row per text, from the top."""
    axes.set_yticks(range(len(texts)), [_label(text, _LABEL) for text in texts])
    axes.set_ylim(max(1, len(texts)) - 0.4, -0.6)


def _x(moment: datetime) -> Any:  # noqa: ANN401 - matplotlib accepts datetimes, but its stubs only numbers
    return moment


def _dates(axes: Axes) -> None:
    """Format the x axis with concise dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _label(text: str, most: int) -> str:
    """Shorten a text to one line, and escape dollar signs, which matplotlib reads as formulas."""
    return one_line(text, most).replace("$", r"\$")


def _title(text: str, drawn: int, of: int) -> str:
    return _label(text if drawn == of else f"{text} ({drawn} of {of:,} memories)", _LEGEND_LINE)
