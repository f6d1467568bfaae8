"""Plant the faults of faults.toml, one at a time, and see whether a command such as the test suite notices them.

    python evals/faults/plant.py list
    python evals/faults/plant.py check
    python evals/faults/plant.py run [--only NAME ...] [--jobs 1] [--out table.json] -- python -m pytest -q -x

`check` says whether each fault still applies: its old text stands exactly once in its file, and the changed file compiles.
`run` copies the tracked files of this checkout into a temporary folder, changes the copy, and runs the command there with
PYTHONPATH set to its src. A fault is caught if the command fails. First the command runs on an unchanged copy, where it
must pass, or every fault would seem to be caught. The exit code is 0 only if all faults apply and are caught.
"""

# ruff: noqa: S603, S607, T201 - a script: it prints, and runs the command it is given

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src/hindsight_integrations")
TIMED_OUT = 124  # the exit code of timeout(1)
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A change to one file of the package; the fields are those of faults.toml."""

    name: str
    area: str
    file: str
    old: str
    new: str
    harm: str

    def changed(self, root: Path) -> str:
        """The text of the file under `root` with the fault in it.

        Raises:
            ValueError: the fault does not apply to the file, or the result does not compile.
        """
        path = root / PACKAGE / self.file
        if not path.is_file():
            raise ValueError(f"{self.file} does not exist")
        text = path.read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"the old text stands {count} times in {self.file}")
        changed = text.replace(self.old, self.new)
        try:
            compile(changed, str(path), "exec")
        except SyntaxError as error:
            raise ValueError(f"the changed file does not compile: {error}") from error
        return changed


@dataclass(frozen=True)
class Outcome:
    """How one run went: `result` is caught, missed or stale (the fault does not apply); `test` is the last failing one, or the last line."""

    name: str
    area: str
    file: str
    result: str
    seconds: float = 0.0
    test: str = ""


def run_command(command: Sequence[str], folder: Path, timeout: float) -> tuple[int, str]:
    """Run a command in a copy of the checkout; its exit code and output, TIMED_OUT where it was killed."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            if process.poll() is None:  # too slow, or we are interrupted: with all it has started
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return code, output.read()


def run_in_copy(command: Sequence[str], fault: Fault | None, timeout: float) -> tuple[int, str, float]:
    """Copy the tracked files, plant a fault or none, and run the command there; exit code, output and seconds."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        copy = Path(folder).resolve() / ROOT.name
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():  # not one that was deleted and is not committed
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
        if fault:
            (copy / PACKAGE / fault.file).write_text(fault.changed(copy), encoding="utf-8")
        started = time.monotonic()
        code, output = run_command(command, copy, timeout)
        return code, output, round(time.monotonic() - started, 1)


def outcome_of(fault: Fault, command: Sequence[str], timeout: float) -> Outcome:
    """Run the command on a copy with the fault."""
    try:
        code, output, seconds = run_in_copy(command, fault, timeout)
    except ValueError as error:
        return Outcome(fault.name, fault.area, fault.file, "stale", test=str(error))
    tests = FAILED.findall(output) or output.split("\n")[-2:-1]  # without pytest the last line
    told = "timeout" if code == TIMED_OUT else tests[-1] if code and tests else ""
    return Outcome(fault.name, fault.area, fault.file, "caught" if code else "missed", seconds, told)


def run(faults: Sequence[Fault], command: Sequence[str], options: argparse.Namespace) -> int:
    """Run the command on each fault, and say of each what came of it."""
    if not options.no_control:
        code, output, seconds = run_in_copy(command, None, options.timeout)
        if code:
            print(
                f"{output[-4000:]}\nthe command fails on an unchanged copy (exit code {code}): nothing was planted"
            )
            return 2
        print(f"passed  {seconds:7.1f} s  (unchanged copy)", flush=True)
    outcomes = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for each in pool.map(lambda fault: outcome_of(fault, command, options.timeout), faults):
            print(f"{each.result:7} {each.seconds:7.1f} s  {each.name:38} {each.test}", flush=True)
            outcomes.append(each)
            if options.out:
                options.out.write_text(json.dumps([asdict(one) for one in outcomes], indent=2) + "\n")
    caught = sum(each.result == "caught" for each in outcomes)
    print(f"{caught} of {len(outcomes)} caught")
    return int(caught < len(outcomes))


def check(faults: Sequence[Fault]) -> int:
    """Say of each fault whether it applies to this checkout."""
    bad = 0
    for fault in faults:
        try:
            fault.changed(ROOT)
        except ValueError as error:
            bad += 1
            print(f"{fault.name}: {error}")
    print(f"{len(faults) - bad} of {len(faults)} faults apply")
    return int(bad > 0)


def main(arguments: Sequence[str]) -> int:
    """Run one of the subcommands."""
    given, command = list(arguments), []
    if "--" in given:
        at = given.index("--")
        given, command = given[:at], given[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["list", "check", "run"])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults alone")
    parser.add_argument("--jobs", type=int, default=1, help="copies at once")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=3600.0,
        help="seconds; a command that takes longer has caught the fault",
    )
    parser.add_argument(
        "--no-control", action="store_true", help="do not run the command on an unchanged copy first"
    )
    options = parser.parse_args(given)
    faults = [
        Fault(**each)
        for each in tomllib.loads((Path(__file__).parent / "faults.toml").read_text("utf-8"))["fault"]
    ]
    if unknown := set(options.only or ()) - {fault.name for fault in faults}:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    faults = [fault for fault in faults if not options.only or fault.name in options.only]
    if options.action == "list":
        for fault in faults:
            print(f"{fault.area:12} {fault.name:38} {fault.harm}")
        return 0
    if options.action == "check":
        return check(faults)
    if not command:
        parser.error("give the command after --")
    return run(faults, command, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
