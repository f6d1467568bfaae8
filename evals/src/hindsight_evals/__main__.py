"""`python -m hindsight_evals`: the command line."""

from __future__ import annotations

from hindsight_evals.cli import main

if __name__ == "__main__":
    main()
