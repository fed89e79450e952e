"""A run of some ranks that a viewer pauses and looks at at every step; writes populations and the last pictures.

Usage: mpirun -n N python -m tests.parallel.watched FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from muphy_lb.parallel import connect
from muphy_lb.run.loop import Run
from muphy_lb.run.simulation import Simulation
from muphy_lb.view import live
from muphy_lb.view.door import Door
from muphy_lb.view.messages import Picture
from tests.unit.muphy_lb.view.test_live import DEMANDS, EACH, GREEDY, MANY, ScriptedPage, command
from tests.vessel import vessel


class Impatient(ScriptedPage):
    """Pauses the run early, and lets it go on."""

    script = (GREEDY, command("pause"), GREEDY, GREEDY, command("go on"), *[GREEDY] * MANY)


def main(folder: Path) -> None:
    """Run and write ``FOLDER.npz``."""
    live.PageProcess, Door.url, Door.directions = Impatient, "", lambda self: ""
    live.Pace.leave, live.Pace.has_picture = lambda self, is_watched: 1, lambda self, is_new=False: True
    communicator = connect()
    simulation = Simulation(vessel(**EACH), communicator)
    view = live.LiveView(simulation, Door(None, "secret") if communicator.rank == 0 else None)
    Run(simulation, folder).execute()
    populations = list(simulation.populations())
    if communicator.rank == 0:
        shown = [picture.values[np.argsort(picture.where)] for picture in view._page.of(Picture)[-len(DEMANDS) :]]
        np.savez(folder.with_suffix(".npz"), populations, *shown)
    communicator.finalise()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
