"""What every transport computes, on the GPUs at hand: run under mpirun; rank 0 prints one JSON record a line.

mpirun -n 4 python -m tests.parallel.transports TRANSPORT,... [NUMBERS OF KINDS [FLOW,... [BACKEND]]]
"""

import gc
import json
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import BackendError
from muphy_lb.case.case import case_from_dict
from muphy_lb.lattice import D3Q19
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.communicator import MpiCommunicator
from muphy_lb.run.solver import Solver
from tests.parallel.disturbed import CHAINS, HOT_K, TRACERS
from tests.parallel.driver import PERIODIC_ROCK
from tests.vessel import changed

KINDS = (("pull", "fp32"), ("aa", "fp32"), ("push", "fp32"), ("pull", "fp16"), ("aa", "fp16"), ("pull", "fp64"))
PARTITIONS = ("metis", "curve", "XY")
# Odd, so that what is measured in between lies in the second buffer; together more than one recorded cycle.
STRETCHES = (7, 24, 38)
FINE = {"spacing_m": 2.5e-4}


HEAT = {"reference_k": 300.0, "prandtl": 0.7, "expansion_1_k": 1e-3, "method": "double-distribution"}
CELL_VOXELS, CELL_BALLS, CELL_RADIUS = 40, 30, 6.0
SOLID, FLUID, COLD, HOT, CONDUCTING = range(5)
CELL = {
    "openings": [],
    "fluid": {"density_kg_m3": 1.2, "kinematic_viscosity_m2_s": 1.5e-5},
    "lattice": {"collision": "mrt", "lattice_velocity": None, "relaxation_time": 0.6},
    "run": {"ramp_steps": 0},
}
SPLASH = {
    "geometry": {
        "shape": "tank",
        "file": None,
        "spacing_m": 1e-3,
        "options": {"length": 40, "height": 32, "width": 24},
    },
    "openings": [],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-4},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {
        "surface_tension_n_m": 0.02,
        "liquid": [{"level_m": 0.012}, {"box_m": [[-1.0, -1.0, -1.0], [0.012, 0.024, 0.015]]}],
        "bubbles": {"pressure_pa": 1e4, "spheres": [{"centre_m": [0.03, 0.006, 0.012], "radius_m": 4e-3}]},
    },
    "lattice": {"collision": "mrt", "lattice_velocity": None, "time_step_s": 1e-4},
    "run": {"ramp_steps": 0},
}
CELL_HEAT = {"reference_k": 298.0, "prandtl": 0.71, "rayleigh": 1e6, "length_m": 0.04}


def porous_cell(folder: Path) -> Path:
    """An image of voxels: balls between a cold ceiling and a hot floor, every other ball of a wall that conducts."""
    n, rng = CELL_VOXELS, np.random.default_rng(4)
    image = np.full((n, n, n), FLUID, dtype=np.uint8)
    place = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1)
    for k, centre in enumerate(rng.uniform(0, n, (CELL_BALLS, 3))):
        off = (place - centre + n / 2) % n - n / 2
        image[(off**2).sum(axis=-1) < CELL_RADIUS**2] = (SOLID, CONDUCTING)[k % 2]
    image[0], image[-1] = HOT, COLD
    np.save(folder / "cell.npy", image)
    return folder / "cell.npy"


def cells(image: Path):
    """Natural convection in the cell: all balls adiabatic, or heat spreads in every other."""
    options = {"fluid_value": FLUID, "wall_values": {"cold": COLD, "hot": HOT, "balls": CONDUCTING}}
    geometry = {"shape": None, "file": str(image), "spacing_m": 1e-3, "options": options, "periodic": ["x", "y"]}
    fixed = [{"name": "cold", "temperature_k": 293.0}, {"name": "hot", "temperature_k": 303.0}]
    for name, method, balls in (
        ("porous cell", "finite-differences", {"name": "balls"}),
        ("conducting cell", "double-distribution", {"name": "balls", "conductivity_ratio": 5.0}),
    ):
        yield name, CELL | {"geometry": geometry, "walls": [*fixed, balls], "thermal": CELL_HEAT | {"method": method}}


def answering() -> list[dict]:
    """The openings of the vessel with networks behind the outlets, one updated in every step, and a beating inlet."""
    inlet, *outlets = changed()["openings"]
    network = {"characteristic_resistance_pa_s_m3": 2e5, "resistance_pa_s_m3": 2e6, "compliance_m3_pa": 2e-8}
    beat = {"waveform": {"period_s": 0.05, "mean": 1.0, "sine": [0.5]}}
    names = [outlet["name"] for outlet in outlets]
    every = dict(zip(names, (1, 16), strict=True))
    return [inlet | beat, *({"name": name, "windkessel": network | {"every_steps": every[name]}} for name in names)]


def flows(folder: Path):
    """Name and tables of what is computed; images go into the folder."""
    vessel = {"geometry": changed()["geometry"] | FINE, "lattice": {"lattice_velocity": 0.02}}
    yield "vessel", vessel
    yield (
        "rock",
        PERIODIC_ROCK
        | {"geometry": PERIODIC_ROCK["geometry"] | {"options": {"size": 48, "radius": 9.0, "porosity": 0.5}}},
    )

    # Cut across two axes, parts meet through diagonals alone, of which this temperature knows nothing.
    warm = [opening | {"temperature_k": 300.0 + 5.0 * k} for k, opening in enumerate(changed()["openings"])]
    yield "warm vessel", vessel | {"openings": warm, "thermal": HEAT}
    yield "answering vessel", vessel | {"openings": answering(), "age": {}, "dissipation": {}}
    yield from cells(porous_cell(folder))
    yield "splash", SPLASH  # whose bytes and numbers of bubbles cross several times a step
    # Each bead pushes nodes of other ranks, which are added up there; both kinds of particles migrate.
    yield "beads", vessel | {"fluctuating": {}, "fluid": {"temperature_k": HOT_K}, "particles": [CHAINS, TRACERS]}


def results(simulation: Solver) -> list[np.ndarray]:
    """Populations, the fields that physics bring along, in node-list order on rank 0, and states of outlets."""
    found = list(simulation.populations())
    found += [simulation.field(name) for physics in simulation.physics for name in physics.output_fields]
    states = simulation.engine.feedback.record() if simulation.engine.feedback else {}
    return [*found, *map(np.array, states.values())]


def n_shared_openings(simulation: Solver) -> int:
    """Number of openings with links on several ranks."""
    own = simulation.communicator.gather(np.unique(simulation.domain.links.boundary))
    return 0 if own is None else int((np.unique(np.concatenate(own), return_counts=True)[1] > 1).sum())


def compute(tables, compute_section, communicator) -> tuple[list[np.ndarray], dict]:
    """What is found after some steps, and the transport that was used."""
    simulation = Solver(case_from_dict(changed(compute=compute_section, **tables)), communicator)
    for n_steps in STRETCHES:
        simulation.step(n_steps)
        simulation.health()
        simulation.openings()
    about = {"used": simulation.engine.transport, "shared_openings": n_shared_openings(simulation)}
    return results(simulation), about


def compare(tables, compute_section, alone, communicator) -> dict:
    """What one transport makes of a flow on all ranks, against one rank."""
    record = {**compute_section, "ranks": communicator.size}
    try:
        found, about = compute(tables, compute_section, communicator)
    except BackendError as error:
        return record | {"refused": str(error)}
    if communicator.rank:
        return record
    equal = all(np.array_equal(*pair) for pair in zip(found, alone, strict=True))
    populations = alone[: D3Q19.q]
    return record | about | {"equal": equal, "largest": max(float(np.abs(row).max()) for row in populations)}


def _is_refused(tables, streaming: str, precision: str) -> bool:
    if "particles" in tables:
        return streaming != "pull" or precision == "fp16"
    return (precision == "fp16" and not {"age", "free_surface"}.isdisjoint(tables)) or (
        streaming == "push" and "free_surface" in tables
    )


def main(transports, kinds, names, backend):
    """Every flow, or those with these names, by every transport, streaming and precision."""
    from mpi4py import MPI

    communicator = MpiCommunicator(MPI)
    with tempfile.TemporaryDirectory() as folder:
        chosen = [(flow, tables) for flow, tables in flows(Path(folder)) if not names or flow in names]
        for (flow, tables), (streaming, precision) in product(chosen, kinds):
            if _is_refused(tables, streaming, precision):
                continue
            kind = {"backend": backend, "streaming": streaming, "precision": precision}
            alone = compute(tables, kind, SerialCommunicator())[0] if communicator.rank == 0 else None
            for transport, partition in product(transports, PARTITIONS):
                shared = kind | {"transport": transport, "partition": partition}
                record = {"flow": flow} | compare(tables, shared, alone, communicator)
                gc.collect()
                communicator.barrier()
                if communicator.rank == 0:
                    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    chosen = [KINDS[int(k)] for k in sys.argv[2]] if len(sys.argv) > 2 else KINDS
    names = sys.argv[3].split(",") if len(sys.argv) > 3 else ()
    main(sys.argv[1].split(","), chosen, names, sys.argv[4] if len(sys.argv) > 4 else "cuda")
