"""Error bars of permeabilities: whether they hold the truth.

Each flow is computed on voxels divided into 1, 2 and 3 (in full also more), each started from the coarser one, as by
``muphy-lb permeability --refine``. The limit and its error bar from the first two and three grids are held against the
truth, and so is what the throats alone let expect of the first grid. The truth is

- a duct whose sides are whole voxels: its series (White, Viscous Fluid Flow (2006), sect. 3-3);
- body-centred spheres, voxelised again on each grid: the series of Sangani and Acrivos (1982);
- voxels of body-centred spheres, of Ketton limestone in cubes with closed sides and of Finney's pack: the same voxels
  divided as finely as the study goes. That limit has a bar of its own: bars that meet agree.

Throats are judged by the last kind alone: they test voxels as they are, not the walls that these stand for.
"""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from muphy_lb.apps.rock.refined_flow import GridLimit, grid_limit, voxelisation_errors
from muphy_lb.apps.rock.settled_flow import Flow, Relay, settled_flow
from muphy_lb.base.errors import MuphyError
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.porous.preparation import divide
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.validation.case import Row, Settings, Skipped, at_least, case, data_folder, shown
from muphy_lb.validation.flow.ketton import ARCHIVE, IMAGE
from muphy_lb.validation.flow.spheres import BODY, permeability, series
from muphy_lb.validation.flows import duct_flow_rate

PACK = "finney_pack/FinneyPack.txt"
NU = 0.1  # in steps of the grid: low enough for pressure to reach tight pores soon
FORCE, TOLERANCE, MOST_STEPS = 1e-6, 2e-4, 200_000
BARS = (2, 3)  # numbers of grids
LEAST_SHARE, AXES = 0.9, "xyz"
DUCTS, SPHERES = ((3, 5), (5, 5), (4, 9), (8, 3)), ((0.125, 8), (0.125, 16), (0.216, 8), (0.216, 16))
PLACES = ((0, 0, 0), (64, 64, 64), (150, 150, 30), (128, 0, 0), (20, 100, 180), (100, 30, 120))
KETTON_SIZE, DIVIDED, VOXELS = 64, (1, 2, 3, 4), ((0.45, 8), (0.216, 12), (0.6802, 16))
PACKS = (((-4.0, -4.0, -4.0), 0.25), ((0.0, 0.0, 0.0), 0.2), ((-3.0, 1.0, -5.0), 0.14), ((1.0, -4.0, 0.0), 0.1))
PACK_EDGE = 4.0  # radii


@dataclass(frozen=True)
class Sample:
    """A flow, and what is known of it."""

    name: str  # in reports
    voxels: Callable[[int], Voxels]  # the geometry on a grid of that many parts
    axis: str  # of the force
    parts: tuple[int, ...]  # the grids
    # permeability [first voxel edges squared]; None: the limit of all grids, on the voxels as they are
    truth: float | None = None
    is_smooth: bool = False  # whether each grid makes its own voxels of smooth walls


@dataclass(frozen=True)
class Outcome:
    """The flows of a sample, from the coarsest on."""

    sample: Sample
    flows: tuple[Flow, ...]

    def limit(self, n_grids: int | None = None) -> GridLimit:
        """The limit of the first grids."""
        flows = self.flows[:n_grids]
        values = [flow.limit_m2 for flow in flows]
        errors = np.array([min(flow.unsettled_m2, flow.limit_m2) for flow in flows])
        if self.sample.is_smooth:
            throats = [flow.permeability.throats for flow in flows]
            widths = [record["mean_width_voxels"] if record else np.inf for record in throats]
            errors += voxelisation_errors(values, widths, [flow.permeability.porosity for flow in flows])
        return grid_limit(self.sample.parts[:n_grids], values, errors.tolist())

    @property
    def truth(self) -> tuple[float, float]:
        """The truth, and what it is uncertain by."""
        finest = self.limit()
        return (finest.value, finest.error) if self.sample.truth is None else (self.sample.truth, 0.0)


@case(
    "permeability-error",
    "ducts: White, Viscous Fluid Flow (2006); spheres: series of Sangani, Acrivos, Int. J. Multiphase Flow 8, 343"
    " (1982); Ketton, Finney's pack: the finest grids",
)
def permeability_error(settings: Settings) -> Iterator:
    """Error bars of permeabilities of ducts, spheres, rocks and packs against the truth (quick: few and small)."""
    samples, outcomes = list(_shapes(settings)), []
    with TemporaryDirectory() as place:
        try:
            samples += () if settings.quick else _rocks(data_folder(ARCHIVE, PACK), Path(place))
        except Skipped as missing:
            yield str(missing)
        for sample in samples:
            try:
                outcomes.append(Outcome(sample, tuple(_flows(sample, settings))))
            except GeometryError as error:  # no pore of this part of the rock leads through
                yield f"{sample.name}: {error}"
    for outcome in outcomes:
        yield from _rows(outcome)
    # Of samples with a grid more than the bar has, or another truth.
    for n_grids in BARS:
        judged = [o for o in outcomes if o.sample.truth is not None or len(o.flows) > n_grids]
        share = sum(_is_inside(o, n_grids) for o in judged) / len(judged)
        yield at_least(f"share of bars of {n_grids} grids that hold the truth", LEAST_SHARE, share, 0.0)
    as_they_are = [outcome for outcome in outcomes if outcome.sample.truth is None]
    share = sum(map(_is_expected, as_they_are)) / len(as_they_are)
    yield at_least("share of first grids that err as their throats let expect", LEAST_SHARE, share, 0.0)


def _shapes(settings: Settings) -> Iterator[Sample]:
    for width, height in DUCTS[:1] if settings.quick else DUCTS:
        exact = duct_flow_rate(width, height) / ((width + 2) * (height + 2))
        yield Sample(f"duct {width} x {height}", _duct(width, height), "z", (1, 2, 3), exact)
    for fraction, size in SPHERES[2:3] if settings.quick else SPHERES:
        radius = size * (3.0 * fraction / (8.0 * np.pi)) ** (1.0 / 3.0)
        exact = permeability(radius, fraction, series(BODY, fraction))
        name = f"spheres, c = {fraction}, {size} voxels per cell"
        yield Sample(name, partial(_spheres, fraction, size), "x", (1, 2, 3), exact, is_smooth=True)
    for fraction, size in VOXELS[:1] if settings.quick else VOXELS:
        name = f"voxels of spheres, c = {fraction}, {size} per cell"
        yield Sample(name, partial(divide, _spheres(fraction, size, 1)), "x", DIVIDED)


def _duct(width: int, height: int) -> Callable[[int], Voxels]:
    flags = np.full((1, height + 2, width + 2), SOLID, dtype=FLAG_DTYPE)
    flags[:, 1:-1, 1:-1] = FLUID
    one = Voxels(np.repeat(flags, 2, axis=0), periodic=(False, False, True))
    return lambda parts: divide(one, parts)


def _spheres(fraction: float, size: int, parts: int) -> Voxels:
    options = {"size": size * parts, "lattice": BODY, "solid_fraction": fraction}
    return load_voxels("shape:sphere_array", spacing_m=1.0, **options)


def _rocks(folder: Path, place: Path) -> Iterator[Sample]:
    """Cubes of limestone, and of Finney's pack."""
    with zipfile.ZipFile(folder / ARCHIVE) as archive:
        image = archive.extract(IMAGE, place)
    for low in PLACES:
        for axis in AXES:
            options = {"fluid_value": 0, "crop": [list(low), [first + KETTON_SIZE for first in low]], "median": 1}
            options["spacing_m"] = 1.0
            name = f"Ketton, {KETTON_SIZE}^3 at {low}, {axis}"
            yield Sample(name, _divided(image, axis, options), axis, DIVIDED)
    for corner, spacing in PACKS:
        for axis in "xz":
            high = [first + PACK_EDGE for first in corner]
            options = {"radius": 1.0, "numbered": True, "low": list(corner), "high": high}
            name = f"Finney, 1 / {1.0 / spacing:.3g} of a radius, {axis}"
            yield Sample(name, _divided(folder / PACK, axis, {**options, "spacing_m": spacing}), axis, DIVIDED)


def _divided(path, axis: str, options: dict) -> Callable[[int], Voxels]:
    return lambda parts: load_voxels(path, **options, mirror=axis, drop_unconnected=axis, divide=parts)


def _flows(sample: Sample, settings: Settings) -> Iterator[Flow]:
    """A creeping flow on each grid; lengths are in voxel edges of the first, the time step goes with their square."""
    relay = Relay()
    for parts in sample.parts:
        nodes = build_nodes(replace(sample.voxels(parts), spacing_m=1.0 / parts))
        table = {
            "geometry": {"shape": "channel", "spacing_m": 1.0},
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": NU},
            "flow": {"acceleration_m_s2": [FORCE * (sample.axis == other) for other in AXES]},
            "lattice": {"collision": "trt", "equilibrium": "stokes", "time_step_s": 1.0 / parts**2},
            "compute": settings.compute_table(),
            "run": {"steps": MOST_STEPS, "ramp_steps": 0, "steady_tolerance": TOLERANCE, "steady_interval_steps": 50},
        }
        flow = settled_flow(case_from_dict(table), SerialCommunicator(), nodes, relay=relay)
        if flow is None or not flow.settled:
            raise MuphyError(f"permeability-error: the flow of {sample.name} on {parts} parts has not settled")
        yield flow


def _is_inside(outcome: Outcome, n_grids: int) -> bool:
    limit, (truth, uncertain) = outcome.limit(n_grids), outcome.truth
    return abs(limit.value - truth) <= limit.error + uncertain


def _is_expected(outcome: Outcome) -> bool:
    """Whether the error of the first grid lies between the bounds that the throats set."""
    record, (truth, uncertain) = outcome.flows[0].permeability.throats, outcome.truth
    if record is None:
        return False
    least, most = record["error_bounds"]
    first = outcome.flows[0].limit_m2
    return (1.0 + least) * (truth - uncertain) <= first <= (1.0 + most) * (truth + uncertain)


def _rows(outcome: Outcome) -> Iterator[Row]:
    """Truth against limits, and each error against its bar, for information."""
    name, (truth, _) = outcome.sample.name, outcome.truth
    yield shown(f"{name}: k [voxel^2], first grid", truth, outcome.flows[0].limit_m2)
    record = outcome.flows[0].permeability.throats
    if record:
        error = outcome.flows[0].limit_m2 / truth - 1.0
        yield shown(f"{name}: relative error of the first grid, by throats", error, record["expected_error"])
    for n_grids in BARS:
        limit = outcome.limit(n_grids)
        text = f"{n_grids} grids, bar {limit.error / limit.value:.1%}, order {limit.order:.2f}"
        yield shown(f"{name}: k, {text}", truth, limit.value)
