"""Toelke's kernels in two dimensions: driven cavity (Tables 1 to 3) and flow through cylinders (Table 5).

J. Toelke, Comput. Visual. Sci. 13, 29 (2010; online 2008). ``--backend cpu`` gives his row of a CPU.
"""

from collections.abc import Callable

from muphy_lb.backends import make_backend
from muphy_lb.base.precision import FP32
from muphy_lb.base.units import CS2, viscosity
from muphy_lb.bench import peak, stream
from muphy_lb.bench.command import overrides_of, threads_of, time_variants
from muphy_lb.bench.jobs import job_of_table
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import Study
from muphy_lb.lattice import lattice_named

NAME, CAVITY_SIZE, ARRAY_CELLS = "toelke", 2048, 18
RELAXATION_TIME, LID_VELOCITY, FORCE = 1.0, 0.05, 1e-7
#: Collision and equilibrium of his kernels.
KERNELS = {"LBGKL": ("bgk", "stokes"), "LBGK": ("bgk", "incompressible"), "MRT": ("mrt", "incompressible")}


def time_toelke(options, say: Callable[[str], None], communicator) -> Study:
    """Cavity and cylinders; on a GPU the cylinders in blocks of every size; collective."""
    speeds, copy_gb_s, measurements = {}, 0.0, []
    for name, (collision, equilibrium) in KERNELS.items():
        job = job_of_table(cavity_table(f"{name}, cavity", collision, equilibrium), overrides_of(options), communicator)
        first, *others = time_variants(job, options, say, communicator)
        speeds[name], copy_gb_s = first.mflups, max(copy_gb_s, 1e3 * first.copy_tb_s)
        measurements += [first, *others]
    on_host = make_backend(measurements[0].backend, lattice_named("D2Q9"), FP32).on_host
    threads = threads_of(options, (None,) if on_host else published.TOELKE_THREADS)
    of_blocks = {}
    for mesh in published.TOELKE_MESHES:
        job = job_of_table(array_table(mesh), overrides_of(options), communicator)
        found = time_variants(job, options, say, communicator, threads)
        by_threads = dict(zip(threads, (m.mflups for m in found), strict=False))
        of_blocks[f"{mesh} x {mesh}"] = tuple(map(by_threads.get, published.TOELKE_THREADS))
        measurements += found
    say(stream.LEGEND)
    gflops = peak.peak_gflops(measurements[0].backend)
    shares = [share for name in ("LBGKL", "MRT") for share in _shares(name, speeds[name], gflops, copy_gb_s)]
    tables = {
        published.TOELKE_1: {"": (gflops, None, copy_gb_s)},
        published.TOELKE_2: {"": tuple(speeds.values())},
        published.TOELKE_3: {"": tuple(shares)},
    }
    if not on_host:
        tables[published.TOELKE_5] = of_blocks
    return Study(NAME, measurements[0].device, [found.record() for found in measurements], tables)


def _shares(name: str, mflups: float, gflops: float, copy_gb_s: float) -> tuple[float, float]:
    """Shares of the arithmetic peak and of the copy bandwidth [%], by Toelke's counts of operations and bytes."""
    operations, n_bytes = published.TOELKE_OPERATIONS[name], published.TOELKE_BYTES
    return 1e-1 * mflups * operations / gflops, 1e-1 * mflups * n_bytes / copy_gb_s


def cavity_table(title: str, collision: str, equilibrium: str) -> dict:
    """The case of a square driven cavity as nested tables, in lattice units."""
    lid = {"name": "lid", "velocity_m_s": [LID_VELOCITY, 0.0, 0.0]}
    options, lattice = {"size": CAVITY_SIZE, "dimension": 2}, {"collision": collision, "equilibrium": equilibrium}
    return _plane_table(title, {"shape": "cavity", "options": options}, lattice, 0.0) | {"walls": [lid]}


def array_table(mesh: int) -> dict:
    """The case of 18 x 18 cylinders in Stokes flow as nested tables, in lattice units."""
    options, lattice = {"size": mesh, "cells": ARRAY_CELLS}, {"collision": "mrt", "equilibrium": "stokes"}
    return _plane_table("MRTL, cylinders", {"shape": "cylinder_array", "options": options}, lattice, FORCE)


def _plane_table(title: str, geometry: dict, lattice: dict, force: float) -> dict:
    return {
        "title": title,
        "geometry": geometry | {"spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(RELAXATION_TIME, CS2)},
        "flow": {"acceleration_m_s2": [force, 0.0, 0.0]},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, **lattice},
        "run": {"steps": 1, "ramp_steps": 0},
    }
