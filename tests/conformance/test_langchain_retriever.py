"""LangChain's own standard tests of retrievers, with Chroma, Lucene and rustworkx: `make test-conformance`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import HindsightRetriever

SAID = (
    "Alice's kayak is blue.",
    "Bob paddles a red kayak on the Douro.",
    "Carol sold her kayak in May.",
    "Dave repairs kayaks in Porto.",
    "Eve has never been in a kayak.",
)


class TestHindsightRetriever(RetrieversIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    """The tests that LangChain requires of every retriever."""

    _bank: MemoryBank

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        with Hindsight.open(tmp_path / "memory") as hindsight:
            type(self)._bank = hindsight.bank("alice")
            for text in SAID:
                self._bank.retain(text)
            yield

    @property
    def retriever_constructor(self) -> type[HindsightRetriever]:
        return HindsightRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bank": self._bank}

    @property
    def retriever_query_example(self) -> str:
        return "Who has a kayak?"
