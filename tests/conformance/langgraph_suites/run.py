"""Run LangGraph's own store tests on HindsightStore: `make test-conformance`.

The tests come from the source distributions of the installed versions, downloaded next to the environment
that runs them.
"""

import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
DOWNLOADS = Path(sys.prefix) / "langgraph-suites"
SUITES = {
    "langgraph-checkpoint": ("test_store.py",),
    "langgraph-checkpoint-sqlite": ("test_store.py", "test_async_store.py", "test_ttl.py"),
}


def unpacked(distribution: str) -> Path:
    """The folder with the `tests` of the installed version of a distribution."""
    release = version(distribution)
    name = f"{distribution.replace('-', '_')}-{release}"
    archive, folder = DOWNLOADS / f"{name}.tar.gz", DOWNLOADS / name
    if not archive.exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        subprocess.run(
            [*pip, "--no-binary", distribution, "--dest", str(DOWNLOADS), f"{distribution}=={release}"],
            check=True,
        )
    with tarfile.open(archive) as sdist:  # only the tests: LangGraph itself is the installed one
        tests = [member for member in sdist.getmembers() if member.name.startswith(f"{name}/tests/")]
        # available in Python 3.11.4 and later
        sdist.extraction_filter = getattr(tarfile, "data_filter", None)
        sdist.extractall(DOWNLOADS, members=tests)  # noqa: S202 - LangGraph's own, of a pinned version
    return folder


def passed(distribution: str) -> bool:
    """Whether all tests of a suite pass, except the published exceptions."""
    print(f"\n{distribution} {version(distribution)}", flush=True)  # noqa: T201 - the heading of what pytest prints
    files = [f"tests/{name}" for name in SUITES[distribution]]
    folder = unpacked(distribution)
    options = [
        "-q",
        "-rfExX",
        "-p",
        "no:cacheprovider",
        "-c",
        str(HERE / "suite.ini"),
        "--rootdir",
        str(folder),
    ]
    run = [sys.executable, "-m", "pytest", "-p", "suite_plugin", "--suite", distribution, *options, *files]
    paths = [str(HERE), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(run, cwd=folder, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    # each runs, whatever the result of the previous one
    outcomes = [passed(distribution) for distribution in SUITES]
    sys.exit(not all(outcomes))
