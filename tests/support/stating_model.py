"""A model that extracts the text of each message of a passage, and records which messages shared a call."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import BaseMessage

from hindsight_integrations.testing.scripted_model import ScriptedModel

LINE = re.compile(r"^\[(?P<id>[^\]]+)\] \([^)]*\) (?P<speaker>[^:]+): (?P<text>.+)$", re.MULTILINE)


def passage_of(messages: list[BaseMessage]) -> list[tuple[str, str, str]]:
    """The (id, speaker, text) of the messages to extract in a prompt."""
    text = str(messages[1].text)
    return LINE.findall(text[text.index("<<<PASSAGE") : text.index("PASSAGE>>>")])


class Stating(ScriptedModel):
    """Extracts the text of each message of a passage; gives no usable answer to a passage with the word `poison`."""

    poison: str = ""
    outage: bool = False

    def __init__(self) -> None:
        super().__init__(self._facts)

    @property
    def passages(self) -> list[list[str]]:
        """The ids of the messages in each call."""
        return [[place for place, *_ in passage_of(messages)] for messages in self.prompts]

    def _facts(self, messages: list[BaseMessage]) -> Any:
        said = passage_of(messages)
        if self.outage:
            raise ConnectionError("it is off")
        if self.poison and any(self.poison in text for *_, text in said):
            return "no JSON"
        return {"facts": [{"what": text, "sources": [place]} for place, _, text in said]}
