"""A script under mpirun: calls that fail on rank 0 alone, each caught on all ranks and followed by a step of all.

``mpirun -n 2 python -m tests.parallel.calls_that_fail FOLDER`` prints a line for each call and rank.
"""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from muphy_lb import Simulation
from muphy_lb.base.errors import MuphyError
from muphy_lb.parallel import connect
from tests.vessel import changed

QUICK = {"backend": "numpy"}
FULL_BYTES = 20_000
"""Bytes of a file with which the disk is full: less than a checkpoint or a report needs, more than all else."""


@contextmanager
def full_disk() -> Iterator[None]:
    """Context in which rank 0 cannot write large files."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if connect().rank == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def on_a_full_disk(call: Callable) -> Callable:
    """A call that finds the disk full."""

    def made(simulation: Simulation) -> None:
        with full_disk():
            call(simulation)

    return made


def without_xarray(call: Callable) -> Callable:
    """A call on whose rank 0 a package is missing."""

    def made(simulation: Simulation) -> None:
        if simulation.is_root:
            sys.modules["xarray"] = None
        call(simulation)

    return made


def failing(simulation: Simulation) -> None:
    """A function of a user that fails on rank 0."""
    if simulation.is_root:
        raise FileNotFoundError("no such folder")


def calls_back(simulation: Simulation) -> None:
    """Call it while the flow steps."""
    simulation.every(1, failing)
    try:
        simulation.step(2)
    finally:
        simulation.forget(failing)


def calls(folder: Path) -> dict[str, Callable]:
    """The calls by name; what differs between ranks is wrong on rank 0 alone."""
    is_root, file = connect().rank == 0, folder / "file"

    def case(**sections) -> dict:
        return changed(compute=QUICK, **sections)

    def at_once(wrong, right):
        return wrong if is_root else right

    return {
        "no such wall": lambda _: Simulation(case(walls=[{"name": "nobody"}])),
        "no geometry": lambda _: Simulation(case(geometry={"options": {"parent_radius_m": 0.0}})),
        "no case": lambda _: Simulation(at_once(folder / "nowhere.toml", case())),
        "no tables": lambda _: Simulation.from_case(case(), at_once(["run.steps=x"], [])),
        "nothing to load": lambda _: Simulation.load(folder / "nowhere"),
        "save to a file": lambda sim: sim.save(file),
        "save to a full disk": on_a_full_disk(lambda sim: sim.save(folder / "saved")),
        "run into a file": lambda sim: sim.run(folder=file),
        "checkpoint on a full disk": on_a_full_disk(lambda sim: sim.run(folder=folder / "checkpoints", steps=20)),
        "report on a full disk": on_a_full_disk(lambda sim: sim.run(folder=folder / "report", steps=5)),
        "no steps": lambda sim: sim.step(at_once("x", 1)),
        "no time": lambda sim: sim.run_for(at_once(-1.0, 1e-6)),
        "time and steps": lambda sim: sim.run(time_s=at_once(1.0, None), steps=5),
        "no tolerance": lambda sim: sim.run_until_steady(at_once(-1.0, 1e-3), steps=5),
        "every 0": lambda sim: sim.every(at_once(0, 1), failing),
        "no change": lambda sim: sim.change(at_once({"openings.inlet.velocity_m_s": "fast"}, {})),
        "no shape": lambda sim: sim.set_velocity_m_s(at_once([1.0], [0.0, 0.0, 0.0])),
        "no field": lambda sim: sim.array(at_once("nonsense", "pressure")),
        "no plane": lambda sim: sim.plot.slice(axis="x", position_m=at_once(1e3, 0.01)),
        "no package": without_xarray(lambda sim: sim.fields("pressure")),
        "a function that fails": calls_back,
    }


def main(folder: Path) -> None:
    """All of them."""
    if connect().rank == 0:
        (folder / "file").touch()
    case = changed(compute=QUICK, output={"checkpoint_every_steps": 10}, run={"steps": 10**6})
    simulation = Simulation(case)
    for name, call in calls(folder).items():
        before, told = simulation.step_number, "nothing"
        try:
            call(simulation)
        except (MuphyError, FileNotFoundError) as error:
            told = type(error).__name__
        went_on = simulation.step_number - before
        simulation.step(1)
        print(f"{name}: {told} after {went_on}, {simulation.health.max_velocity_m_s}\n", end="", flush=True)
    velocity_m_s = 1e-3 if simulation.is_root else 2e-3
    simulation.change({"openings.inlet.velocity_m_s": velocity_m_s})
    simulation.step(2 if simulation.is_root else 3)
    told = simulation.case.openings[0].velocity_m_s, simulation.step_number, simulation.health.max_velocity_m_s
    print(f"values of rank 0: {told}\n", end="", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
