"""Namespaces as texts in which every prefix is a range."""

from __future__ import annotations

from hindsight_integrations.model.items import Namespace

END, AFTER = ".", "/"  # the character that ends a label, and the one behind it


def namespace_text(namespace: Namespace) -> str:
    """Each label with its dots escaped, ended by a dot: ("a", "b.c") is "a.b%2Ec."."""
    return "".join(label.replace("%", "%25").replace(END, "%2E") + END for label in namespace)


def namespace_from(text: str) -> Namespace:
    """The namespace of a text that `namespace_text` made."""
    return tuple(label.replace("%2E", END).replace("%25", "%") for label in text.split(END)[:-1])


def namespace_range(prefix: Namespace) -> tuple[str, str | None]:
    """Texts of namespaces that begin with these labels: from the first, to before the second; None means to the end."""
    text = namespace_text(prefix)
    return (text, text[:-1] + AFTER) if text else ("", None)
