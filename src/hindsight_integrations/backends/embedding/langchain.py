"""Any LangChain `Embeddings` as an Embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.backends.embedding.client_embedder import ClientEmbedder
from hindsight_integrations.backends.vendor_errors import described
from hindsight_integrations.model.embedder import Thresholds

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


class LangChainEmbedder(ClientEmbedder):
    """Wraps a LangChain `Embeddings` object.

    Args:
        embeddings: what makes the vectors.
        name: the name banks record; by default class and model ("OpenAIEmbeddings/text-embedding-3-small").
        thresholds: its cosines if known; by default calibrated on first use.
    """

    def __init__(
        self, embeddings: Embeddings, *, name: str | None = None, thresholds: Thresholds | None = None
    ) -> None:
        super().__init__(
            name or described(embeddings),
            embeddings.embed_documents,
            embeddings.embed_query,
            thresholds=thresholds,
        )
