"""No network beyond this machine: a fixture for every suite, imported by its conftest."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """A connection that would leave this machine fails the test that makes it."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _local(address[0]):
            raise AssertionError(f"a test tried to reach {address}")
        real(self, address)

    socket.socket.connect = connect  # type: ignore[method-assign,assignment]
    yield
    socket.socket.connect = real  # type: ignore[method-assign]


def _local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
