"""Faults seeded one by one, each in another room: the push tests of that room must find every one of them.

``python -m tests.mutations [ROOM ...] [--jobs N]`` applies each to a copy of the tree, runs tests there until one
fails, and prints a row for each fault; exit code 1 if one was not found. Takes minutes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PASSED, FAILED = 0, 1


class Fault(NamedTuple):
    """The first place of a text in a file is replaced by another; ``tests`` are those that should find it."""

    room: str
    file: str
    old: str
    new: str
    tests: str


SEEDED = """
lattice: muphy_lb/lattice/sets.py: tests/unit/muphy_lb/lattice
- (Fraction(1, 18), _AXES)
+ (Fraction(1, 24), _AXES)
domain: muphy_lb/domain/halo.py: tests/unit/muphy_lb/domain/test_halo.py
- lexsort((own_key, voxel[own], far_rank))
+ lexsort((voxel[own], own_key, far_rank))
operators: muphy_lb/operators/equilibrium.py: tests/laws/test_collision.py
- 4.5 * cu**2
+ 4.4 * cu**2
wall rules: muphy_lb/operators/wall_rules.py: tests/laws/test_walls.py
- 0.0, 1 - 0.5 / s
+ 0.0, 1 - 0.4 / s
boundaries: muphy_lb/boundaries/profiles.py: tests/laws/test_openings.py
- midpoint) ** 2 / frame.radius**2
+ midpoint) / frame.radius
parallel: muphy_lb/parallel/communicator.py: tests/laws/test_any_physics.py -k ranks
- result[self._numbers[rank]] =
+ result[np.sort(self._numbers[rank])[::-1]] =
backends cpu: muphy_lb/backends/cpu/skeletons.py: tests/parity/test_parity.py
- np.int64(lines[warp, 0]) + 1
+ np.int64(lines[warp, 0])
backends numpy: muphy_lb/backends/numpy/backend.py: tests/laws/test_streaming.py
- state.table[entry(location), : state.n_nodes]
+ state.table[-1 - entry(location), : state.n_nodes]
engine: muphy_lb/engine/boundary_links.py: tests/laws/test_lumped_outlets.py
- phase % c.every == 0
+ phase % c.every == 1
setup: muphy_lb/setup/numerics.py: tests/unit/muphy_lb/test_preflight.py
- viscosity(relaxation_time, self.cs2) * self.spacing_m**2
+ viscosity(relaxation_time, self.cs2) * self.spacing_m
measure: muphy_lb/measure/permeability.py: tests/unit/muphy_lb/measure/test_permeability.py
- 4.0 * n_nodes / faces
+ 2.0 * n_nodes / faces
case: muphy_lb/case/run.py: tests/parallel/test_rebalancing.py
- not limit > 1.0
+ not limit > 0.0
output: muphy_lb/output/series.py: tests/unit/output/test_series.py
- _step(line) <= self.resume_step
+ _step(line) < self.resume_step
run: muphy_lb/run/verdict.py: tests/unit/muphy_lb/test_verdict.py
- not abs(kept.imbalance) <=
+ not kept.imbalance <=
checkpoint: muphy_lb/run/checkpoint.py: tests/laws/test_any_physics.py -k restart
- step=checkpoint.step,
+ step=checkpoint.step + 1,
geometry: geometry/neighbours.py: tests/unit/geometry/test_neighbours.py
- FIRST_OPENING_LINK - number
+ FIRST_OPENING_LINK - 1 - number
partition: partition/methods.py: tests/unit/partition/test_partition_cartesian.py
- sum(count / extent for
+ sum(count * extent for
thermal: muphy_lb/physics/thermal/operators/buoyancy.py: tests/laws/test_thermal.py
- return factors * parameters
+ return -factors * parameters
age: muphy_lb/operators/scalar_transport.py: tests/laws/test_age.py
- (added(own) + gain)
+ (added(own) + 2 * gain)
species: muphy_lb/operators/scalar_transport.py: tests/laws/test_species.py
- one_way = up - before * values[2 * p + 1]
+ one_way = up - before * leaving[2 * p + 1]
dispersion: muphy_lb/operators/scalar_transport.py: tests/laws/test_dispersion.py
- values[first + ahead] -= zero if walled & into_behind else values[ahead]
+ values[first + ahead] -= values[ahead]
two fluids: muphy_lb/physics/two_fluid/amounts.py: tests/laws/test_two_fluid.py
- is_there * integer(sent_a - got_a),
+ is_there * integer(sent_a - got_b),
porous media: muphy_lb/operators/darcy.py: tests/laws/test_porous_medium.py
- share = one / (one + half * gamma)
+ share = one / (one + gamma)
dissipation: muphy_lb/physics/dissipation/operator.py: tests/laws/test_dissipation.py
- (1.0 - omega / 2) * omega
+ (1.0 - omega / 3) * omega
free surface: muphy_lb/physics/free_surface/filling.py: tests/laws/test_free_surface_cases.py
- np.where(is_liquid(cell), density, 0.0) + held
+ np.where(is_liquid(cell), density, 0.0)
view: muphy_lb/view/pace.py: tests/unit/muphy_lb/view/test_pace.py
- WEIGHT * (self._newest - before)
+ WEIGHT * self._newest
api: muphy_lb/run/results.py: tests/unit/muphy_lb/api/test_answers.py
- of_wall["p50"]
+ of_wall["mean"]
"""


def seeded(text: str) -> tuple[Fault, ...]:
    """The faults of a text: three lines each, of which the first has room, file and tests, the others old and new."""
    lines = text.strip().splitlines()
    heads = (line.split(": ") for line in lines[::3])
    changes = (line[2:] for line in lines if line.startswith(("- ", "+ ")))
    return tuple(Fault(room, file, next(changes), next(changes), tests) for room, file, tests in heads)


FAULTS = seeded(SEEDED)


def verdict(fault: Fault) -> tuple[Fault, str]:
    """What the tests say of the fault: the first that fails, "not found", or how they broke off."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "out"))
        text = (tree / fault.file).read_text()
        if fault.old not in text:
            return fault, f"STALE: {fault.file} has no {fault.old!r}"
        (tree / fault.file).write_text(text.replace(fault.old, fault.new, 1))
        line = [sys.executable, "-m", "pytest", "-qx", "--no-header", "-p", "no:cacheprovider", *fault.tests.split()]
        done = subprocess.run(
            line, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True
        )
    failed = [row for row in done.stdout.splitlines() if row.startswith(("FAILED", "ERROR"))]
    if done.returncode == PASSED:
        return fault, "NOT FOUND"
    return fault, failed[0].split(" - ")[0] if failed else f"BROKE OFF, exit code {done.returncode}"


def main() -> int:
    """Seed the faults; exit code 1 unless a test has failed for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", help="all unless some are named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.rooms or fault.room in options.rooms]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = []
        for fault, said in pool.map(verdict, chosen):
            found.append(said.startswith(("FAILED", "ERROR")))
            print(f"{fault.room:<15} {fault.old} -> {fault.new}: {said}", flush=True)
    print(f"{sum(found)} of {len(found)} found")
    return int(not all(found))


if __name__ == "__main__":
    sys.exit(main())
