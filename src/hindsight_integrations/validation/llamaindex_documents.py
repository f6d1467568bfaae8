"""Conversion of LlamaIndex's documents, nodes and messages, recognised by class name without importing LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.metadata import shared_metadata
from hindsight_integrations.model.requests import Document

ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool"}
"""LlamaIndex's role names that differ from others'."""


def plain(items: Iterable[Any]) -> list[Any]:
    """Convert LlamaIndex's messages in a conversation to dicts; others stay unchanged."""
    return [as_dict(item) if is_chat_message(item) else item for item in items]


def is_chat_message(item: object) -> bool:
    """Tell whether an object is a LlamaIndex ChatMessage, or of a subclass."""
    return any(
        kind.__name__ == "ChatMessage" and kind.__module__.startswith("llama_index.")
        for kind in type(item).__mro__
    )


def as_dict(message: Any) -> dict[str, Any]:  # noqa: ANN401 - LlamaIndex's, which is not imported
    """Return role, text, tool calls and the id of the call that a result answers.

    Only text blocks are included, not reasoning, images, files and citations. Of `additional_kwargs`, id,
    name, timestamp and tool_call_id are used; LlamaIndex's memory also stores its session id there.
    """
    beside = getattr(message, "additional_kwargs", None)
    beside = beside if isinstance(beside, Mapping) else {}
    role = str(getattr(message.role, "value", message.role)).lower()
    blocks = list(getattr(message, "blocks", None) or ())
    said = [{"type": "text", "text": block.text} for block in blocks if _kind(block) == "text"]
    calls = [*_calls(blocks)] or beside.get("tool_calls")
    told = {name: beside[name] for name in ("id", "name", "timestamp", "tool_call_id") if beside.get(name)}
    return {
        "role": ROLES.get(role, role),
        "content": said,
        **told,
        **({"tool_calls": calls} if calls else {}),
    }


def _calls(blocks: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if _kind(block) == "tool_call":
            yield {"id": block.tool_call_id, "name": block.tool_name, "args": block.tool_kwargs}


def _kind(block: object) -> object:
    return getattr(block, "block_type", None)


LEAST_OVERLAP = 20  # characters; equal ends that are shorter may be coincidence


def is_node(item: object) -> bool:
    """Tell whether an object is a LlamaIndex Document or node, or of a subclass."""
    return any(
        kind.__name__ == "BaseNode" and kind.__module__.startswith("llama_index.")
        for kind in type(item).__mro__
    )


def documents_of(nodes: Sequence[Any]) -> list[Document]:
    """Return the documents that nodes are, or were cut from, in the order of each one's first node.

    Nodes of one source document are merged again, without overlaps, with the metadata that all of them share.
    So a changed document that passes through a pipeline again replaces its earlier version, although its
    nodes have new ids. A node without a source is a document of its own.

    Args:
        nodes: Documents and text nodes, from a reader, a node parser or an IngestionPipeline.

    Raises:
        InvalidRequest: an object is not a node or has no text, or nodes of a source are missing.
    """
    sources: dict[str, list[Any]] = {}
    here = {str(getattr(node, "node_id", "")) for node in nodes}
    for position, node in enumerate(nodes):
        if not is_node(node):
            raise InvalidRequest("content", f"{shown(node)} is not a node", "Pass either nodes or messages.")
        _check_text(node, position)
        _check_neighbours(node, here)
        sources.setdefault(_source_id(node), []).append(node)
    return [_document(name, parts) for name, parts in sources.items()]


def _document(name: str, nodes: list[Any]) -> Document:
    metadata = shared_metadata([node.metadata for node in nodes])
    return Document(whole_text(nodes), id=name, metadata=metadata)


def whole_text(nodes: Sequence[Any]) -> str:
    """Join nodes to their source text, each passage once.

    Uses the nodes' character positions if all have them; otherwise consecutive nodes overlap by their longest
    common end and beginning of at least 20 characters. White space that a splitter dropped becomes a new
    line.

    Args:
        nodes: nodes of one source, in order.
    """
    if all(getattr(node, "start_char_idx", None) is not None for node in nodes):
        return _by_place(nodes)
    text = ""
    for node in nodes:
        part = _text(node)
        shared = next(
            (
                size
                for size in range(min(len(text), len(part)), LEAST_OVERLAP - 1, -1)
                if text.endswith(part[:size])
            ),
            0,
        )
        text += part[shared:] if shared or not text else f"\n{part}"
    return text


def _by_place(nodes: Sequence[Any]) -> str:
    """Join by position, longer nodes first: in a hierarchy of chunks the largest contains the others."""
    text, end = "", 0
    for node in sorted(nodes, key=lambda node: (node.start_char_idx, -len(_text(node)))):
        part, start = _text(node), node.start_char_idx
        if text and start > end:
            text += "\n"
        text += part[max(0, end - start) :] if text else part
        end = max(end, start + len(part))
    return text


def _source_id(node: Any) -> str:  # noqa: ANN401 - LlamaIndex's, which is not imported
    source = getattr(node, "source_node", None)
    return str(node.node_id if source is None else source.node_id)


def _check_text(node: Any, position: int) -> None:  # noqa: ANN401
    if not _text(node).strip():
        kind = type(node).__name__
        raise InvalidRequest(
            "content", f"node {position} ({kind}) has no text", "Pass Documents and nodes with text."
        )


def _check_neighbours(node: Any, here: set[str]) -> None:  # noqa: ANN401
    """Reject part of a document, which would replace the whole and close the rest as removed."""
    beside = [
        neighbour
        for neighbour in (getattr(node, "prev_node", None), getattr(node, "next_node", None))
        if neighbour
    ]
    if any(neighbour.node_id not in here for neighbour in beside):
        raise InvalidRequest(
            "content",
            f"nodes of document {shown(_source_id(node))} are missing: one has a neighbour that was not passed",
            "Pass all nodes of a source document in one list, or remove the relationships to keep each node separate.",
        )


def _text(node: Any) -> str:  # noqa: ANN401
    return str(node.get_content(metadata_mode="none") or "")
