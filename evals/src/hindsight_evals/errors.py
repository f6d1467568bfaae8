"""What goes wrong in evaluations: a dataset that is not as published, a run folder that belongs to another run."""

from __future__ import annotations

from pathlib import Path

from hindsight_integrations import HindsightError


class DatasetInvalid(HindsightError, ValueError):
    """A dataset's file is not as its publisher describes it.

    Attributes:
        path: the file.
        field: where in it, as a path: "qa[3].evidence".
        problem: what is wrong there.
    """

    def __init__(self, path: Path, field: str, problem: str) -> None:
        self.path, self.field, self.problem = path, field, problem
        super().__init__(
            f"{path}: {field}: {problem}. Get the file anew from its publisher (docs/evals.md names each), "
            "or mend this field."
        )


class RunMismatch(HindsightError, ValueError):
    """A run folder was begun with other settings than it is to be resumed with.

    Attributes:
        folder: the run folder.
        setting: the first setting that differs.
        begun: what the run was begun with.
        given: what it is given now.
    """

    def __init__(self, folder: Path, setting: str, begun: object, given: object) -> None:
        self.folder, self.setting, self.begun, self.given = folder, setting, begun, given
        super().__init__(
            f"the run in {folder} was begun with {setting} = {begun!r}, not {given!r}: its results would mix. "
            "Give another folder, or the setting it was begun with."
        )
