"""Language models, embedders, rerankers and token counters: their protocols, and one file for each vendor package."""
