"""What every number of ranks computes: all variants in one process, so that the kernels are compiled once."""

import shutil
from pathlib import Path

from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.geometry.store import write_geometry
from muphy_lb.partition.store import write_partition
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from tests.support import random_owner
from tests.vessel import changed, vessel

N_STEPS, MIDDLE = 60, 30
RANKS = 3
PREPARED = "vessel.h5"
PARTITIONS = ("metis", "XYZ", "curve")
STREAMINGS = ("pull", "push", "aa")
# Any share of the nodes with any streaming: tests/laws/test_ranks.py, all ranks in one process.
VARIANTS = (*((partition, "pull") for partition in PARTITIONS), *(("metis", streaming) for streaming in STREAMINGS[1:]))
PERIODIC_ROCK = {
    "geometry": {"shape": "sphere_pack", "spacing_m": 1e-5, "options": {"size": 16, "radius": 4.0, "porosity": 0.6}},
    "openings": [],
    "flow": {"acceleration_m_s2": [2.0, 1.0, 0.5]},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "lattice": {"lattice_velocity": None, "relaxation_time": 0.9},
}
STEADY = {"steady_tolerance": 0.02, "steady_interval_steps": 20, "steps": 2000}


def tables(partition, streaming):
    """Name and tables of the flows to compute with one partitioning and streaming."""
    compute = {"backend": "cpu", "partition": partition, "streaming": streaming}
    output = {"checkpoint_every_steps": MIDDLE}
    yield "vessel", changed(compute=compute, output=output, run={"steps": N_STEPS})
    yield "rock", changed(compute=compute, output=output, run={"steps": N_STEPS}, **PERIODIC_ROCK)
    if streaming == "pull":
        yield "steady", changed(compute=compute, run=STEADY)


def compute_all(folder, communicator):
    """Run every variant into ``folder/NAME-PARTITION-STREAMING``."""
    for partition, streaming in VARIANTS:
        if communicator.size == 1 and partition != PARTITIONS[0]:
            continue
        for name, table in tables(partition, streaming):
            simulation = Solver(case_from_dict(table), communicator)
            Run(simulation, Path(folder) / f"{name}-{partition}-{streaming}").execute()


def prepare(folder) -> None:
    """Write the nodes of a vessel with interpolating walls, and which of three ranks has each, into ``folder``."""
    nodes, _ = load_nodes(vessel(lattice={"walls": "bouzidi"}))
    write_geometry(Path(folder) / PREPARED, nodes)
    write_partition(Path(folder) / PREPARED, "mine", random_owner(nodes, RANKS), "by hand")


def prepared(folder) -> Case:
    """The case of a vessel whose nodes :func:`prepare` has written."""
    table = changed(
        lattice={"walls": "bouzidi"},
        compute={"backend": "cpu", "partition": "mine"},
        output={"checkpoint_every_steps": N_STEPS},
        run={"steps": N_STEPS},
    )
    return case_from_dict(table | {"geometry": {"file": PREPARED}}, folder)


def compute_prepared(source, folder, communicator) -> None:
    """Run the vessel prepared in ``source`` into ``folder/prepared``; each rank reads its own part."""
    Run(Solver(prepared(source), communicator), Path(folder) / "prepared").execute()


def resume_all(source, folder, communicator):
    """Continue the middle checkpoints of one rank in ``source``, into ``folder/NAME-restarted-STREAMING``."""
    for streaming in STREAMINGS:
        for name, table in list(tables("metis", streaming))[:2]:
            target = Path(folder) / f"{name}-restarted-{streaming}"
            if communicator.rank == 0:
                restart_folder(Path(source) / f"{name}-metis-{streaming}", target)
            communicator.barrier()
            Run(Solver(case_from_dict(table), communicator), target, resume=True).execute()


def restart_folder(source, target):
    """Copy an output folder without its last checkpoint."""
    shutil.copytree(source, target)
    (target / "checkpoints" / f"step_{N_STEPS:012d}.h5").unlink()


def compute_on_ranks(communicator, source, folder):
    """Everything into ``folder``."""
    compute_all(folder, communicator)
    compute_prepared(source, folder, communicator)
    resume_all(source, folder, communicator)
