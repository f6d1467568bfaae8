"""`python -m hindsight_evals.recorded FOLDER WEEK.json`: store a week and the answers of a folder of recordings."""

from __future__ import annotations

import sys
from pathlib import Path

from hindsight_evals.recorded import keep

if __name__ == "__main__":
    folder, week = map(Path, sys.argv[1:])
    sys.stdout.write(f"{keep(folder, week)} answers\n")
