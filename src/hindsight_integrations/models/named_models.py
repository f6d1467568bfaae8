"""Resolution of the `model` argument (a name, a vendor's object, or a LanguageModel), and erasure of chat stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hindsight_integrations.errors import InvalidRequest, MissingDependency, ModelRefused, StorageError, shown
from hindsight_integrations.model.turns import CHATS_FILE, CHATS_TABLE, chats_prefix
from hindsight_integrations.models.langchain import LangChainModel
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.models.structured_output import Extra, InWords
from hindsight_integrations.models.vendor_errors import MODELS, TimedModel, Vendor, vendor_of_model

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.llms import LLM


PROVIDER = "openai"
HOSTED = "//api.openai.com"  # part of the address of OpenAI's hosted service
TIMEOUT_S = 300.0  # seconds per call; a small model on two cores may take two minutes
TRIES = 3  # maximum number of attempts, as in OpenAI's own client


def language_model(
    model: LLM | BaseChatModel | LanguageModel | str,
    *,
    in_words: InWords[Any] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> LanguageModel:
    """Resolve a caller's `model` to a LanguageModel with a time limit; a caller's own LanguageModel has none.

    Args:
        model: a LanguageModel, a LlamaIndex LLM, a LangChain chat model, or a name for `init_chat_model`
            ("openai:gpt-5-mini", "anthropic:claude-sonnet-4-5").
        in_words: function that adds the schema to a prompt, for services without schemas.
        timeout_s: seconds per call, including retries.

    Raises:
        InvalidRequest: the value is none of these, or a name with an unknown provider.
        MissingDependency: the value is a name, and its provider's package is not installed.
        ModelRefused: the value is a name, and there is no API key for its provider.
    """
    if isinstance(model, str):
        named = _named_model(model, in_words=in_words, timeout_s=timeout_s)
        return TimedModel(named, timeout_s=timeout_s, tries=TRIES)
    match vendor_of_model(model):
        case Vendor.OURS:
            return cast(
                "LanguageModel", model
            )  # no limit, because `RecordedModel` may wait an hour for a person's answer
        case Vendor.LLAMAINDEX:
            from hindsight_integrations.models.llamaindex import LlamaIndexModel

            llm = cast("LLM", model)
            return TimedModel(LlamaIndexModel(llm, in_words=in_words), timeout_s=timeout_s)
        case Vendor.LANGCHAIN:
            chat_model = cast("BaseChatModel", model)
            return TimedModel(LangChainModel(chat_model, in_words=in_words), timeout_s=timeout_s)


def _named_model(name: str, *, in_words: InWords[Any] | None, timeout_s: float) -> LangChainModel:
    """Create the model for a name as LangChain's `init_chat_model` does; OpenAI's models need only langchain-openai."""
    provider, _, model = name.partition(":")
    if not (provider and model):  # never guess the provider, because memories are sent to it
        problem = f"{shown(name)} is not of the form '<provider>:<name>'"
        raise InvalidRequest("model", problem, f"Write 'openai:gpt-5-mini'. {MODELS}")
    if provider == PROVIDER:
        return _openai_model(name, model, in_words=in_words, timeout_s=timeout_s)
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        remedy = "pip install 'hindsight-integrations[langchain]'"
        raise MissingDependency("langchain", f"{shown(name)} needs it: {remedy}") from error
    try:
        chat_model = init_chat_model(name)
    except ImportError as error:
        raise MissingDependency(f"the package of {shown(provider)}", str(error)) from error
    except ValueError as error:  # the provider is unknown, or its client is not configured
        reason = str(error).splitlines()[0]
        raise InvalidRequest("model", f"LangChain cannot create {shown(name)}: {reason}", MODELS) from error
    return LangChainModel(chat_model, name=name, in_words=in_words)


def _openai_model(
    name: str, model: str, *, in_words: InWords[Any] | None, timeout_s: float
) -> LangChainModel:
    """Create a model of OpenAI, or of the OpenAI-compatible server at OPENAI_BASE_URL."""
    try:
        from langchain_openai import ChatOpenAI
        from openai import OpenAIError
    except ImportError as error:
        raise MissingDependency("langchain-openai", "pip install 'hindsight-integrations[openai]'") from error
    try:  # no retries in the client, because those of `TimedModel` can be cancelled
        chat_model = ChatOpenAI(model=model, timeout=timeout_s, max_retries=0)
    except OpenAIError as error:
        reason = (
            f"{str(error).splitlines()[0]} For a server that needs no key, set OPENAI_API_KEY to any text"
        )
        raise ModelRefused(name, reason) from error
    sends = {Extra.MOST_TOKENS}
    if HOSTED not in str(chat_model.root_client.base_url):
        # Servers default to 0.8, too high for small models; OpenAI's newer models accept no temperature.
        sends.add(Extra.TEMPERATURE)
    return LangChainModel(chat_model, name=name, in_words=in_words, sends=sends)


WAIT_S = 5.0  # seconds to wait for the file's lock


def erase_chats(folder: Path, bank: str) -> None:
    """Delete the messages of all chats of a bank, and overwrite their space in the file.

    Args:
        folder: the data directory.
        bank: the bank's id.

    Raises:
        StorageError: the file cannot be written.
    """
    if not (folder / CHATS_FILE).exists():
        return
    try:
        with closing(sqlite3.connect(folder / CHATS_FILE, timeout=WAIT_S)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")
            table = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (CHATS_TABLE,)
            ).fetchone()
            if table:
                prefix = chats_prefix(bank)
                connection.execute(
                    f"DELETE FROM {CHATS_TABLE} WHERE substr(key, 1, ?) = ?",
                    (len(prefix), prefix),
                )
    except sqlite3.Error as error:
        raise StorageError(
            f"the bank was erased, but its chats in {folder / CHATS_FILE} could not be: {error}. Delete the chats or the file."
        ) from error
