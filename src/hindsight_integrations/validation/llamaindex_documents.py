"""Conversion of LlamaIndex documents, nodes and messages, which are recognised by class name without importing LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.lazy import inherits
from hindsight_integrations.model.metadata import shared_metadata
from hindsight_integrations.model.requests import Document

ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool"}
"""This package's names for roles that LlamaIndex names differently."""


def plain(items: Iterable[Any]) -> list[Any]:
    """Convert LlamaIndex messages of a conversation to dicts; other messages stay unchanged."""
    return [as_dict(item) if is_chat_message(item) else item for item in items]


def is_chat_message(item: object) -> bool:
    """Return whether an object is an instance of LlamaIndex's ChatMessage or a subclass."""
    return inherits(item, "llama_index", "ChatMessage")


def as_dict(message: Any) -> dict[str, Any]:  # noqa: ANN401 - LlamaIndex's, which is not imported
    """Convert a message to a dict with its role, text and tool calls, or, for a tool result, the id of its call.

    Only text blocks are included, not reasoning, images, files or citations. Of `additional_kwargs`, only id, name, timestamp
    and tool_call_id are used, because LlamaIndex's memory also stores other data there.
    """
    extra = getattr(message, "additional_kwargs", None)
    extra = extra if isinstance(extra, Mapping) else {}
    role = str(getattr(message.role, "value", message.role)).lower()
    blocks = list(getattr(message, "blocks", None) or ())
    said = [{"type": "text", "text": block.text} for block in blocks if _kind(block) == "text"]
    calls = [*_calls(blocks)] or extra.get("tool_calls")
    fields = {name: extra[name] for name in ("id", "name", "timestamp", "tool_call_id") if extra.get(name)}
    return {
        "role": ROLES.get(role, role),
        "content": said,
        **fields,
        **({"tool_calls": calls} if calls else {}),
    }


def _calls(blocks: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if _kind(block) == "tool_call":
            yield {"id": block.tool_call_id, "name": block.tool_name, "args": block.tool_kwargs}


def _kind(block: object) -> object:
    return getattr(block, "block_type", None)


LEAST_OVERLAP = 20  # minimum characters of an overlap; shorter ones may be coincidences


def is_node(item: object) -> bool:
    """Return whether an object is an instance of LlamaIndex's Document or node classes."""
    return inherits(item, "llama_index", "BaseNode")


def documents_of(nodes: Sequence[Any]) -> list[Document]:
    """Merge nodes into their source documents, in the order of each document's first node.

    Overlapping text is included only once. A document keeps the metadata that all its nodes share. A changed document that
    passes through a pipeline again therefore replaces its earlier version, although its nodes have new ids. A node without
    a source is a separate document.

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
    """Join nodes into their source text, without repeating overlaps.

    If all nodes have character positions, these determine the overlaps. Otherwise the overlap of two consecutive nodes is the
    longest end of the first node, of at least 20 characters, with which the second starts. White space that a splitter
    removed becomes a newline.

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
    """Join nodes by position, longer nodes first, because in a hierarchy of chunks the largest contain the others."""
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
    """Reject a node whose neighbours are missing: an incomplete document would invalidate memories of the missing part."""
    extra = [
        neighbour
        for neighbour in (getattr(node, "prev_node", None), getattr(node, "next_node", None))
        if neighbour
    ]
    if any(neighbour.node_id not in here for neighbour in extra):
        raise InvalidRequest(
            "content",
            f"nodes of document {shown(_source_id(node))} are missing: a node refers to a neighbour that was not passed",
            "Pass all nodes of a source document in one list, or remove the relationships to keep each node separate.",
        )


def _text(node: Any) -> str:  # noqa: ANN401
    return str(node.get_content(metadata_mode="none") or "")
