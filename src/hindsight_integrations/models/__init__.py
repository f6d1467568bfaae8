"""Language models, embedders, rerankers and token counters: protocols, and one module per vendor package."""
