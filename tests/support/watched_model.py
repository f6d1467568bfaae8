"""A language model whose calls are printed as they happen, for people."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.models.protocols import Completion, LanguageModel, Prompt

T = TypeVar("T", bound=BaseModel)


@dataclass
class Watched:
    """A model whose calls are printed: the prompt's name, time, tokens, and faults.

    Attributes:
        model: the wrapped model.
        calls: number of calls by kind of prompt.
        malformed: number of answers that did not match the schema.
    """

    model: LanguageModel
    calls: dict[str, int] = field(default_factory=dict)
    malformed: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        self.calls[prompt.name] = self.calls.get(prompt.name, 0) + 1
        began = time.monotonic()
        try:
            done = await self.model.complete(prompt)
        except MalformedOutput as error:
            self.malformed += 1
            print(f"  {prompt.name}: MALFORMED in {time.monotonic() - began:.1f} s: {error.problem}")
            print(f"    {error.output[:2000]}")
            raise
        seconds, tokens = time.monotonic() - began, f"{done.tokens_in} tokens in, {done.tokens_out} out"
        print(f"  {prompt.name}: {seconds:.1f} s, {tokens}\n    {done.text}")
        return done
