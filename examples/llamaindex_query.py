"""A LlamaIndex query engine that answers from long-term memory. Runs without a key and without a network.

    pip install "hindsight-integrations[llamaindex,offline]"
    python examples/llamaindex_query.py

`MockLLM` repeats the prompt it is given, which shows what a real model would read. To use one, replace it by
`OpenAI(model="gpt-4o-mini")` (from `llama_index.llms.openai`, with OPENAI_API_KEY set).
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from hindsight_integrations import Hindsight
from hindsight_integrations.llamaindex import HindsightRetriever

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


def main() -> None:
    """Remember what four messages state, word for word, then ask."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        bank = hindsight.bank("alice")
        print(f"retained {bank.retain(TALK, thread='chat').created} memories\n")

        retriever = HindsightRetriever(bank, k=2)
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        question = "When did Alice get her cat?"
        response = engine.query(question)

        print(f"question: {question}")
        for found in response.source_nodes:
            print(f"  {found.score:.2f}  {found.node.text}  [{found.node.metadata['date']}]")
        print(f"\nwhat the model is asked:\n{response}")


if __name__ == "__main__":
    main()
