"""Whose a model or an embedder is that a caller passes: told by the modules in its class's MRO, so that subclasses count."""

from __future__ import annotations

import inspect
from enum import StrEnum

from hindsight_integrations.errors import InvalidRequest, shown


class Vendor(StrEnum):
    """Whose class an object is of."""

    LANGCHAIN = "langchain_core"
    LLAMAINDEX = "llama_index.core"
    OURS = "hindsight_integrations"  # any class with the methods of our port


MODELS = (
    "Pass a LlamaIndex LLM, a LangChain chat model, '<provider>:<name>', or an object with the methods of "
    "hindsight_integrations.ports.language_model.LanguageModel."
)
EMBEDDERS = (
    "Pass a LlamaIndex BaseEmbedding, a LangChain Embeddings, an object with the methods of "
    "hindsight_integrations.ports.embedder.Embedder, or None for the local one."
)


def vendor_of_model(model: object) -> Vendor:
    """Whose a language model is.

    Raises:
        InvalidRequest: nobody's: it is a class, a function, an embedder or anything else.
    """
    bases = _bases(model, "model", MODELS)
    if (Vendor.LLAMAINDEX, "BaseLLM") in bases:
        return Vendor.LLAMAINDEX
    if callable(getattr(model, "complete", None)):
        return Vendor.OURS
    # With fallbacks, or bound, a chat model is a Runnable that passes on `with_structured_output`; a completion model has
    # the method, and raises from it.
    wrapped = (Vendor.LANGCHAIN, "Runnable") in bases and (Vendor.LANGCHAIN, "BaseLanguageModel") not in bases
    if (Vendor.LANGCHAIN, "BaseChatModel") in bases or (wrapped and hasattr(model, "with_structured_output")):
        return Vendor.LANGCHAIN
    raise InvalidRequest("model", f"{_called(model)} is not a chat model", MODELS)


def vendor_of_embeddings(embeddings: object) -> Vendor:
    """Whose an embedder is.

    Raises:
        InvalidRequest: nobody's: it is a class, a function, a name, a language model or anything else.
    """
    bases = _bases(embeddings, "embeddings", EMBEDDERS)
    if (Vendor.LLAMAINDEX, "BaseEmbedding") in bases:
        return Vendor.LLAMAINDEX
    # Not by hasattr: where `identity` is a property it asks the model, and opening would wait for a service.
    if inspect.getattr_static(embeddings, "identity", None) is not None:
        return Vendor.OURS
    if (Vendor.LANGCHAIN, "Embeddings") in bases:
        return Vendor.LANGCHAIN
    if hasattr(embeddings, "identity"):  # of an object that passes on what it is asked for
        return Vendor.OURS
    raise InvalidRequest("embeddings", f"{_called(embeddings)} makes no vectors", EMBEDDERS)


def _bases(client: object, field: str, accepted: str) -> set[tuple[Vendor, str]]:
    """The vendors' classes that an object's class inherits from.

    Raises:
        InvalidRequest: the object is a class itself.
    """
    if isinstance(client, type):
        raise InvalidRequest(field, f"{client.__name__} is a class, not an object of it", accepted)
    return {
        (vendor, cls.__name__)
        for cls in type(client).__mro__
        for vendor in Vendor
        if f"{cls.__module__}.".startswith(f"{vendor}.")
    }


def _called(client: object) -> str:
    """An object in an error: a text itself, of anything else its class and, of a function, its name."""
    if isinstance(client, str):
        return shown(client)
    if inspect.isroutine(client):
        return f"the function {client.__name__}"
    return f"an object of {type(client).__module__}.{type(client).__qualname__}"
