"""A run of some ranks that a viewer pauses and looks at at every step; writes populations and the last pictures.

Usage: mpirun -n N python -m tests.parallel.watched FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import muphy_lb
from muphy_lb.parallel import connect
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.view import live, wall
from muphy_lb.view.messages import Picture, Update
from muphy_lb.view.page import ServerSocket
from tests.unit.muphy_lb.view.test_live import DEMANDS, EACH, GREEDY, MANY, ScriptedPage, command, finished
from tests.vessel import vessel

N_BEFORE, N_AFTER = 12, 8
CHANGE = {"fluid.kinematic_viscosity_m2_s": 5e-5}


class Impatient(ScriptedPage):
    """Pauses the run early, and lets it continue."""

    script = (GREEDY, command("pause"), GREEDY, GREEDY, command("go on"), *[GREEDY] * MANY)


def main(folder: Path) -> None:
    """Run and write ``FOLDER.npz``."""
    wall.started = finished
    live.PageProcess, ServerSocket.url, ServerSocket.directions = Impatient, "", lambda self: ""
    live.Pace.leave, live.Pace.has_picture = lambda self, is_watched: 1, lambda self, is_new=False: True
    communicator = connect()
    simulation = Solver(vessel(**EACH), communicator)
    view = live.LiveView(simulation, ServerSocket(None, "secret") if communicator.rank == 0 else None)
    Run(simulation, folder).execute()
    populations = list(simulation.populations())
    shown = [*last_pictures(view)] if view._page else []
    changed_populations, more = in_python(communicator)
    if communicator.rank == 0:
        np.savez(folder.with_suffix(".npz"), populations, changed_populations, *shown, *more)
    communicator.finalise()


def in_python(communicator) -> tuple[list, list]:
    """The same as a user's script, whose viscosity changes on the way: populations, and the last pictures."""
    live.open_socket = lambda _port: ServerSocket(None, "secret")
    with muphy_lb.Simulation(vessel(**EACH), communicator=communicator) as flow:
        view = flow.view()
        flow.run(steps=N_BEFORE)
        flow.change(CHANGE)
        flow.run(steps=N_AFTER)
        if view._page:
            assert view._page.of(Update)[-1].step == N_BEFORE + N_AFTER
        return list(flow.core.populations()), [*last_pictures(view)] if view._page else []


def last_pictures(view):
    """The values of the last picture of every demand, by place."""
    for picture in view._page.of(Picture)[-len(DEMANDS) :]:
        yield picture.values[np.argsort(picture.where)]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
