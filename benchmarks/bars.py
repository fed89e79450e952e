"""Drag and Strouhal number of a round or square bar across a channel or a square duct at Re = 100, at several sizes.

The channel is 4.1 D high, the bar's axis 2 D above its bottom and 5 D behind the inlet, as in Schaefer and Turek
(1996); the duct is as wide as high. The Reynolds number is that of the mean velocity and the side or diameter D.

    python benchmarks/bars.py SHAPE DIMENSION VOXELS [TIME [VELOCITY]]     # round 3 20 80 0.05; TIME in D / U
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.implicit import FirstWall, RoundWall, plane_pair
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import end_openings, voxel_centres
from muphy_lb.geometry.store import write_geometry
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels, wall_flag
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver

LENGTH, HEIGHT, AXIS, REYNOLDS = 16, 4.1, (5.0, 2.0), 100.0
SAMPLES = 5  # per D / U


def bar(shape: str, dimension: int, size: int) -> Voxels:
    """The duct with its bar; lengths in voxels, all walls half-way but those of a round bar."""
    n_rows, is_plane = round(HEIGHT * size), dimension == 2
    flags = np.full((1 if is_plane else n_rows, n_rows, LENGTH * size), FLUID, dtype=np.uint8)
    flags = np.pad(flags, ((1 - is_plane,) * 2, (1, 1), (0, 0)), constant_values=SOLID)
    x, y = AXIS[0] * size - 0.5, AXIS[1] * size + 0.5
    planes = [plane_pair(i, 0.5, n_rows + 0.5) for i in range(1, dimension)]
    cylinder = RoundWall(np.array([x, y, 0.0]), 0.5 * size, (0.0, 0.0, 1.0))
    if shape == "round":
        inside = cylinder.gaps(voxel_centres((1, *flags.shape[1:]))).reshape(flags.shape[1:]) <= 1e-9
    else:
        rows, columns = np.indices(flags.shape[1:])
        inside = np.maximum(np.abs(rows - y), np.abs(columns - x)) < 0.5 * size
    flags[(flags == FLUID) & inside] = wall_flag(0)
    walls = FirstWall((cylinder, *planes)) if shape == "round" else None
    voxels = Voxels(flags, 1.0, (0.0, 0.0, 0.0), (False, False, is_plane), (), ("bar",), walls)
    middle = 0.5 * (n_rows + 1)
    return carve(voxels, end_openings(voxels, 0, np.array([0.0, middle, 0.0 if is_plane else middle])))


def flow(shape: str, dimension: int, size: int, velocity: float, backend: str) -> Solver:
    """The flow at rest, in lattice units."""
    voxels, name = bar(shape, dimension, size), "D2Q9" if dimension == 2 else "D3Q19"
    nodes, profile = build_nodes(voxels), "parabolic" if dimension == 2 else "rectangular"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bar.h5"
        write_geometry(path, cut_links(nodes, voxels.wall_shape) if voxels.wall_shape else nodes)
        area = size * (1.0 if dimension == 2 else round(HEIGHT * size))
        case = {
            "geometry": {"file": str(path)},
            "openings": [
                {"name": "inlet", "velocity_m_s": velocity, "profile": profile},
                {"name": "outlet", "pressure_pa": 0.0},
            ],
            "walls": [{"name": "bar", "reference_velocity_m_s": velocity, "reference_area_m2": area}],
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": velocity * size / REYNOLDS},
            "lattice": {
                "name": name,
                "time_step_s": 1.0,
                "collision": "recursive-regularised",
                "walls": "central-linear" if shape == "round" else "half-way",
            },
            "compute": {"backend": backend, "precision": "fp32"},
            "run": {"steps": 1, "ramp_steps": 200 * size},
        }
        return Solver(case_from_dict(case), SerialCommunicator())


def measure(simulation: Solver, size: int, velocity: float, during: float) -> np.ndarray:
    """(n, 3) time in D / U, drag and lift coefficient during some time."""
    steps, rows = round(size / velocity / SAMPLES), []
    for _ in range(round(during * SAMPLES)):
        simulation.step(steps - 1)
        now = []
        for one in (0, 1):  # two steps, over which the mode of period two vanishes
            simulation.step(one)
            force = simulation.wall_forces(averaged=False)["bar"]
            now.append((force.drag_coefficient, force.lift_coefficient))
        rows.append((simulation.step_number * velocity / size, *np.mean(now, axis=0)))
    return np.array(rows)


def frequency(time: np.ndarray, lift: np.ndarray) -> float:
    """Of the lift, from its passages upwards through the mean; not a number with fewer than three."""
    above = lift - lift.mean()
    up = np.flatnonzero((above[:-1] < 0.0) & (above[1:] >= 0.0))
    if up.size < 3:
        return float("nan")
    at = time[up] - above[up] * (time[up + 1] - time[up]) / (above[up + 1] - above[up])
    return float((at.size - 1) / (at[-1] - at[0]))


def main(shape: str, dimension: str, size: str, until: str = "80", velocity: str = "0.05", backend: str = "auto"):
    """One flow; a line for each of four parts of its second half."""
    start, numbers = time.perf_counter(), (int(size), float(velocity))
    simulation, label = (
        flow(shape, int(dimension), *numbers, backend),
        f"{shape} {dimension}-D D = {size} U = {velocity}",
    )
    simulation.step(round(0.5 * float(until) * numbers[0] / numbers[1]))
    print(f"{label}: {simulation.nodes.n_nodes:,} nodes, {time.perf_counter() - start:.0f} s", flush=True)
    parts = []
    for _ in range(4):
        parts.append(measure(simulation, *numbers, float(until) / 8.0))
        t, drag, lift = parts[-1].T
        coefficients = f"drag {drag.mean():.4f} ({drag.min():.4f} to {drag.max():.4f}), lift {lift.min():+.5f} to"
        print(f"  {label}, t {t[0]:.1f} to {t[-1]:.1f}: {coefficients} {lift.max():+.5f}", flush=True)
    strouhal = frequency(*np.concatenate(parts)[:, ::2].T)
    print(f"  {label}, second half: Strouhal {strouhal:.4f}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
