"""Inline reasoning of models, which is no part of what they said: "<think>I guess ...</think>Booked.", harmony channels. Pure."""

from __future__ import annotations

import re

_TAG = r"(?:think|thinking|thought|reasoning|reflection|scratchpad)"
_CLOSED = re.compile(rf"(?<!`)<({_TAG})>.*?</\1>(?!`)", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(rf"^(?:(?!<{_TAG}>).)*?(?<!`)</{_TAG}>(?!`)", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(rf"^\s*<{_TAG}>.*$", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(
    r"<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:end|return|start|channel)\|>|$)",
    re.DOTALL,
)
_CHANNEL = "<|channel|>"


def without_reasoning(text: str) -> str:
    """What a model said, without its reasoning; empty where it only reasoned.

    Removed are closed blocks anywhere, a block that is never closed where the text begins with it, everything in front of a
    closing tag that was never opened, and all channels of OpenAI's harmony format but the final one. Tags in backticks are quoted.

    Args:
        text: of an answer.
    """
    if _CHANNEL in text:
        return "\n".join(found.strip() for found in _FINAL.findall(text)).strip()
    if "<" not in text:
        return text
    said = _CLOSED.sub("", text)
    said = _UNCLOSED.sub("", _UNOPENED.sub("", said, count=1))
    return said.strip() if said != text else text
