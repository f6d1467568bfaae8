"""Errors of evaluations: an invalid dataset, and a run folder that belongs to another run."""

from __future__ import annotations

from pathlib import Path

from hindsight_integrations import HindsightError


class DatasetInvalid(HindsightError, ValueError):
    """A dataset's file does not have the published format.

    Attributes:
        path: the file.
        field: the invalid field, as a path: "qa[3].evidence".
        problem: what is wrong with it.
    """

    def __init__(self, path: Path, field: str, problem: str) -> None:
        self.path, self.field, self.problem = path, field, problem
        super().__init__(
            f"{path}: {field}: {problem}. Download the file again from its publisher (see docs/evals.md), "
            "or correct this field."
        )


class RunMismatch(HindsightError, ValueError):
    """A run folder was created with other settings than those given.

    Attributes:
        folder: the run folder.
        setting: the first setting that differs.
        begun: the value with which the run was started.
        given: the value given now.
    """

    def __init__(self, folder: Path, setting: str, begun: object, given: object) -> None:
        self.folder, self.setting, self.begun, self.given = folder, setting, begun, given
        super().__init__(
            f"the run in {folder} was started with {setting} = {begun!r}, not {given!r}, so its results would be mixed. "
            "Use another folder, or the setting with which it was started."
        )
