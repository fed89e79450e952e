"""Study: an answer with a band, as ``muphy-lb study`` makes it, in Python."""

from collections.abc import Callable, Mapping
from os import PathLike
from types import FunctionType

import numpy as np

from muphy_lb.apps.study.answers import Answer, answers_of_table
from muphy_lb.apps.study.members import Members
from muphy_lb.apps.study.report import lines, results_of, write_results
from muphy_lb.apps.study.running import Answer as Model
from muphy_lb.apps.study.running import Stopped, run_members
from muphy_lb.apps.study.samplers import design
from muphy_lb.apps.study.section import GRID, read_study
from muphy_lb.apps.study.table import Table, table_of
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable
from muphy_lb.case.toml import named_path
from muphy_lb.parallel import agreed_on_root, connect, from_root


class Study:
    """Many runs of a case whose uncertain values differ. ::

        from muphy_lb import Study
        study = Study("study.toml", "out/study")
        study.run()
        print(study)
        study.answers["openings.outlet.mean_pressure_pa"].band.high

    Members that have ended are not run again, whatever stopped the program before.

    Args:
        given: path of a study or of a case with a table ``study``; or such tables by name, in which ``case`` may be a
            path, tables or a :class:`muphy_lb.Case`.
        folder: output folder.
        overrides: changes of keys of the case, such as ``{"run.steps": 1000}``.
        model: a function ``{parameter: value} -> {answer: number}`` that is studied in place of a case; of a study with
            ``grids`` or ``coarse`` the values have ``grid``, too.
        overwrite: whether the members of another study in the folder are removed.
        communicator: the ranks; found by itself if not given. All of them work on each member.

    Attributes:
        members: all members, their values and folders.

    Raises:
        InputError: the study, or the case of a member, is not valid; the folder holds another study.
        OutputError: the folder cannot be written.
    """

    def __init__(
        self,
        given: str | PathLike | Mapping,
        folder: str | PathLike,
        overrides=(),
        model: Model | None = None,
        overwrite: bool = False,
        communicator=None,
    ):
        self.communicator, self._model = communicator or connect(), model
        self.members = from_root(self.communicator, lambda: members_of(given, folder, overrides, model))
        agreed_on_root(self.communicator, lambda: _begun(self.members, overwrite))

    def run(self, numbers=None, say: Callable[[str], None] = lambda text: None) -> Stopped | None:
        """Run all members that have not ended, or those of some numbers, one after the other; processes that run the
        same study beside each other share them. Collective.

        Args:
            numbers: of members, from 0; all by default.
            say: called with a line on every member.

        Returns:
            None unless a stop signal ended the work early.

        Raises:
            InputError: no member has such a number; an answer that is asked for is none.
            OutputError: the disk refuses; nothing of what has ended is lost.
        """
        count = self.members.design.n_members
        wanted = range(count) if numbers is None else list(numbers)
        for number in wanted if numbers is not None else ():
            if number not in range(count):
                raise InputError(f"study: there is no member {number}; members have the numbers 0 to {count - 1}")
        return run_members(self.members, wanted, say, self.communicator, self._model)

    @property
    def table(self) -> Table:
        """Values and answers of all members."""
        return table_of(self.members)

    @property
    def answers(self) -> dict[str, Answer]:
        """Band and indices of every answer by its name."""
        return {answer.name: answer for answer in answers_of_table(self.table)}

    def columns(self) -> dict[str, np.ndarray]:
        """(m,) values of every parameter and answer by name; ``grid``, where members are on other grids."""
        table, own = self.table, self.members.design
        grid = {GRID: own.grid} if own.has_grids else {}
        return {name: own.values[:, k] for k, name in enumerate(own.names)} | grid | dict(table.answers)

    def write(self, with_pictures: bool = True) -> list[str]:
        """Write ``members.csv``, ``answers.json`` and ``report.html`` on rank 0; returns the results in lines for
        people. Raises OutputError: the disk refuses."""

        def work() -> list[str]:
            table = self.table
            return list(lines(table, write_results(table, self.members.folder, with_pictures)))

        return from_root(self.communicator, work)

    def __str__(self):
        table = self.table
        return "\n".join(lines(table, results_of(table)))


def members_of(given, folder: str | PathLike, overrides=(), model: Model | None = None) -> Members:
    """The members of a study, of which nothing is written; arguments and errors as of :class:`Study`."""
    place, asked = named_path(folder, "a folder"), read_study(given, overrides, needs_case=model is None)
    members = Members(asked, design(asked.section, asked.folder), place, _name_of(model))
    if asked.case is not None:
        for number in range(members.design.n_members):
            members.case(number)
    return members


def _name_of(model: Model | None) -> str:
    """The qualified name of a function, or of the type of an object that is called."""
    if model is None:
        return ""
    named = model if isinstance(model, FunctionType) else type(model)
    return f"{named.__module__}.{named.__qualname__}"


def _begun(members: Members, overwrite: bool) -> None:
    check_writable(members.folder)
    members.begin(overwrite)
