"""A campaign: random flows of every physics on one, two and three ranks, compared bit for bit.

``mpirun -n 3 python -m tests.parallel.bitwise [-n CASES] [--seed SEED] [--backend NAME] [--seconds SECONDS]`` prints a
line for each case.
"""

import argparse
import hashlib
import sys
import time
from math import inf

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.parallel.communicator import MpiCommunicator
from muphy_lb.run.solver import Solver
from tests.laws.test_random_tanks import random_tank
from tests.parallel.disturbed import CHAINS, HOT_K, PULSATILE, TRACERS, WARM
from tests.vessel import changed

RANKS = (1, 2, 3)
PARTICLES = {"fluctuating": {}, "fluid": {"temperature_k": HOT_K}, "particles": [CHAINS, TRACERS]}
FLOWS = ({}, {"openings": PULSATILE}, WARM, {"age": {"diffusivity_m2_s": 1e-6}}, {"dissipation": {}}, PARTICLES)
SHEAR = {"vtk": False, "picture": False, "wall_shear": True}
COLLISIONS = ("bgk", "trt", "mrt", "regularised", "recursive-regularised")


def random_case(seed: int, backend: str) -> dict:
    """The tables of a case: every second one a tank that is partly filled, the others vessels with other physics."""
    random = np.random.default_rng(seed)
    number, collision = int(random.integers(len(FLOWS))), str(random.choice(COLLISIONS))
    precision, streaming = str(random.choice(["fp32", "fp64"])), str(random.choice(["pull", "aa"]))
    compute = {"backend": backend, "precision": precision, "streaming": streaming}
    if seed % 2:
        tables, _ = random_tank(seed)
        tables["lattice"] = tables["lattice"] | {"collision": collision}
    else:
        more = dict(FLOWS[number]) | ({"compute": {"streaming": "pull"}} if FLOWS[number] is PARTICLES else {})
        compute |= more.pop("compute", {})
        collision = "bgk" if FLOWS[number] is PARTICLES else collision
        rule = "half-way" if FLOWS[number] is PARTICLES else str(random.choice(["half-way", "bouzidi"]))
        tables = changed(**more, lattice={"collision": collision, "walls": rule})
        tables["walls"] = [{"name": "side", "box_m": [[-1.0, -1.0, -1.0], [0.0, 1.0, 1.0]]}]
    return tables | {"compute": compute, "output": SHEAR}


def digests(tables: dict, communicator) -> dict[str, str]:
    """Checksums of the state after some steps and of what is told of it, by step and name; empty beside rank 0."""
    simulation, found = Solver(case_from_dict(tables), communicator), dict[str, list]()
    for n_steps in (3, 14):
        simulation.step(n_steps)
        forces, step = simulation.wall_forces() or {}, f"step {simulation.step_number}:"
        found[f"{step} wall forces"] = [np.array([force.force_n for force in forces.values()])]
        found[f"{step} wall shear"] = [WallShear(simulation).traction_pa()]
        found[f"{step} populations"] = list(simulation.populations())
        found |= {f"{step} {name}": [simulation.collect(values)] for name, values in simulation.state.fields().items()}
        for kind, columns in sorted((simulation.particles() or {}).items()):
            found |= {f"{step} {kind} {name}": [column] for name, column in sorted(columns.items())}
    return {} if communicator.rank else {name: _checksum(arrays) for name, arrays in found.items()}


def _checksum(arrays: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()


def _unlike(first: dict[str, str], other: dict[str, str]) -> list[str]:
    """The names of what differs in the first state that differs."""
    names = [name for name in first | other if first.get(name) != other.get(name)]
    return [name for name in names if name.split(":")[0] == names[0].split(":")[0]]


def main() -> int:
    """The campaign; exit code 1 if a bit differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=20, help="number of cases (default 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="numpy", choices=("numpy", "cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=inf, help="begin no other case after that time")
    options = parser.parse_args()
    from mpi4py import MPI

    world, until, counts = MpiCommunicator(MPI), time.monotonic() + options.seconds, [0, 0]
    groups = [world.first(n_ranks) for n_ranks in RANKS]
    for seed in range(1000 * options.seed, 1000 * options.seed + options.n):
        if world.broadcast(time.monotonic() > until):
            break
        tables = random_case(seed, options.backend)
        try:
            found = [digests(tables, group) if group else {} for group in groups]
        except InputError as error:
            print(f"{seed}: refused, {error}" if world.rank == 0 else "", end="\n" * (world.rank == 0), flush=True)
            continue
        finally:
            world.barrier()
        if world.rank == 0:
            differs = {n_ranks: _unlike(found[0], each) for n_ranks, each in zip(RANKS, found, strict=True)}
            differs = {n_ranks: names for n_ranks, names in differs.items() if names}
            counts = [counts[0] + len(RANKS) - 1, counts[1] + len(differs)]
            print(f"{seed}: {f'differs on ranks {differs}: {tables}' if differs else 'equal'}", flush=True)
    if world.rank == 0:
        print(f"{counts[0] - counts[1]} of {counts[0]} comparisons equal: seed {options.seed}, {options.backend}")
    return int(world.broadcast(counts[1] > 0))


if __name__ == "__main__":
    sys.exit(main())
