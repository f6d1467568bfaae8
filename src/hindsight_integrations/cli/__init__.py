"""`hindsight-memory`: the command line."""

from __future__ import annotations


def main() -> None:
    """Run the command line. Without the `[cli]` extra, print how to install it and exit with 1."""
    try:
        from hindsight_integrations.cli.app import run
    except ModuleNotFoundError as error:
        raise SystemExit(
            f'Error: {error.name} is not installed. Run: pip install "hindsight-integrations[cli]"'
        ) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
