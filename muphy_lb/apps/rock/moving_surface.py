"""Steps of the surface of a solid that dissolves or grows, each from a steady flow with steady solutes.

Surfaces move in hours, flow and solutes settle in seconds. So the flow runs until it is steady; what it carries goes
on, in the long steps of a frozen flow, until the flux through the solid's wall is steady; then every face of the wall
moves by that flux times molar volume times a time step, in which none may move by more than a share of a voxel. The
geometry is numbered, and shared among the ranks, again, and flow and solutes continue from those of before.
"""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf, isnan, nan
from typing import Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import moving_solid
from muphy_lb.case.case import Case, as_case
from muphy_lb.case.toml import as_override
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.moving_solid import MovingSolid
from muphy_lb.geometry.solid_place import MovedBy
from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.permeability import other_drives
from muphy_lb.measure.wall_exchange import WallExchange, WallLinks
from muphy_lb.parallel import agreed_on_root
from muphy_lb.run.changes import changed
from muphy_lb.run.criteria import EXTRAPOLATED, SteadyWatch, monitored
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.force import uniform_acceleration_m_s2
from muphy_lb.setup.geometry import numbered, solid_of

LONG = 1e6  # steps of the flow that one of what a frozen flow carries may take, where speeds and rates allow it
SCALAR = "scalar_"  # before its name, in the arrays of a flow
GONE = ("through_wall_m3", "crumbs_m3", "beyond_m3")
ROUNDING = 1e-9
MOST_TURN = 0.25  # share by which the flux may change up to the middle of a step, beyond which it is not smooth


@dataclass(frozen=True)
class Surface:
    """All that the next step of a surface follows from; on rank 0."""

    time_s: float  #: its time
    shares: np.ndarray  #: (nz, ny, nx) share of solid of each voxel
    #: volumes [m3] that the solid has lost since the start: ``through_wall_m3`` by the flux through its wall,
    #: ``crumbs_m3`` in rests thinner than a voxel, and ``beyond_m3``, which the flux asked for and no voxel had
    gone: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(GONE, 0.0))
    #: arrays at the nodes of the steady flow before, by name; none at the start
    flow: Mapping[str, np.ndarray] = field(default_factory=dict)
    before: tuple[float, float] = (nan, nan)  #: time and flux [unit m3/s] of that; NaN at the start


@dataclass(frozen=True)
class Settled:
    """A steady flow with steady solutes around a surface; on rank 0."""

    links: WallLinks  #: those into the solid's wall
    row: dict  #: numbers by column
    flow: Mapping[str, np.ndarray]  #: as of the next :class:`Surface`


@dataclass(frozen=True)
class Course:
    """The course of a surface.

    Args:
        case: the case, with a solid that moves.
        moved: how that moves.
        solid: its room, on rank 0.
        signals: those that ask to stop.
        communicator: the ranks.
    """

    case: Case
    moved: MovedBy
    solid: MovingSolid | Any
    signals: StopSignals
    communicator: object

    def settled(self, surface: Surface | Any, is_first: bool) -> Settled | Any:
        """The steady state around a surface, given and returned on rank 0, True elsewhere; None if a signal asked to
        stop. Collective."""
        with _quiet(not is_first):
            found, backend = self._settled(surface, is_first)
        gc.collect()  # engines, launches and recorded steps hold themselves in cycles
        backend.release()
        return found

    def _settled(self, surface: Surface | Any, is_first: bool):
        """The same, and the backend that it was computed on."""
        case = self.case
        if not is_first:
            case = as_case(case, [as_override("run.ramp_steps", 0)])
        core = Solver(case, self.communicator, agreed_on_root(self.communicator, lambda: self._nodes(surface, case)))
        if not is_first:
            _go_on_from(core, surface)
        watch = SteadyWatch(self.moved.settled_within, extrapolated=EXTRAPOLATED if core.header.openings else "")
        flow_steps, is_steady = self._until(core, partial(_is_steady, core, watch))
        if flow_steps is None:
            return None, core.engine.backend
        row = of_flow(core) | {"flow_steps": flow_steps}
        core = _frozen(core)
        steps, is_settled = self._until(core, Flux(core, self.moved).is_steady)
        if steps is None:
            return None, core.engine.backend
        row |= {"scalar_steps": steps, "is_settled": is_steady and is_settled}
        links, flow = wall_links(core, self.moved), flow_of(core)
        found = True if links is None else Settled(links, row | self._of_wall(links), flow)
        return found, core.engine.backend

    def _nodes(self, surface: Surface, case: Case):
        try:
            return numbered(self.solid.filled(surface.shares), case)[0]
        except GeometryError as error:
            raise InputError(
                f"at {surface.time_s:.5g} s {self.moved.place.wall} has closed the flow: {error}"
            ) from error

    def _of_wall(self, links: WallLinks) -> dict:
        area, entering = float(links.area_m2.sum()), float(links.entering.sum())
        mean = entering / area if area else 0.0
        return {"area_m2": area, "mean_flux": mean, "solid_rate_m3_s": -entering * self.moved.volume_m3}

    def _until(self, core: Solver, is_steady: Callable[[], bool]) -> tuple[int | None, bool]:
        """Steps, of what moves, until it is steady, at most those of the case, and whether it is; None if a signal
        asked to stop."""
        last, found = core.step_number + core.numerics.steps * core.stride, False
        first, window = core.step_number, core.case.run.steady_interval_steps * core.stride
        while not found and core.step_number < last:
            core.step(min(window, last - core.step_number))
            if core.communicator.maximum(self.signals.received):
                return None, False
            found = core.communicator.broadcast(is_steady())
        return (core.step_number - first) // core.stride, found

    def next(self, surface: Surface, settled: Settled) -> Surface:
        """The surface after a step, on rank 0. Raises InputError: the time step of the case is too long for it."""
        moved, solid, links = self.moved, self.solid, settled.links
        voxel_m3 = solid.voxels.spacing_m**3
        speed = moved.volume_m3 / voxel_m3 * links.entering  # of each link [voxels/s], positive where the solid goes
        left_s = moved.end_s - surface.time_s
        step_s = _step_s(moved, float(np.abs(speed).max(initial=0.0)), left_s)
        time_s = surface.time_s + step_s if step_s < left_s else moved.end_s
        speed = speed * _mid_step(surface, float(links.entering.sum()), step_s)
        shares, beyond = solid.moved(surface.shares, links.voxel, links.vector, step_s * speed)
        whole = solid.without_crumbs(shares)
        through = float((step_s * speed).sum()) - beyond
        lost = dict(zip(GONE, (through, float((shares - whole).sum()), beyond), strict=True))
        gone = {name: surface.gone[name] + volume * voxel_m3 for name, volume in lost.items()}
        before = surface.time_s, float(links.entering.sum())
        return Surface(time_s, whole, gone, settled.flow, before)


def _mid_step(surface: Surface, flux: float, step_s: float) -> float:
    """The flux in the middle of the next step over that at its start, extrapolated from the one before (Adams and
    Bashforth, second order)."""
    before_s, before = surface.before
    if isnan(before_s) or flux == 0.0:
        return 1.0
    change = 0.5 * step_s * (flux - before) / (surface.time_s - before_s)
    return min(max(1.0 + change / flux, 1.0 - MOST_TURN), 1.0 + MOST_TURN)


@contextmanager
def _quiet(is_quiet: bool) -> Iterator[None]:
    """Context in which only warnings are logged, since each surface would log the same."""
    logger = logging.getLogger("muphy_lb")
    level = logger.level
    logger.setLevel(logging.WARNING if is_quiet else level)
    try:
        yield
    finally:
        logger.setLevel(level)


def _step_s(moved: MovedBy, speed: float, left_s: float) -> float:
    """The next time step of a surface whose fastest link moves by so many voxels a second."""
    longest_s = moved.largest_change / speed if speed else inf
    step_s = min(left_s, longest_s if moved.step_s is None else moved.step_s)
    if step_s > longest_s * (1.0 + ROUNDING):
        raise InputError(
            f"step_s is {moved.step_s:.4g} s, in which a face of {moved.place.wall} would move by {step_s * speed:.3g}"
            f" voxels; allowed: largest_change = {moved.largest_change:g}: give step_s = {0.9 * longest_s:.2g}, or"
            " leave it out"
        )
    return step_s


def exchange_of(core: Solver) -> WallExchange:
    """The exchange of a flow with its walls."""
    return next(each.wall_exchange for each in core.physics if each.wall_exchange is not None)


def wall_links(core: Solver, moved: MovedBy) -> WallLinks | None:
    """The links into the wall of a solid that moves, on rank 0."""
    return exchange_of(core).links(core, moved.scalar, moved.place.wall)


class Flux:
    """Watches the flux through the wall of a solid that moves."""

    def __init__(self, core: Solver, moved: MovedBy):
        self._core, self._moved, self._last = core, moved, nan
        self._watch = SteadyWatch(moved.settled_within, extrapolated=EXTRAPOLATED)

    def is_steady(self) -> bool:
        """Whether it is steady, on rank 0; collective."""
        links = wall_links(self._core, self._moved)
        total = 0.0 if links is None else float(links.entering.sum())
        is_nothing, self._last = total == self._last == 0.0, total
        return self._watch.look({EXTRAPOLATED: {"flux": total}}) or is_nothing


def _is_steady(core: Solver, watch: SteadyWatch) -> bool:
    """Whether the flow is steady, or at rest, on rank 0; collective."""
    groups, speed = monitored(core), core.health().max_speed
    return groups is not None and (watch.look(groups) or speed == 0.0)


def _frozen(core: Solver) -> Solver:
    """The same flow, which stays as it is from now on, while what it carries continues in long steps; collective."""
    run = dict.fromkeys(("steady_tolerance", "steady_time_s"))
    run |= {"frozen_after_s": core.time_s, "frozen_step_s": LONG * core.units.time_step_s, "ramp_steps": 0}
    core = changed(core, {f"run.{key}": value for key, value in run.items()})
    core.step(1)  # with which the length of its steps is chosen
    return core


def of_flow(core: Solver) -> dict[str, float]:
    """The permeability of a steady flow: of a body force, or between two openings, over their distance along the axis
    that they lie apart and the section of the box across it; NaN elsewhere. Collective."""
    case, header = core.case, core.header
    force, states = uniform_acceleration_m_s2(case, header), core.openings() or {}
    mean = core.mean_velocity_m_s() * header.n_nodes / np.prod(header.shape)
    viscosity, found = case.fluid.viscosity_m2_s, nan
    if other_drives(case):
        return {"permeability_m2": nan}
    if force.any() and not header.openings:
        found = viscosity * float(mean @ force) / float(force @ force)
    elif len(states) == 2 and not force.any():
        first, second = states.values()
        here, there = (np.array(each.centre_m) for each in header.openings)
        between = there - here
        axis = int(np.argmax(np.abs(between)))
        section_m2 = float(np.prod(np.delete(header.shape[::-1], axis))) * header.spacing_m**2
        drop = (first.mean_pressure_pa - second.mean_pressure_pa) / abs(float(between[axis]))
        rate = first.flow_rate_m3_s if first.kind == "inlet" else -first.flow_rate_m3_s
        found = viscosity * case.fluid.density_kg_m3 * rate / section_m2 / drop if drop else nan
    return {"permeability_m2": found}


def flow_of(core: Solver) -> dict[str, np.ndarray]:
    """The flow and what it carries at all nodes, by name, on rank 0; collective."""
    rows = {"velocity": core.velocity_m_s(), "pressure": core.pressure_pa()}
    rows |= {SCALAR + name: core.model_field(name) for name in exchange_of(core).names(core)}
    return {"voxel": whole_nodes(core).voxel[:], **rows} if core.communicator.rank == 0 else {}


def _go_on_from(core: Solver, surface: Surface | None) -> None:
    """Start from the flow around the surface before; collective."""
    exchange, values = exchange_of(core), dict[str, Any]()
    if surface is not None:
        values = carried_over(surface.flow, whole_nodes(core).voxel[:], core.header.shape)
    core.state.set_velocity_m_s(values.get("velocity"))
    core.state.set_pressure_pa(values.get("pressure"))
    for name in exchange.names(core):
        exchange.overwrite(core, name, values.get(SCALAR + name))


def carried_over(flow: Mapping[str, np.ndarray], voxel: np.ndarray, shape) -> dict[str, np.ndarray]:
    """Arrays at nodes with other voxel ids: new ones are at rest, and have the other values of the nearest."""
    from scipy.ndimage import distance_transform_edt

    number = np.full(shape, -1, dtype=np.int64)
    number.flat[flow["voxel"]] = np.arange(flow["voxel"].size)
    nearest = distance_transform_edt(number < 0, return_distances=False, return_indices=True)
    source, is_new = number[tuple(nearest)].flat[voxel], number.flat[voxel] < 0
    found = {name: row[source] for name, row in flow.items() if name != "voxel"}
    found["velocity"] = np.where(is_new[:, None], 0.0, found["velocity"])
    return found


def followed(case: Case, communicator) -> Iterator[tuple[Surface, Settled]]:
    """The surfaces of the solid of a case from its start to its end, each with its steady state, on one rank."""
    moved, solid = moving_solid(case), solid_of(case)
    course, surface = Course(case, moved, solid, StopSignals(), communicator), Surface(0.0, solid.start)
    while True:
        settled = course.settled(surface, surface.time_s == 0.0)
        yield surface, settled
        if surface.time_s >= moved.end_s:
            return
        surface = course.next(surface, settled)
        if solid.is_gone(surface.shares):
            return
