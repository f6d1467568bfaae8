"""RecordingModel: a recorder around a language model, which writes what it is asked and answers into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import InvalidRequest, MalformedOutput
from hindsight_integrations.ports.language_model import Completion, LanguageModel, Prompt
from hindsight_integrations.prompts.json_answer import with_schema_in_words
from hindsight_integrations.testing.recorded_model import MissingAnswer, RecordedModel
from hindsight_integrations.testing.recordings import (
    answer_object,
    recording_of,
    write_recording,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms import LLM

T = TypeVar("T", bound=BaseModel)


class RecordingModel:
    """Asks a model for what its folder has no answer to, and keeps request and answer there for `RecordedModel`.

    What the folder has answered is not asked again: a run that was stopped goes on where it was, and a changed prompt asks
    anew. Delete a file to ask its request again. An answer outside its schema is kept as such, with what was wrong. A model
    that could not be reached or refused the key is not: its error is raised, and the request stays without an answer.

    Args:
        model: a LanguageModel, a LlamaIndex LLM, a LangChain chat model, or "openai:<name>".
        folder: where the recordings are kept; made if it is not there.

    Raises:
        InvalidRequest: the model is none of these, or its name has another provider, or none.
        MissingDependency: langchain-openai is not installed.
        ModelRefused: there is no API key.
    """

    def __init__(self, model: LanguageModel | LLM | BaseChatModel | str, folder: str | Path) -> None:
        from hindsight_integrations.backends.language_model.named_models import language_model

        self._model = language_model(model, in_words=with_schema_in_words)
        self._recorded = RecordedModel(folder, name=self._model.name)

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self._model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """The folder's answer, else the model's, which is then in the folder.

        Raises:
            ModelUnavailable: the model could not be reached, timed out or limited the rate; not recorded.
            ModelRefused: its service refuses the key; not recorded.
            MalformedOutput: it answered outside the schema, now or when it was recorded.
            InvalidRequest: the file of the request is damaged, or the folder cannot be written; the model was not asked.
        """
        try:
            return await self._recorded.complete(prompt)
        except MissingAnswer as missing:
            path = missing.path
            if not path.exists():  # before the model is paid for an answer that would be lost
                raise InvalidRequest("folder", missing.reason, "Choose one that can be written.") from missing
        try:
            done = await self._model.complete(prompt)
        except MalformedOutput as error:  # its text unchanged, since the repair shows it
            self._keep(path, prompt, error, answer=error.output, problem=error.problem)
            raise
        self._keep(path, prompt, done, answer=_answer(prompt, done))
        return done

    def _keep(
        self, path: Path, prompt: Prompt[T], cost: Completion[T] | MalformedOutput, **answered: object
    ) -> None:
        answered |= {"model": self.name, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out}
        write_recording(path, recording_of(prompt).model_copy(update=answered))


def _answer(prompt: Prompt[T], done: Completion[T]) -> object:
    """The answer as the model wrote it, since reading may leave things out; else as it was read."""
    written = answer_object(done.text)
    try:
        if written is not None and prompt.schema.model_validate(written) == done.output:
            return written
    except ValidationError:
        pass  # what the model wrote went through something else before it was read
    return done.output.model_dump(mode="json")
