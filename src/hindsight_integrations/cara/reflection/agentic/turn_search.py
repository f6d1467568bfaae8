"""search_turns: what was said with exactly these words."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import NOTHING
from hindsight_integrations.cara.reflection.agentic.tool import (
    Bench,
    Dated,
    MemoryTool,
    ToolProblem,
    ToolResult,
)
from hindsight_integrations.prompts.reflect_tools import turn_line

MOST_TURNS = 20  # of one search
FEWEST_LETTERS = 2  # a single letter is in nearly every turn


class SearchTurnsArguments(Dated):
    """The words, and of which time."""

    words: str = Field(min_length=1, max_length=200)


async def search_turns(given: SearchTurnsArguments, bench: Bench) -> ToolResult:
    """Turns that have these words one after the other, oldest first."""
    if sum(letter.isalnum() for letter in given.words) < FEWEST_LETTERS:
        raise ToolProblem("words is too short. Give a word or some words of what was said.")
    found = await bench.reads.turns_saying(given.words, period=given.period, limit=MOST_TURNS + 1)
    kept = found[:MOST_TURNS]
    lines = tuple(turn_line(bench.numbers.turn(each.turn, each.units), each.turn) for each in kept)
    note = "There are more; use more words or fewer days." if len(found) > MOST_TURNS else ""
    return ToolResult(
        lines,
        tuple(dict.fromkeys(item.unit.id for each in kept for item in each.units)),
        note if found else NOTHING,
    )


SEARCH_TURNS = MemoryTool("search_turns", SearchTurnsArguments, search_turns)
