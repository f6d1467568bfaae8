"""Tokens of a server, each of which gives access to some banks."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from hindsight_integrations.errors import AccessDenied, InvalidRequest

SHORTEST_TOKEN = 16  # minimum length of a token in characters
_EXAMPLE = (
    'Write [tokens] and lines such as "A-LONG-RANDOM-TEXT" = ["alice", "team-*"]; ["*"] means all banks.'
)


@dataclass(frozen=True, slots=True)
class Access:
    """The banks that a client may use.

    Attributes:
        banks: names of banks. A name that ends with "*" includes all banks whose names start with the text before it.
    """

    banks: tuple[str, ...]

    @property
    def everything(self) -> bool:
        """Whether the client may use all banks, and therefore methods that concern the whole memory."""
        return "*" in self.banks

    def includes(self, bank: str) -> bool:
        """Return whether the client may use a bank."""
        return any(
            bank.startswith(name.removesuffix("*")) if name.endswith("*") else bank == name
            for name in self.banks
        )

    def check(self, bank: str) -> None:
        """Check that the client may use a bank, whether or not the bank exists.

        Raises:
            AccessDenied: the client may not use it.
        """
        if not self.includes(bank):
            raise AccessDenied(f"the token does not include bank {bank!r}", "Use a token that includes it.")

    def check_everything(self, method: str) -> None:
        """Check that the client may call a method that concerns all banks.

        Raises:
            AccessDenied: the client may not call it.
        """
        if not self.everything:
            raise AccessDenied(f"{method} concerns all banks", 'Use a token for all banks, ["*"].')


ALL_BANKS = Access(("*",))


class Tokens:
    """The tokens of a server. Their hashes are compared, so that the time of a check reveals nothing about the tokens.

    `remedy` tells a client what to do whose token is missing or unknown.
    """

    def __init__(
        self,
        tokens: Mapping[str, Access],
        remedy: str = "Send one of the server's tokens as Authorization: Bearer TOKEN.",
    ) -> None:
        self._access = {_digest(token): access for token, access in tokens.items()}
        self._remedy = remedy

    @classmethod
    def read(cls, path: Path) -> Tokens:
        """Read a TOML file with a table `tokens` that maps each token to a list of bank names.

        Raises:
            InvalidRequest: the file has no valid table, or a token is too short.
            OSError: the file cannot be read.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8")).get("tokens")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidRequest("tokens", f"{path} is not TOML ({error})", _EXAMPLE) from error
        if not isinstance(table, dict) or not table:
            raise InvalidRequest("tokens", f"{path} has no table [tokens]", _EXAMPLE)
        # numbered, because errors must not contain a token
        for number, (token, banks) in enumerate(table.items(), 1):
            if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
                reason = f"token {number} of {path} has fewer than {SHORTEST_TOKEN} visible ASCII characters"
                raise InvalidRequest(
                    "tokens", reason, "Use a long random text, such as the output of: openssl rand -hex 24"
                )
            if (
                not isinstance(banks, list)
                or not banks
                or not all(isinstance(bank, str) and bank for bank in banks)
            ):
                raise InvalidRequest("tokens", f"token {number} of {path} has no list of banks", _EXAMPLE)
        return cls({token: Access(tuple(banks)) for token, banks in table.items()})

    def access(self, authorization: str | None) -> Access:
        """Return the banks that the token in an Authorization header gives access to.

        Raises:
            AccessDenied: the token is missing or unknown.
        """
        kind, _, token = (authorization or "").partition(" ")
        access = self._access.get(_digest(token.strip())) if kind.lower() == "bearer" else None
        if access is None:
            reason = "the token is unknown" if authorization else "the token is missing"
            raise AccessDenied(reason, self._remedy)
        return access


def is_loopback(host: str) -> bool:
    """Return whether a host name or address can be reached only from this machine."""
    name = host.removeprefix("[").removesuffix("]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name.lower() == "localhost"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
