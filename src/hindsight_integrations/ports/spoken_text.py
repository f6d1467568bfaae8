"""What a model says aloud in a stream: small models write their reasoning between tags first. Pure."""

from __future__ import annotations

import re

_BEGINS = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_TAGS = ("<think>", "<thinking>", "<reasoning>")


class SpokenText:
    """Takes a text piece by piece and gives what of it is no reasoning, as soon as that is certain."""

    def __init__(self) -> None:
        self._held = ""  # what may be the beginning of a tag, or is within reasoning
        self._ends = ""  # the tag that ends the reasoning; empty outside of it

    def feed(self, piece: str) -> str:
        """What a further piece makes certain to be said aloud; may be empty."""
        self._held += piece
        said = []
        while self._held:
            if self._ends:
                _, found, rest = _partition(self._held, self._ends)
                if not found:
                    break
                self._held, self._ends = rest, ""
            elif begin := _BEGINS.search(self._held):
                said.append(self._held[: begin.start()])
                self._held, self._ends = self._held[begin.end() :], f"</{begin[1]}>"
            else:
                certain = len(self._held) - _begun(self._held)
                said.append(self._held[:certain])
                self._held = self._held[certain:]
                break
        return "".join(said)

    def end(self) -> str:
        """What was held back; reasoning that does not end is none of it."""
        held, self._held = ("" if self._ends else self._held), ""
        return held


def _partition(text: str, tag: str) -> tuple[str, str, str]:
    """`text.partition(tag)`, whatever the case of its letters."""
    found = re.search(re.escape(tag), text, re.IGNORECASE)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _begun(text: str) -> int:
    """How many characters at the end of a text may be the beginning of a tag."""
    start = text.rfind("<")
    if start < 0 or not any(tag.startswith(text[start:].lower()) for tag in _TAGS):
        return 0
    return len(text) - start
