"""A language model that answers every prompt of the engine validly and immediately, from the prompt's own contents.

Runs need no service, and their calls and prompt tokens are those of a model whose answers never need a
repair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations import ExtractedFact, Message
from hindsight_integrations.models.protocols import Completion, Prompt

T = TypeVar("T", bound=BaseModel)

MOST_CHARACTERS = 300  # maximum length of a fact or an observation
OBSERVATIONS = 5

_NUMBERED = re.compile(r"\[([^\]]+)\] (?:\((?:[^()]|\([^()]*\))*\) )?(.*)")
"""A line of a prompt: number or id, optional time, text."""


class ScriptedAnswers:
    """A model with one scripted answer for each prompt name.

    Args:
        messages: the messages of the conversation, with ids.
        facts: facts extracted from the conversation by hand; the answer for a passage contains those that end
            in it.

    Attributes:
        opinion: the opinion in each answer that cites a memory; empty for none.
        about: a name that is in the opinion and in the memories it can cite.
        lookups: tools to call before an agentic answer.
    """

    name = "scripted"
    opinion, about = "", ""
    lookups = 0

    def __init__(self, messages: Iterable[Message] = (), facts: Sequence[ExtractedFact] = ()) -> None:
        self._id_of = {f"{message.speaker}: {message.text}": str(message.id) for message in messages}
        self._facts = facts
        self._answers: Mapping[str, Callable[[str], object]] = {
            "extract_facts": self._extracted,
            "concise_facts": self._concise,
            "message_endings": lambda _: {"endings": []},
            "observe": _observed,
            "merge_background": _merged,
            "answer": self._answered,
            "form_opinions": self._formed,
            "relate_opinions": _related,
            "assess_evidence": _assessed,
        }

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return a valid answer; an unknown prompt name is an error."""
        # A repair is followed by the previous answer and its errors; an agentic answer, by its previous
        # steps.
        _, shown, *more = prompt.messages
        answer: object
        if prompt.name == "reflect_step":
            answer = self._step(shown.text, len(more) // 2)
        elif prompt.name == "reflect_answer":
            answer = _concluded(shown.text)
        else:
            answer = self._answers[prompt.name](shown.text)
        return Completion(prompt.schema.model_validate(answer))

    def _extracted(self, shown: str) -> object:
        ids = [name for name, _ in _lines(shown, "PASSAGE")]
        return {"facts": [fact.model_dump(mode="json") for fact in self._completed_by(ids)]}

    def _concise(self, shown: str) -> object:
        ids = [self._id_of[text] for _, text in _lines(shown, "PASSAGE")]
        return {
            "facts": [
                {
                    "fact": _shortened(fact.what),
                    "lines": [ids.index(name) + 1 for name in fact.sources],
                    "names": [entity.text for entity in fact.entities][:8],
                }
                for fact in self._completed_by(ids)
            ]
        }

    def _completed_by(self, ids: Sequence[str]) -> list[ExtractedFact]:
        """Return the facts whose last message is among these ids, restricted to sources among them.

        Causes in other passages and statements of what ends are left out; the latter would need another
        request.
        """
        return [
            fact.model_copy(
                update={
                    "sources": [name for name in fact.sources if name in ids],
                    "causal_relations": [],
                    "invalidates": [],
                }
            )
            for fact in self._facts
            if fact.sources and fact.sources[-1] in ids
        ]

    def _answered(self, shown: str) -> object:
        return {**_concluded(shown), **self._formed(shown)}

    def _formed(self, shown: str) -> dict[str, object]:
        grounds = [number for number, text in _lines(shown, "MEMORIES") if self.about in text]
        held = {
            "opinion": self.opinion,
            "confidence": 0.7,
            "reasoning": "It is in the memories.",
            "based_on": grounds[:1],
            "entities": [],
        }
        return {"opinions": [held] if self.opinion and grounds else []}

    def _step(self, shown: str, taken: int) -> dict[str, object]:
        if taken < self.lookups:
            return {"tool": "recall", "arguments": {"query": f"{shown.splitlines()[-1]} {taken}"}}
        return {"tool": "answer", "answer": _concluded(shown)}


def _concluded(shown: str) -> dict[str, object]:
    numbers = [number for number, _ in _lines(shown, "MEMORIES")][:3]
    return {"text": "It is in the memories.", "based_on": numbers, "sufficient": True}


def _observed(shown: str) -> object:
    facts = _lines(shown, "FACTS")[:OBSERVATIONS]
    return {"observations": [{"text": _shortened(text), "facts": [int(number)]} for number, text in facts]}


def _merged(shown: str) -> object:
    sentences = [text for _, text in (*_lines(shown, "BACKGROUND"), *_lines(shown, "SNIPPET"))]
    return {"background": " ".join(sentences)}


def _related(shown: str) -> object:
    compared = re.findall(r"new (\d+) with held ([\d, ]+)", shown.rpartition("Compare:")[2])
    return {
        "relations": [
            {
                "new": int(new),
                "held": int(held),
                "relation": "different",
                "strength": "mild",
                "reason": "It is another matter.",
            }
            for new, numbers in compared
            for held in numbers.split(",")
        ]
    }


def _assessed(shown: str) -> object:
    asked = shown.rpartition("Assess these pairs:\n")[2].splitlines()
    return {
        "assessments": [
            {
                "opinion": number,
                "fact": int(fact),
                "assessment": "reinforce",
                "strength": "mild",
                "reason": "It says so.",
            }
            for number, line in enumerate(asked, 1)
            for fact in re.findall(r"fact (\d+)", line)
        ]
    }


def _lines(shown: str, label: str) -> list[tuple[str, str]]:
    """Return the number or id and the text of each line between the markers with this label."""
    inside = shown.partition(f"<<<{label}\n")[2].partition(f"\n{label}>>>")[0]
    found = map(_NUMBERED.match, inside.splitlines())
    return [(match[1], match[2]) for match in found if match]


def _shortened(text: str) -> str:
    """Return as many whole words as fit the maximum length."""
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rpartition(" ")[0]
