"""HindsightQueryEngine: `bank.reflect` as a LlamaIndex query engine, with the cited memories as source nodes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from typing import Any, Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import BaseModel

from hindsight_integrations import (
    AsyncMemoryBank,
    MemoryBank,
    ReflectEvent,
    Reflection,
)
from hindsight_integrations.llamaindex.bank import emit_reflection, open_bank
from hindsight_integrations.llamaindex.nodes import as_node
from hindsight_integrations.llamaindex.tools import reflecting_tools
from hindsight_integrations.model.options import ReflectOptions, shows_options
from hindsight_integrations.validation.arguments import checked_schema
from hindsight_integrations.validation.limits import checked_tags
from hindsight_integrations.validation.options import STANDING_REFLECT, accept_options


class HindsightQueryEngine(BaseQueryEngine):  # type: ignore[misc] # see bank.py
    """Answers from memory, in the bank's character: `HindsightQueryEngine(bank).query("Where does Alice live?")`.

    The source nodes are the cited memories, in the order of their citations. `metadata` has `sufficient`, `extractive`,
    `citations`, `opinions`, `steps`, `notes`, `calls`, `tokens_in` and `tokens_out`. With `streaming`, source nodes and
    metadata are filled in once the text has been read to its end.

    The prompts cannot be changed: `get_prompts` is empty, and `update_prompts` has no effect.

    Args:
        bank: a sync or async bank, or its reference (`bank.reference`).
        streaming: `query` returns a StreamingResponse, `aquery` an AsyncStreamingResponse.
        output_cls: LlamaIndex's name for `response_schema`: a pydantic model for the structured answer.
        callback_manager: LlamaIndex's callback manager.
        options: options of `bank.reflect`, see `ReflectOptions`. `tools` may include LlamaIndex tools. `form_opinions`
            defaults to False.

    Raises:
        InvalidRequest: `bank` is not a bank, or an option is invalid; on a query: an option is out of range. With
            `streaming`, errors of a query are raised when its text is first read.
    """

    @shows_options(ReflectOptions, {"form_opinions": False})
    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank,
        *,
        streaming: bool = False,
        output_cls: type[BaseModel] | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[ReflectOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._bank = open_bank(bank)
        self._sync_bank = bank if isinstance(bank, MemoryBank) else MemoryBank.over(self._bank)
        self._streaming = streaming
        asked = accept_options({"form_opinions": False, **options}, STANDING_REFLECT)
        if output_cls is not None:
            asked["response_schema"] = output_cls
        self._options = {
            **asked,
            "response_schema": checked_schema(asked.get("response_schema")),
            "tools": reflecting_tools(asked.get("tools")),
            "tags": checked_tags(asked.get("tags", ())),
        }

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Any:  # noqa: ANN401 - one of LlamaIndex's responses
        query = query_bundle.query_str
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query}
        ) as watched:
            if self._streaming:
                stream = _Streamed(self._bank.name)
                pieces = stream.pieces(self._sync_bank.reflect_stream(query, **self._options))
                response = StreamingResponse(pieces, source_nodes=stream.nodes, metadata=stream.metadata)
            else:
                response = self._response(self._sync_bank.reflect(query, **self._options))
            watched.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> Any:  # noqa: ANN401 - one of LlamaIndex's responses
        query = query_bundle.query_str
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query}
        ) as watched:
            if self._streaming:
                stream = _Streamed(self._bank.name)
                pieces = stream.apieces(self._bank.reflect_stream(query, **self._options))
                response = AsyncStreamingResponse(pieces, source_nodes=stream.nodes, metadata=stream.metadata)
            else:
                response = self._response(await self._bank.reflect(query, **self._options))
            watched.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _response(self, reflection: Reflection) -> Response | PydanticResponse:
        emit_reflection(self._bank.name, reflection)
        nodes, metadata = source_nodes(reflection), answer_metadata(reflection)
        if reflection.structured is not None:
            return PydanticResponse(reflection.structured, source_nodes=nodes, metadata=metadata)
        return Response(reflection.text, source_nodes=nodes, metadata=metadata)


class _Streamed:
    """A streamed answer; source nodes and metadata are filled in at its end."""

    def __init__(self, bank: str) -> None:
        self._bank = bank
        self.nodes: list[NodeWithScore] = []
        self.metadata: dict[str, Any] = {}

    def pieces(self, events: Any) -> Generator[str, None, None]:  # noqa: ANN401 - a generator of ReflectEvent
        with closing(events):
            for event in events:
                if event.text:
                    yield event.text
                self._ended(event)

    async def apieces(self, events: Any) -> AsyncGenerator[str, None]:  # noqa: ANN401 - an async generator of ReflectEvent
        async with aclosing(events):
            async for event in events:
                if event.text:
                    yield event.text
                self._ended(event)

    def _ended(self, event: ReflectEvent) -> None:
        if event.reflection is not None:
            emit_reflection(self._bank, event.reflection)
            self.nodes.extend(source_nodes(event.reflection))
            self.metadata.update(answer_metadata(event.reflection))


def source_nodes(reflection: Reflection) -> list[NodeWithScore]:
    """Return the cited memories as nodes, in the order of their citations."""
    return [as_node(recalled) for recalled in reflection.units]


def answer_metadata(reflection: Reflection) -> dict[str, Any]:
    """Return a reflection's metadata as JSON-serialisable values."""
    return {
        "sufficient": reflection.sufficient,
        "extractive": reflection.extractive,
        "citations": [
            {"unit": None if cited.unit is None else cited.unit.unit.id, "mental_model": cited.mental_model}
            for cited in reflection.based_on
        ],
        "opinions": [
            {
                "outcome": change.outcome.value,
                "text": change.text,
                "confidence": change.confidence,
                "opinion_id": change.opinion_id,
                "reason": change.reason,
            }
            for change in reflection.opinions
        ],
        "steps": [step.tool for step in reflection.steps],
        "notes": list(reflection.notes),
        "calls": reflection.calls,
        "tokens_in": reflection.tokens_in,
        "tokens_out": reflection.tokens_out,
    }
