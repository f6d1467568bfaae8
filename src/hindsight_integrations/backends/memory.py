"""Memory that C and Rust code has freed, given back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache


def give_back_memory() -> None:
    """Hand freed memory back to the system, where the C library is glibc; elsewhere nothing.

    glibc keeps what lies below a block still in use: after Chroma was closed 20 times, 330 MB [decision 093].
    """
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None
