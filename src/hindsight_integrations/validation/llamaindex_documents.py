"""LlamaIndex's documents and nodes as documents of the bank. Told by their class's name: LlamaIndex is not imported. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.metadata import shared_metadata
from hindsight_integrations.model.requests import Document

ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool"}
"""LlamaIndex's names of roles that others call otherwise; the rest are the same."""


def plain(items: Iterable[Any]) -> list[Any]:
    """The items of a conversation, with LlamaIndex's messages as dicts and all others as they are."""
    return [as_dict(item) if is_chat_message(item) else item for item in items]


def is_chat_message(item: object) -> bool:
    """Whether this is LlamaIndex's ChatMessage, or of a class of the user's own made from it."""
    return any(
        kind.__name__ == "ChatMessage" and kind.__module__.startswith("llama_index.")
        for kind in type(item).__mro__
    )


def as_dict(message: Any) -> dict[str, Any]:  # noqa: ANN401 - LlamaIndex's, which is not imported
    """Role, text, tool calls and what says which call a result answers.

    Only what was said is text: reasoning, images, files and citations are not. Of what is beside the text
    (`additional_kwargs`) id, name, timestamp and tool_call_id count; LlamaIndex's memory writes its session id there,
    which is no part of the message.
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


LEAST_OVERLAP = 20  # characters: shorter ends that are equal by chance are no overlap of two chunks


def is_node(item: object) -> bool:
    """Whether this is a Document or node of LlamaIndex, or of a class of the user's own made from one."""
    return any(
        kind.__name__ == "BaseNode" and kind.__module__.startswith("llama_index.")
        for kind in type(item).__mro__
    )


def documents_of(nodes: Sequence[Any]) -> list[Document]:
    """The documents that nodes are, or were cut from, in the order in which the first node of each comes.

    Nodes of one source document are that document, whole again: what overlaps is in it once, and the metadata that all
    of them have is its metadata. So a document that was changed and goes through a pipeline once more replaces its
    earlier version, though every node has a new id. A node without a source is a document of its own.

    Args:
        nodes: Documents and text nodes, as a reader, a node parser or an IngestionPipeline gives them.

    Raises:
        InvalidRequest: one is no node or has no text, or some nodes of a source are missing.
    """
    sources: dict[str, list[Any]] = {}
    here = {str(getattr(node, "node_id", "")) for node in nodes}
    for position, node in enumerate(nodes):
        if not is_node(node):
            raise InvalidRequest(
                "content", f"{shown(node)} among nodes is none", "Pass nodes alone, or messages alone."
            )
        _check_text(node, position)
        _check_neighbours(node, here)
        sources.setdefault(_source_id(node), []).append(node)
    return [_document(name, parts) for name, parts in sources.items()]


def _document(name: str, nodes: list[Any]) -> Document:
    metadata = shared_metadata([node.metadata for node in nodes])
    return Document(whole_text(nodes), id=name, metadata=metadata)


def whole_text(nodes: Sequence[Any]) -> str:
    """The text of which nodes are the parts, each passage once.

    Where the nodes say at which characters of their source they stand, by that; else two that follow one another share
    the longest end and beginning, of at least 20 characters. What a splitter left out between two (white space) becomes
    a new line.

    Args:
        nodes: of one source, in its order.
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
    """Longer nodes first where several begin together: of a hierarchy of chunks the coarsest holds the others."""
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
    """A part of a document would pass for the whole of it, and what the rest said be closed as removed."""
    beside = [
        found for found in (getattr(node, "prev_node", None), getattr(node, "next_node", None)) if found
    ]
    if any(found.node_id not in here for found in beside):
        raise InvalidRequest(
            "content",
            f"nodes of document {shown(_source_id(node))} are missing: one has a neighbour that is not here",
            "Pass all nodes of a source document in one list, or take the relationships off to keep each by itself.",
        )


def _text(node: Any) -> str:  # noqa: ANN401
    return str(node.get_content(metadata_mode="none") or "")
