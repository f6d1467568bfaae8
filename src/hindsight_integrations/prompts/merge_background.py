"""The prompt that merges a snippet into a background, and its answer schema.

h' = Merge(h, h_new) (paper eq. 27 and section 5.6; earlier paper 10.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.rendering import fenced, numbered, prompt_messages, template

# Token limit of an answer: 4,000 characters take about 1,000; the rest is for reasoning.
MOST_TOKENS = 4_096

MOST_REMOVED = 20  # maximum number of removed texts


class MergedBackground(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True)

    background: str = Field(
        description="the whole merged background, in the first person", json_schema_extra={"maxLength": 600}
    )
    removed: list[str] = Field(
        default=[],
        description="names, numbers and words of the background that what is new replaces; mostly none",
        json_schema_extra={"maxItems": MOST_REMOVED},
    )


def merge_background_prompt(current: Sequence[str], snippet: Sequence[str]) -> Prompt[MergedBackground]:
    """Render the prompt for one snippet.

    The system message is the same for every bank, so that services can cache it; variable parts follow it.

    Args:
        current: the background's sentences, in the first person, numbered from 1.
        snippet: the new sentences, in the first person, with the following numbers.
    """
    parts = (
        "The background as it is:\n" + fenced("BACKGROUND", numbered(current)),
        "What is new:\n" + fenced("SNIPPET", numbered(snippet, len(current) + 1)),
        "Write the merged background.",
    )
    return Prompt(
        name="merge_background",
        messages=prompt_messages(template("merge_background"), parts),
        schema=MergedBackground,
        most_tokens=MOST_TOKENS,
    )
