"""Permeability of Ketton limestone, eight blocks along three axes; needs the files of ``$MUPHY_DATA``.

As published, each block is cut out, filtered, closed at its sides, and has two layers of fluid at both ends. The flow
is driven by a body force in a periodic box, as in ``muphy-lb permeability``, so that the layers at both ends form one
reservoir. In a steady flow the flow rate is the same in every section, and the resistance of the reservoir is
negligible: k of the rock is k of the box times the length of the rock over that of the box.

Throats are a few voxels wide, and half-way walls overestimate their permeability: with the original voxels the mean
ratio to the published values is about 1.16, with the largest deviations for the tightest blocks. With every voxel
divided into eight, k decreases by 10 and 17 % in two regions of the rock and by 20 % in block 0 along z, so both are
computed, and the divided ones judged. Connected reservoirs give a smaller k than two reservoirs at constant pressure,
by 2 to 17 % in four blocks; the case shows it for one core.

The steady flow does not depend on the viscosity (two relaxation times), but the transient does: pressure diffuses into
pores behind narrow throats in a time ~ viscosity / k, which a low viscosity shortens.

Source: a Stokes solver of Imperial College on the voxels, github.com/LukasMosser/PorousMediaGan, read from the file
``reference_permeability.csv`` of the data folder.
"""

import csv
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np

from muphy_lb.apps.rock.settled_flow import settled_flow
from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.base.narrow import triple
from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.porous.preparation import add_reservoirs, porosity
from muphy_lb.measure.flow_view import on_root
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import DEFAULT, Settings, absolute, at_least, at_most, case, data_folder, relative, shown
from muphy_lb.validation.flows import until_steady
from muphy_lb.validation.plot import Plot, Series

ARCHIVE, IMAGE, TABLE = "ketton/ketton.zip", "ketton.tif", "ketton/reference_permeability.csv"
AXES, SIZE, LAYERS, REFINEMENT = "xyz", 128, 2, 2
WHOLE, NU, QUICK_NU = "whole voxels", 0.01, 0.05
STEADY_K = 1e-3  # per time in which momentum crosses a pore; the limit is extrapolated
DRIVE = 1e-6  # body force, or pressure drop over the length of the box; the equations are linear
MOST_STEPS = 100_000
DIGITS = 1e-5  # of the published porosities
LEAST_RATIO, LARGEST_RATIO, LEAST_CORRELATION = 0.9, 1.15, 0.95
QUICK_BLOCK, QUICK_AXIS, QUICK_SIZE = 6, "x", 40
BY_PRESSURE = 0.1  # one reservoir at both ends against two, each at one pressure
STEADY, INTERVAL = 1e-4, 500  # of the flow by pressure


@dataclass(frozen=True)
class Block:
    """A cube of the image."""

    number: int  # as published
    low: tuple[int, int, int]  # first voxel (x, y, z)
    porosity: float  # of the pores that lead from face to face
    permeability: Mapping[str, float]  # axis letter to permeability [voxel^2]


def read_blocks(path: str | os.PathLike) -> tuple[Block, ...]:
    """All blocks of a file of comma-separated values. ``path``: columns ``subvolume, z0, y0, x0, effective_porosity,
    kx_voxel2, ky_voxel2, kz_voxel2``, in any order. Raises InputError: the file cannot be read, lacks a column or has
    something else than numbers."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return tuple(_block(row) for row in csv.DictReader(file))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: no table of blocks ({type(error).__name__}: {error}); give the columns subvolume, z0, y0, x0,"
            " effective_porosity, kx_voxel2, ky_voxel2 and kz_voxel2, in numbers"
        ) from error


def rank_correlation(a, b) -> float:
    """Spearman's correlation: that of the ranks of two sequences without ties, from -1 to 1."""
    first, second = (np.argsort(np.argsort(values)) for values in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def _block(row: Mapping[str, str]) -> Block:
    permeability = {axis: float(row[f"k{axis}_voxel2"]) for axis in "xyz"}
    low = triple(int(row[f"{axis}0"]) for axis in "xyz")
    return Block(int(row["subvolume"]), low, float(row["effective_porosity"]), MappingProxyType(permeability))


@dataclass(frozen=True)
class Core:
    """A cubic sample of the rock and the flow direction."""

    image: Path  # file of the whole rock, 0 = pore
    low: tuple[int, int, int]  # first voxel (x, y, z)
    size: int  # voxels along an edge
    axis: str  # ``"x"``, ``"y"`` or ``"z"``
    nu: float = NU  # viscosity of the fluid, lattice units
    refinement: int = 1  # number of voxels along each edge into which a voxel is divided

    @property
    def length(self) -> int:
        """Voxels of the image along the flow, including the layers of fluid."""
        return self.size + 2 * LAYERS

    def preparation(self) -> dict:
        """Image options that crop and filter the cube."""
        high = [first + self.size for first in self.low]
        steps = {"crop": [list(self.low), high], "median": 1, "drop_unconnected": AXES, "connected_by": "faces"}
        return {"fluid_value": 0, **steps, "divide": self.refinement}

    def nodes(self, ends: str) -> NodeList:
        """The nodes of the cube and its reservoirs, with ``"periodic"`` or ``"open"`` ends."""
        rock = load_voxels(self.image, spacing_m=float(self.refinement), **self.preparation())
        return build_nodes(add_reservoirs(rock, LAYERS * self.refinement, self.axis, ends))


@case(
    "ketton",
    "github.com/LukasMosser/PorousMediaGan, a finite-volume solution on the voxels, driven by pressure; it differs from"
    " a lattice-Boltzmann one where pores are a few voxels wide",
)
def ketton(settings: Settings) -> Iterator:
    """Eight blocks of limestone along three axes against published permeability (quick: a part of one)."""
    folder = data_folder(ARCHIVE, TABLE)
    blocks, found = read_blocks(folder / TABLE), []
    with TemporaryDirectory() as place, zipfile.ZipFile(folder / ARCHIVE) as archive:
        image, chosen = Path(archive.extract(IMAGE, place)), blocks[QUICK_BLOCK]
        for block in (chosen,) if settings.quick else blocks:
            pores = load_voxels(image, spacing_m=1.0, **Core(image, block.low, SIZE, AXES[0]).preparation())
            what = f"block {block.number}: porosity that leads through"
            yield absolute(what, block.porosity, porosity(pores), DIGITS)
        core, tolerance = Core(image, chosen.low, SIZE, QUICK_AXIS), math.inf
        if settings.quick:
            core, tolerance = Core(image, chosen.low, QUICK_SIZE, QUICK_AXIS, QUICK_NU), BY_PRESSURE
        ratio = permeability_by_pressure(core, settings) / permeability(core, settings)
        name = f"k_{core.axis} by pressure / by body force, {core.size}^3 voxels of block {QUICK_BLOCK}"
        yield relative(name, 1.0, ratio, tolerance)
        for parts in () if settings.quick else (1, REFINEMENT):
            cores = [Core(image, block.low, SIZE, axis, NU, parts) for block in blocks for axis in AXES]
            found.append([permeability(core, settings) for core in cores])
    if settings.quick:
        return
    published = [block.permeability[axis] for block in blocks for axis in AXES]
    whole, divided = found
    for values, how in ((divided, f"voxels divided into {REFINEMENT}^3"), (whole, WHOLE)):
        means = f"mean of computed / published, {how}", float(np.mean(np.divide(values, published)))
        ranks = f"rank correlation, {how}", rank_correlation(published, values)
        if how == WHOLE:
            yield from (shown(quantity, 1.0, value) for quantity, value in (means, ranks))
        else:
            yield at_least(means[0], LEAST_RATIO, means[1], 0.0)
            yield at_most(means[0], LARGEST_RATIO, means[1])
            yield at_least(ranks[0], LEAST_CORRELATION, ranks[1], 0.0)
        names = [f"block {block.number}: k_{axis} [voxel^2], {how}" for block in blocks for axis in AXES]
        yield from (shown(*row) for row in zip(names, published, values, strict=True))
    ends = (min(*published, *whole, *divided), max(*published, *whole, *divided))
    points = [
        Series(f"k_{axis}, divided voxels", published[i::3], divided[i::3], "points") for i, axis in enumerate(AXES)
    ]
    points.append(Series(WHOLE, published, whole, "points"))
    labels = ("published permeability [voxel^2]", "computed permeability [voxel^2]")
    yield Plot("Ketton, blocks of 128^3 voxels", *labels, (Series("equal", ends, ends), *points), True, True)


def permeability(core: Core, settings: Settings = DEFAULT) -> float:
    """Permeability [voxel^2] of a core from a steady flow driven by a body force. Raises GeometryError: no pore
    percolates; MuphyError: the flow does not become steady."""
    force = {"acceleration_m_s2": [DRIVE * (axis == core.axis) for axis in AXES]}
    flow = on_root(settled_flow(_case(core, settings, flow=force), SerialCommunicator(), core.nodes("periodic")))
    if not flow.settled:
        raise MuphyError(f"ketton: the flow along {core.axis} at {core.low} has not settled in {flow.steps} steps")
    return flow.limit_m2 / core.refinement**2


def permeability_by_pressure(core: Core, settings: Settings = DEFAULT) -> float:
    """As :func:`permeability`, from a flow driven by a pressure difference between an inlet and an outlet. Raises
    MuphyError: as :func:`permeability`."""
    half = 0.5 * DRIVE * core.length * core.refinement
    openings = ({"name": "inlet", "pressure_pa": half}, {"name": "outlet", "pressure_pa": -half})
    simulation = Solver(_case(core, settings, openings=openings), SerialCommunicator(), core.nodes("open"))
    along = AXES.index(core.axis)
    total = until_steady(simulation, lambda: simulation.velocity_m_s()[:, along].sum(dtype=float), STEADY, INTERVAL)
    mean_velocity = float(total) / (core.size**2 * core.length * core.refinement**3)
    return core.nu * mean_velocity / (DRIVE * core.refinement**2) * core.size / core.length


def _case(core: Core, settings: Settings, **tables) -> Case:
    """A case without the preparation of its image; its SI units are its lattice units."""
    own = {
        "geometry": {"file": str(core.image), "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": core.nu},
        "lattice": {"collision": "trt", "equilibrium": "stokes", "time_step_s": 1.0},
        "compute": settings.compute_table(),
        "run": {"steps": MOST_STEPS, "ramp_steps": 0, "steady_tolerance": STEADY_K},
    }
    return case_from_dict({**own, **tables})
