"""`python -m hindsight_integrations.cli`: the same as `hindsight-memory`."""

from hindsight_integrations.cli import main

if __name__ == "__main__":
    main()
