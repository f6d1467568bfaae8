"""Notebooks run from top to bottom, each in a folder of its own, with the interpreter that runs the tests."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import matplotlib as mpl
import matplotlib.font_manager  # builds the cache of fonts, which a kernel would report in the notebook
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

CELL_TIMEOUT_S = 120
# variables that would make a notebook call a service
KEYS = ("HINDSIGHT_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")


def read_notebook(path: Path) -> NotebookNode:
    """The stored notebook."""
    return cast("NotebookNode", nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call]


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Store a notebook; the same notebook gives the same file."""
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")  # type: ignore[no-untyped-call]


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """The notebook with the outputs of a run in `folder`; what it had before is left as it is.

    No kernel of the machine's is used, and nothing outside `folder` is written: a kernel is the interpreter that runs the
    tests, its sockets lie in a folder with a short name (the system allows a path of some hundred characters), and its
    home is `folder`.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the error shows it.
    """
    ran: NotebookNode = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    with TemporaryDirectory(prefix="nb") as sockets:
        kernels = KernelManager(
            transport="ipc",
            ip=str(Path(sockets) / "k"),
            connection_file=str(Path(sockets) / "kernel.json"),
            kernel_spec_manager=KernelSpecManager(
                kernel_dirs=[]
            ),  # only that of this interpreter's ipykernel
        )
        client = NotebookClient(
            ran,
            km=kernels,
            kernel_name="python3",
            timeout=CELL_TIMEOUT_S,
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(env=kernel_environment(folder))
    for cell in ran.cells:
        if cell.cell_type == "code":
            cell.outputs = in_one_piece(cell.outputs)
    ran.metadata["language_info"] = {"name": "python"}  # a kernel would store its version in it
    return ran


def in_one_piece(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Merge consecutive outputs of a cell, because how a kernel splits them depends on its load."""
    joined: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def kernel_environment(folder: Path) -> dict[str, str]:
    """The environment of a kernel: the tests' environment without keys, with `folder` as home and the tests' font cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
    homes = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
    home = {name: str(folder / "home") for name in homes}
    return kept | home | {"MPLCONFIGDIR": mpl.get_cachedir(), "HF_HUB_OFFLINE": "1"}


def printed(notebook: NotebookNode) -> list[str]:
    """The printed or displayed text of each code cell; pictures are represented by their type."""
    return ["".join(map(_text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    kinds = sorted(output.data)
    if "image/png" in kinds:
        return "[image/png]"
    return "".join(str(output.data[kind]) for kind in kinds)
