"""The permeability of one flow on infinitely fine voxels: flows on several grids, each started from the one
before, and their limit with an error bar.

The values k_r on voxels divided into r parts go to their limit as k_r = k + A r^-p (Richardson). Edges of voxels that
jut out into the flow make p about 1.1 (the velocity near an edge of 270 degrees grows as the distance to the power
0.54, Moffatt, J. Fluid Mech. 18, 1 (1964), and k errs by twice that power), straight walls 2. Rocks and sphere packs
showed 0.9 to 1.5 (``muphy-lb validate permeability-error``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from muphy_lb.apps.grids import is_voxelised_anew, measured_order, towards
from muphy_lb.apps.rock.refinement import Refinement, crops, force_axis_of, largest_share, on_grid
from muphy_lb.apps.rock.settled_flow import Desk, Flow, Relay
from muphy_lb.apps.rock.time_step import quick_flow
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import Case
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.permeability import DARCY_M2
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator
from muphy_lb.setup.geometry import load_nodes

USUAL_ORDER = 1.2
LEAST_ORDER, MOST_ORDER = 0.9, 2.0
VOXELISATION = 0.15
"""Of one over the width of throats: by what share of itself k scatters at least where smooth walls are voxelised again
on each grid, since voxels jut out by chance."""
SHARE_OF_CORRECTION = 0.4
"""Of the distance from the finest value to the limit: least error bar where the order was measured."""


def voxelisation_errors(
    values: Sequence[float], widths: Sequence[float], porosities: Sequence[float]
) -> tuple[float, ...]:
    """Uncertainties of values on grids that each voxelise smooth walls again.

    Each grid hits the volume of the solid by chance; the finest hits it best. The change of k with the porosity e is
    taken from Kozeny and Carman, k ~ e^3 / (1 - e)^2, which is twice as steep as single spheres far apart.

    Args:
        widths: mean widths of the throats [voxels].
    """
    found, finest = [], porosities[-1]
    for value, width, porosity in zip(values, widths, porosities, strict=True):
        slope = 3.0 / porosity + 2.0 / (1.0 - porosity) if porosity < 1.0 else 0.0
        found.append(abs(value) * (VOXELISATION / width + slope * abs(porosity - finest)))
    return tuple(found)


@dataclass(frozen=True)
class GridLimit:
    """A value on infinitely fine grids."""

    value: float  #: the limit
    error: float  #: half width of its error bar
    order: float  #: of convergence
    is_measured: bool  #: whether three grids gave the order; otherwise it is the usual one


def grid_limit(parts: Sequence[float], values: Sequence[float], errors: Sequence[float] | None = None) -> GridLimit:
    """The limit of values on ever finer grids.

    Where the last three show no order, the finest value stands, with all that they differ by as its bar.

    Args:
        parts: two or more ascending numbers of parts of a voxel.
        values: value on each grid.
        errors: what each value is uncertain by for other reasons, such as a flow that has not settled.
    """
    value, order, is_measured = _limit(parts, values)
    if is_measured:
        usual = towards(parts, values, USUAL_ORDER)
        error = max(abs(value - usual), SHARE_OF_CORRECTION * abs(value - values[-1]))
    else:
        error = max(abs(towards(parts, values, p) - value) for p in (LEAST_ORDER, MOST_ORDER))
    if len(parts) > 2 and not is_measured:
        value, error = values[-1], max(np.ptp(values[-3:]), abs(value - values[-1]))
    for number, uncertain in enumerate(errors or ()):
        other = [x + uncertain * (number == k) for k, x in enumerate(values)]
        error += abs(_limit(parts, other)[0] - _limit(parts, values)[0])
    return GridLimit(float(value), float(error), order, is_measured)


def _limit(parts: Sequence[float], values: Sequence[float]) -> tuple[float, float, bool]:
    """The limit, the order, and whether that was measured; beyond what orders can be, it is the nearest that can."""
    measured = measured_order(parts[-3:], values[-3:]) if len(parts) > 2 else None
    order = USUAL_ORDER if measured is None else float(np.clip(measured, LEAST_ORDER, MOST_ORDER))
    return towards(parts, values, order), order, measured is not None


CROP_ERROR = 0.2  # of the change that crops show: what it is uncertain by at least for the whole


@dataclass(frozen=True)
class OnGrid:
    """The permeability on one grid."""

    parts: int  #: of each voxel
    permeability_m2: float  #: along the force, its limit in time
    uncertainty_m2: float  #: what it is uncertain by: time, and crops
    width_voxels: float  #: mean width of the throats; infinite without any
    porosity: float  #: of the grid
    #: by what share of itself k of each crop was larger on the grid before; empty for the whole
    crop_changes: tuple[float, ...] = ()


@dataclass
class RefinedFlow:
    """The flows of one force on all grids; collective, results on rank 0."""

    case: Case  #: the case, on undivided voxels
    refinement: Refinement  #: the grids
    folder: Path  #: one folder in it for each flow
    communicator: SerialCommunicator | MpiCommunicator  #: the ranks
    desk: Desk  #: what is shared with other flows
    grids: list[OnGrid] = field(default_factory=list)  #: what was found so far
    #: parts of each voxel of the flows that did not settle, on rank 0
    unsettled: list[int] = field(default_factory=list)

    def run(self, nodes: NodeList | None) -> Flow | None:
        """Run the flows, from the coarsest on.

        Args:
            nodes: the geometry of undivided voxels, on rank 0, if it is already there.

        Returns:
            On rank 0, the first flow; or the one that was stopped.

        Raises:
            InputError, DivergedError, OutputError: as :func:`muphy_lb.apps.rock.settled_flow.settled_flow`.
        """
        relay, first = Relay(), None
        for parts in self.refinement.parts:
            case = on_grid(self.case, parts)
            share = self._share(case, parts, first) if self.communicator.broadcast(first is not None) else 1.0
            if share < 1.0:
                flow = self._of_crops(parts, share)
            else:
                folder, own = self.folder, nodes if parts == 1 else None
                if self.refinement.parts[0] != parts:
                    folder = folder / f"divided-{parts}"
                    self.desk.say(f"\nvoxels divided into {parts} along each axis")
                flow = quick_flow(case, self.communicator, own, folder, self.desk, relay)
                if flow is not None and not flow.is_stopped:
                    self.grids.append(self._on_grid(parts, flow))
            first = first or flow
            if self._stopped(flow):
                return flow
        return first

    def limit(self) -> GridLimit:
        """The limit on infinitely fine voxels [m2], on rank 0."""
        parts, values = [grid.parts for grid in self.grids], [grid.permeability_m2 for grid in self.grids]
        errors = np.array([grid.uncertainty_m2 for grid in self.grids])
        if is_voxelised_anew(self.case):
            widths, porosities = [grid.width_voxels for grid in self.grids], [grid.porosity for grid in self.grids]
            errors += voxelisation_errors(values, widths, porosities)
        return grid_limit(parts, values, errors.tolist())

    @property
    def is_complete(self) -> bool:
        """Whether there is a flow on each grid, on rank 0."""
        return len(self.grids) == len(self.refinement.parts)

    def record(self) -> dict:
        """All numbers, for files."""
        limit = self.limit()
        return {
            "permeability_m2": limit.value,
            "permeability_darcy": limit.value / DARCY_M2,
            "error_m2": limit.error,
            "order": limit.order,
            "order_is_measured": limit.is_measured,
            "too_high_on_first_grid": self.grids[0].permeability_m2 / limit.value - 1.0,
            "grids": [vars(grid) for grid in self.grids],
        }

    def lines(self) -> list[str]:
        """The findings as text."""
        limit = self.limit()
        known = f"{limit.value:.4g} +- {limit.error:.2g} m2 = {limit.value / DARCY_M2:.4g} darcy"
        how = "measured" if limit.is_measured else "the usual one of rocks"
        grids = ", ".join(f"{grid.permeability_m2:.4g} ({grid.parts})" for grid in self.grids)
        too_high = 100.0 * (self.grids[0].permeability_m2 / limit.value - 1.0)
        found = [
            f"on infinitely fine voxels k = {known}, +- {100.0 * abs(limit.error / limit.value):.2g} %: order"
            f" {limit.order:.2f} ({how}) from k [m2] on voxels divided into (parts): {grids}",
            f"grid: k of the first of these is {too_high:+.3g} % off",
        ]
        if self.unsettled:
            parts = ", ".join(map(str, self.unsettled))
            found.append(
                f"warning: NOT settled: flows on voxels divided into {parts}; the error of k holds what they may still"
                " change by, and more run.steps make it smaller"
            )
        for grid in self.grids:
            if grid.crop_changes:
                changes = ", ".join(f"{-100.0 * change:+.3g} %" for change in grid.crop_changes)
                found.append(
                    f"{grid.parts} parts did not fit: k of crops changed by {changes}, which counts for the whole as"
                    " its throats are wider or narrower"
                )
        return found

    def _of_crops(self, parts: int, share: float) -> Flow | None:
        """Take the ratio to the grid before from parts of the rock; returns a flow of them."""
        before = self.refinement.parts[self.refinement.parts.index(parts) - 1]
        axis = force_axis_of(self.case.flow.acceleration_m_s2)
        found: list[tuple[OnGrid, OnGrid]] = []
        flow, is_root = None, self.communicator.rank == 0
        header: GeometryHeader = self.communicator.broadcast(load_nodes(self.case)[0].header if is_root else None)
        for number, crop in enumerate(crops(self.case, header, share, axis), start=1):
            self.desk.say(f"\n{parts} parts do not fit into memory: crop {number}, {crop.geometry.options['crop']}")
            relay, pair = Relay(), list[OnGrid]()
            for each in (before, parts):
                folder = self.folder / f"crop-{number}-for-{parts}" / f"divided-{each}"
                try:
                    flow = quick_flow(on_grid(crop, each), self.communicator, None, folder, self.desk, relay)
                except GeometryError as error:
                    self.desk.say(f"left out: {error}")
                    break
                if self._stopped(flow):
                    return flow
                pair += [self._on_grid(each, flow)] if flow else []
            found += [(pair[0], pair[1])] if len(pair) == 2 else []
        if not self.communicator.broadcast(bool(found)):
            raise InputError("permeability: no pore of any crop leads through; leave out the last number of --refine")
        if self.communicator.rank == 0:
            self.grids.append(_scaled(self.grids[-1], parts, found))
        return flow

    def _on_grid(self, parts: int, flow: Flow) -> OnGrid:
        """A flow as a point of the limit; its k is uncertain by the larger of its difference from the last value and
        the change to come."""
        if not flow.settled:
            self.unsettled.append(parts)
        change = abs(flow.limit_m2 - flow.permeability.permeability_m2)
        uncertainty = min(max(change, flow.unsettled_m2), abs(flow.limit_m2))
        throats = flow.permeability.throats
        width = throats["mean_width_voxels"] if throats else np.inf
        return OnGrid(parts, flow.limit_m2, uncertainty, width, flow.permeability.porosity)

    def _stopped(self, flow: Flow | None) -> bool:
        return self.communicator.broadcast(flow is not None and flow.is_stopped)

    def _share(self, case: Case, parts: int, first: Flow | None) -> float:
        """Share of the flow on a finer grid that fits into memory."""
        times = (parts / self.refinement.parts[0]) ** lattice_named(case.lattice.name).dimension
        counted = (first.n_nodes, first.n_nodes / first.permeability.porosity) if first else (0.0, 0.0)
        n_nodes, n_voxels = (int(times * n) for n in self.communicator.broadcast(counted))
        return largest_share(case, n_nodes, n_voxels, self.communicator, self.refinement.memory_bytes)


def _scaled(before: OnGrid, parts: int, pairs: Sequence[tuple[OnGrid, OnGrid]]) -> OnGrid:
    """The value of the whole from flows through parts of it. The change by a grid goes as one over the width of the
    throats (:mod:`muphy_lb.measure.permeability`): the changes of crops count for the whole in this proportion."""
    changes = np.array([1.0 - fine.permeability_m2 / coarse.permeability_m2 for coarse, fine in pairs])
    widths = np.array([coarse.width_voxels for coarse, _ in pairs])
    own = changes * widths / before.width_voxels if np.isfinite([*widths, before.width_voxels]).all() else changes
    spread = own.std(ddof=1) / np.sqrt(own.size) if own.size > 1 else 0.0
    error = max(spread, CROP_ERROR * abs(own.mean()))
    value = before.permeability_m2 * (1.0 - own.mean())
    uncertainty = before.uncertainty_m2 + abs(before.permeability_m2) * error
    width = before.width_voxels * parts / before.parts
    return OnGrid(parts, float(value), float(uncertainty), float(width), before.porosity, tuple(changes.tolist()))
