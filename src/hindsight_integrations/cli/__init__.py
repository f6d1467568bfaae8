"""`hindsight-memory`: the command line."""

from __future__ import annotations


def main() -> None:
    """Run the command line.

    Raises:
        MissingDependency: the `[cli]` extra is not installed.
    """
    try:
        from hindsight_integrations.cli.app import run
    except ModuleNotFoundError as error:
        from hindsight_integrations.errors import MissingDependency

        raise MissingDependency(
            error.name or "typer", 'Run: pip install "hindsight-integrations[cli]"'
        ) from error
    run()
