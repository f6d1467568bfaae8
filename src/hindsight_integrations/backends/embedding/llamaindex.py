"""Any LlamaIndex embedding model as an Embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.backends.embedding.client_embedder import ClientEmbedder
from hindsight_integrations.backends.vendor_errors import described
from hindsight_integrations.model.embedder import Thresholds

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding


class LlamaIndexEmbedder(ClientEmbedder):
    """Wraps a LlamaIndex `BaseEmbedding`: its sync methods, which are bound to no event loop.

    Questions go through `get_query_embedding`, since several models put an instruction before them; passages in
    batches of the model's own `embed_batch_size`. Its cache and its rate limiter work as LlamaIndex has them.

    Args:
        embeddings: what makes the vectors.
        name: the name banks record; by default class and model ("OpenAIEmbedding/text-embedding-3-small").
        thresholds: its cosines if known; by default calibrated on first use.
    """

    def __init__(
        self, embeddings: BaseEmbedding, *, name: str | None = None, thresholds: Thresholds | None = None
    ) -> None:
        super().__init__(
            name or described(embeddings),
            embeddings.get_text_embedding_batch,
            embeddings.get_query_embedding,
            thresholds=thresholds,
        )
