"""The extraction model from the command line, and the cost of its requests."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from statistics import mean, median
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations import HindsightConfig
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.models.protocols import Completion, LanguageModel, Prompt, PromptRole
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.testing import MissingAnswer, RecordedModel, RecordingModel

T = TypeVar("T", bound=BaseModel)

STEPWISE = (
    "reflect_step",
    "reflect_answer",
)  # prompts that contain the model's previous steps, so they are never repairs


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the model and the extraction settings."""
    add = parser.add_argument
    add("--answers", type=Path, help="folder of recordings (RecordedModel) that answers every request")
    add(
        "--wait", type=float, default=0.0, help="seconds to wait for somebody to write a missing answer there"
    )
    add(
        "--go-on",
        action="store_true",
        help="a session without an answer has no facts; else the run ends there",
    )
    add("--base-url", help="address of an OpenAI-compatible service; the key is OPENAI_API_KEY")
    add("--model", default="gpt-5-mini", help="its model")
    add("--record", type=Path, help="keep what the service is asked and answers here, for --answers")
    add("--without-memories", action="store_true", help="show the model nothing of the bank with the passage")


def model_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> CountedModel:
    """Create the model that the arguments select."""
    if (options.answers is None) == (options.base_url is None):
        parser.error("name --answers, or --base-url")
    if options.answers is not None:
        return CountedModel(RecordedModel(options.answers, wait=options.wait))
    from langchain_openai import ChatOpenAI

    from hindsight_integrations.models.langchain import LangChainModel

    model: LanguageModel = LangChainModel(ChatOpenAI(model=options.model, base_url=options.base_url))
    return CountedModel(RecordingModel(model, options.record) if options.record else model)


def with_model_options(config: HindsightConfig, options: argparse.Namespace) -> HindsightConfig:
    """Return the settings with the extraction options, and with time limits long enough for answers written by hand."""
    retain = replace(config.retain, extraction_timeout_s=None)
    if options.without_memories:
        retain = replace(retain, shown_memories=0, shown_categories=False)
    return replace(config, retain=retain)


@dataclass(frozen=True, slots=True)
class Request:
    """Tokens (cl100k) of one request, by part (instructions, other messages, answer schema), with its prompt and instructions."""

    prompt: str
    system: int
    user: int
    schema: int
    instructions: str
    repair: bool


@dataclass(slots=True)
class CountedModel:
    """A model that counts its requests."""

    model: LanguageModel
    requests: list[Request] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return the model's answer; only answered requests are counted, also if the answer violates its schema."""
        system = "\n".join(message.text for message in prompt.messages if message.role is PromptRole.SYSTEM)
        rest = "\n".join(message.text for message in prompt.messages if message.role is not PromptRole.SYSTEM)
        schema = json.dumps(prompt.schema.model_json_schema(), separators=(",", ":"))
        instructions, varying, shape = default_token_counter().count([system, rest, schema])
        said = any(message.role is PromptRole.ASSISTANT for message in prompt.messages)
        repair = said and prompt.name not in STEPWISE
        digest = sha256(system.encode()).hexdigest()[:12]
        request = Request(prompt.name, instructions, varying, shape, digest, repair)
        try:
            done = await self.model.complete(prompt)
        except MalformedOutput:
            self.requests.append(request)
            raise
        self.requests.append(request)
        return done

    def report(self) -> Iterator[str]:
        """Yield calls and tokens, one line each."""
        asked = self.requests
        repairs = sum(request.repair for request in asked)
        yield f"calls: {len(asked)}, {repairs} of them repairs"
        if asked:
            whole = [request.system + request.user for request in asked]
            prefixes = {request.instructions: request.system for request in asked}
            told = ", ".join(f"{tokens} tokens ({digest})" for digest, tokens in sorted(prefixes.items()))
            yield f"instructions, the same to the byte in every request with this hash: {told}"
            yield (
                f"tokens a request: median {median(whole):.0f}, mean {mean(whole):.0f}, most {max(whole)}; "
                f"{sum(whole)} in all"
            )


@contextmanager
def named_missing(place: str, *, go_on: bool) -> Iterator[None]:
    """Report a missing answer by its place; end the run unless `go_on`."""
    try:
        yield
    except MissingAnswer as missing:
        if not go_on:
            raise SystemExit(f"{place}: {missing}") from missing
