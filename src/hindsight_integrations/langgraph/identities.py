"""Identities as labels of a namespace, where LangGraph allows neither dots nor nothing."""

from __future__ import annotations

import re

_TOKEN = re.compile("%(25|2E|00|6C)|%$")
_RESERVED = "langgraph"  # no namespace may begin with it


def namespace_label(identity: str) -> str:
    """An identity as a label: "ann@example.com" is "ann@example%2Ecom". Different identities are different labels.

    Args:
        identity: a user, an agent, a tenant: any text.
    """
    if not identity:
        return "%"
    label = identity.replace("%", "%25").replace(".", "%2E").replace("\0", "%00")
    return "%6C" + label[1:] if label == _RESERVED else label


def identity_of(label: str) -> str:
    """The identity of a label that `namespace_label` made."""
    return _TOKEN.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", label)
