"""LlamaIndex query engines that answer from long-term memory. Runs without a key and without a network.

    pip install "hindsight-integrations[llamaindex,offline]"
    python examples/llamaindex_query_engine.py

`MockLLM` repeats its prompt, which shows what a real model would read. To use a real model, replace it with
`OpenAI(model="gpt-4o-mini")` (from `llama_index.llms.openai`, with OPENAI_API_KEY set).
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core import Document
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

from hindsight_integrations import Hindsight
from hindsight_integrations.llamaindex import HindsightQueryEngine, HindsightRetriever

TALK = [
    {
        "role": "user",
        "name": "Alice",
        "content": "My sister Ana moved to Lisbon.",
        "timestamp": "2024-05-20T09:00",
    },
    {
        "role": "user",
        "name": "Alice",
        "content": "I adopted a cat named Miso yesterday.",
        "timestamp": "2024-06-10T09:00",
    },
    {"role": "assistant", "content": "What does Miso like to eat?", "timestamp": "2024-06-10T09:01"},
    {
        "role": "user",
        "name": "Alice",
        "content": "Miso eats nothing but tuna.",
        "timestamp": "2024-06-10T09:02",
    },
]

INVOICES = [
    Document(text="The vet charged 80 euros for the vaccination of Miso.", metadata={"year": 2024}),
    Document(text="The vet charged 65 euros for the yearly check of Miso.", metadata={"year": 2025}),
]


def main() -> None:
    """Retain four messages and two documents verbatim, then ask about them."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        bank = hindsight.bank("alice")
        print(f"retained {bank.retain(TALK, thread='chat').created} memories\n")

        retriever = HindsightRetriever(bank, k=2)
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        question = "When did Alice get her cat?"
        response = engine.query(question)

        print(f"question: {question}")
        for source in response.source_nodes:
            print(f"  {source.score:.2f}  {source.text}  [{source.node.metadata['date']}]")
        print(f"\nthe model's prompt:\n{response}\n")

        bank.retain(INVOICES)
        since_2025 = MetadataFilters(
            filters=[MetadataFilter(key="year", value=2025, operator=FilterOperator.GTE)]
        )
        for match in HindsightRetriever(bank, filters=since_2025).retrieve("What did the vet charge?"):
            print(f"since 2025: {match.text}")

        # Without a model the answer consists of the memories.
        answer = HindsightQueryEngine(bank).query("What does Miso eat?")
        print(f"reflect: {answer.source_nodes[0].text}")


if __name__ == "__main__":
    main()
