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
"""

import math
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from muphy_lb.base.errors import MuphyError
from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.porous.preparation import add_reservoirs, porosity
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.settled_flow import settled_flow
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.flow.permeability import DATA_VARIABLE
from muphy_lb.validation.flows import until_steady
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Row, Validation, absolute, at_least, at_most, relative, shown
from muphy_lb.validation.references.ketton import Block, rank_correlation, read_blocks
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "github.com/LukasMosser/PorousMediaGan, a finite-volume solution on the voxels, driven by pressure; it differs from"
    " a lattice-Boltzmann one where pores are a few voxels wide"
)
ARCHIVE, IMAGE, TABLE = "ketton/ketton.zip", "ketton.tif", "ketton/reference_permeability.csv"
AXES = "xyz"
SIZE = 128
LAYERS = 2
REFINEMENT = 2
WHOLE = "whole voxels"
NU, QUICK_NU = 0.01, 0.05
STEADY_K = 1e-3  # per time in which momentum crosses a pore; the limit is extrapolated
DRIVE = 1e-6  # body force, or pressure drop over the length of the box; the equations are linear
MOST_STEPS = 100_000
DIGITS = 1e-5  # of the published porosities
LEAST_RATIO, LARGEST_RATIO, LEAST_CORRELATION = 0.9, 1.15, 0.95
QUICK_BLOCK, QUICK_AXIS, QUICK_SIZE = 6, "x", 40
BY_PRESSURE = 0.1  # one reservoir at both ends against two, each at one pressure
STEADY, INTERVAL = 1e-4, 500  # of the flow by pressure


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


def ketton(settings: Settings = DEFAULT) -> Validation:
    """Eight blocks of limestone along three axes against published permeability (quick: a part of one)."""
    folder = os.environ.get(DATA_VARIABLE)
    missing = [file for file in (ARCHIVE, TABLE) if folder is None or not Path(folder, file).is_file()]
    if missing:
        return Validation("ketton", CITATION, skipped=f"no {', '.join(missing)} in ${DATA_VARIABLE}")
    blocks = read_blocks(Path(folder, TABLE))
    with TemporaryDirectory() as place, zipfile.ZipFile(Path(folder, ARCHIVE)) as archive:
        image = Path(archive.extract(IMAGE, place))
        if settings.quick:
            block = blocks[QUICK_BLOCK]
            core = Core(image, block.low, QUICK_SIZE, QUICK_AXIS, QUICK_NU)
            return Validation("ketton", CITATION, (_porosity(image, block), _drives(core, BY_PRESSURE, settings)))
        rows = [_porosity(image, block) for block in blocks]
        rows.append(_drives(Core(image, blocks[QUICK_BLOCK].low, SIZE, QUICK_AXIS), math.inf, settings))
        found = [
            [permeability(Core(image, block.low, SIZE, axis, NU, parts), settings) for block in blocks for axis in AXES]
            for parts in (1, REFINEMENT)
        ]
    published = [block.permeability[axis] for block in blocks for axis in AXES]
    whole, divided = found
    for values, how in ((divided, f"voxels divided into {REFINEMENT}^3"), (whole, WHOLE)):
        names = [f"block {block.number}: k_{axis} [voxel^2], {how}" for block in blocks for axis in AXES]
        rows += [
            *_together(published, values, how),
            *(shown(*row) for row in zip(names, published, values, strict=True)),
        ]
    return Validation("ketton", CITATION, tuple(rows), plots=(_plot(published, divided, whole),))


def permeability(core: Core, settings: Settings = DEFAULT) -> float:
    """Permeability [voxel^2] of a core from a steady flow driven by a body force. Raises GeometryError: no pore
    percolates; MuphyError: the flow does not become steady."""
    force = {"acceleration_m_s2": [DRIVE * (axis == core.axis) for axis in AXES]}
    flow = settled_flow(_case(core, settings, flow=force), SerialCommunicator(), core.nodes("periodic"))
    if not flow.settled:
        raise MuphyError(f"ketton: the flow along {core.axis} at {core.low} has not settled in {flow.steps} steps")
    return flow.limit_m2 / core.refinement**2 * core.size / core.length


def permeability_by_pressure(core: Core, settings: Settings = DEFAULT) -> float:
    """As :func:`permeability`, from a flow driven by a pressure difference between an inlet and an outlet. Raises
    MuphyError: as :func:`permeability`."""
    half = 0.5 * DRIVE * core.length * core.refinement
    openings = ({"name": "inlet", "pressure_pa": half}, {"name": "outlet", "pressure_pa": -half})
    simulation = Simulation(_case(core, settings, openings=openings), SerialCommunicator(), core.nodes("open"))
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


def _porosity(image: Path, block: Block) -> Row:
    pores = load_voxels(image, spacing_m=1.0, **Core(image, block.low, SIZE, AXES[0]).preparation())
    return absolute(f"block {block.number}: porosity that leads through", block.porosity, porosity(pores), DIGITS)


def _drives(core: Core, tolerance: float, settings: Settings) -> Row:
    name = f"k_{core.axis} by pressure / by body force, {core.size}^3 voxels of block {QUICK_BLOCK}"
    ratio = permeability_by_pressure(core, settings) / permeability(core, settings)
    return relative(name, 1.0, ratio, tolerance)


def _together(published, found, how: str) -> tuple[Row, ...]:
    mean_ratio = float(np.mean(np.divide(found, published)))
    correlation = rank_correlation(published, found)
    if how == WHOLE:
        quantities = {f"mean of computed / published, {how}": mean_ratio, f"rank correlation, {how}": correlation}
        return tuple(shown(quantity, 1.0, value) for quantity, value in quantities.items())
    return (
        at_least(f"mean of computed / published, {how}", LEAST_RATIO, mean_ratio, 0.0),
        at_most(f"mean of computed / published, {how}", LARGEST_RATIO, mean_ratio),
        at_least(f"rank correlation, {how}", LEAST_CORRELATION, correlation, 0.0),
    )


def _plot(published, divided, whole) -> Plot:
    ends = (min(*published, *whole, *divided), max(*published, *whole, *divided))
    points = [
        Series(f"k_{axis}, divided voxels", published[i::3], divided[i::3], "points") for i, axis in enumerate(AXES)
    ]
    points.append(Series(WHOLE, published, whole, "points"))
    labels = ("published permeability [voxel^2]", "computed permeability [voxel^2]")
    return Plot("Ketton, blocks of 128^3 voxels", *labels, (Series("equal", ends, ends), *points), True, True)
