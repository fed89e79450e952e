"""Saturation, flow of both fluids and capillary number over time, ``two_fluid.csv``, and at the end."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from muphy_lb.measure.displacement import LONG
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, on_root
from muphy_lb.measure.node_sums import Measure
from muphy_lb.measure.permeability import nodes_in_rock
from muphy_lb.measure.series_mean import mean_and_error
from muphy_lb.model.model import FieldValue
from muphy_lb.operators import Operator
from muphy_lb.operators.operator import named
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.output.series import read_series
from muphy_lb.physics.two_fluid.operators import DRIFT, FIRST, PHASE, SECOND
from muphy_lb.physics.two_fluid.section import SERIES_FILE
from muphy_lb.physics.two_fluid.structure import COLUMNS as SHAPE
from muphy_lb.physics.two_fluid.structure import FLUIDS, INTERFACE_AREA, structure

FLOWS = (
    "first_darcy_velocity_x_m_s",
    "first_darcy_velocity_y_m_s",
    "first_darcy_velocity_z_m_s",
    "second_darcy_velocity_x_m_s",
    "second_darcy_velocity_y_m_s",
    "second_darcy_velocity_z_m_s",
)
"""Flow rate of each fluid through a section of the whole box over its area, solid included."""
COLUMNS = (
    "second_saturation",
    "first_amount_m3",
    "second_amount_m3",
    *FLOWS,
    "capillary_number",
    "largest_capillary_number",
)
STEADY, BOX_LENGTHS, MOVED = "steady", "box_lengths", "moved_share"
LEAST_LOOKS = 64
AT_REST, OF_FLOW = 0.25, 0.05  # of known_within, of the lengths: the share of the rock that may change its fluid
SETTLED = 3.0  # difference of the means of two parts of a run over the error that is allowed


def _flows(n, moments, lattice, parameters):
    velocity = np.asarray(moments[1:4], dtype=np.float64)
    first = 0.5 + 0.5 * np.asarray(parameters[PHASE][n], dtype=np.float64)
    apart = first * (1.0 - first) * np.array([parameters[name][n] for name in DRIFT], dtype=np.float64)
    return np.concatenate([first * velocity + apart, (1.0 - first) * velocity - apart]), np.zeros((0, first.size))


def _flows_node(lattice, precision, jit, at):
    phase, double, axes = at[PHASE], np.float64, 3
    drift_x, drift_y, drift_z = (at[name] for name in DRIFT)
    half, one = double(0.5), double(1)

    def flows(n, deviation, ux, uy, uz, parameters, found):
        first = half + half * double(parameters[phase][n])
        velocity, both = (double(ux), double(uy), double(uz)), first * (one - first)
        drift = parameters[drift_x][n], parameters[drift_y][n], parameters[drift_z][n]
        for axis in range(axes):
            apart = both * double(drift[axis])
            found[axis] = first * velocity[axis] + apart
            found[axis + axes] = (one - first) * velocity[axis] - apart

    return jit(flows)


FLOW_OF_BOTH = Measure(
    Operator("two-fluid-flows", _flows, _flows_node, named(PHASE, *DRIFT)),
    {name: FieldValue(name) for name in (PHASE, *DRIFT)},
    n_sums=6,
    n_peaks=0,
)
"""The velocity (x, y, z) of the first fluid at each node by its share, then that of the second one by its."""


HALF_BITS = 32


def exact_sum(values: np.ndarray) -> int:
    """The sum of int32 or int64 numbers, also beyond the range of int64."""
    wide = values.astype(np.int64)
    high, low = wide >> HALF_BITS, wide & ((1 << HALF_BITS) - 1)
    return (int(high.sum()) << HALF_BITS) + int(low.sum())


def second_saturation(view: FlowView, chosen: np.ndarray | slice) -> float | None:
    """Saturation of the second fluid among the nodes ``chosen``, in node-list order, on rank 0; collective."""
    first, second = view.model_field(FIRST), view.model_field(SECOND)
    if first is None or second is None:
        return None
    of_second = exact_sum(second[chosen])
    return of_second / (exact_sum(first[chosen]) + of_second)


class TwoFluidSeries(SeriesObserver):
    """Appends the saturation of the rock, and amounts and flows of the whole box, all of them exact sums, and capillary
    numbers: those of the mean and of the largest speed of all nodes, with the viscosity of the more viscous fluid. It
    ends the run once the mean flows of both fluids are known well enough: the error of each over the second half of the
    run (:func:`mean_and_error`) is within ``known_within`` of the sum of both, flows times viscosities, and the mean of
    the quarter before within ``SETTLED`` times that, since a slow wave stands where it turns. Changes that take longer
    than the run are not seen: so both together have also gone through ``LONG`` lengths of the box, or interfaces rest,
    and more of the same flow changes nothing: the share of the rock whose fluid has changed since a look in the second
    quarter of the run is at most ``AT_REST`` of ``known_within``, and ``OF_FLOW`` of those lengths.

    Args:
        view, folder, resume_step: as of all series.
        full: amount of a full node.
        viscosities_pa_s, tension_n_m: dynamic viscosities of both fluids, interfacial tension.
        known_within: see above; None: the run ends after its steps.
        with_structure: whether the rows have the numbers of :mod:`muphy_lb.physics.two_fluid.structure`; those of the
            end are always recorded.
    """

    file = SERIES_FILE
    files = (SERIES_FILE,)
    name = "two_fluid"
    reason = STEADY

    def __init__(
        self,
        view: FlowView,
        folder: Path,
        resume_step: int | None,
        full: float,
        viscosities_pa_s: tuple[float, float],
        tension_n_m: float,
        known_within: float | None,
        with_structure: bool,
    ):
        self._full, self._known_within, self._with_structure = full, known_within, with_structure
        self._viscosities, self._per_speed = np.repeat(viscosities_pa_s, 3), max(viscosities_pa_s) / tension_n_m
        self._sums = view.node_sums(FLOW_OF_BOTH)
        super().__init__(view, folder, resume_step)
        path, self._looks, self._is_known = folder / self.file, [], False
        self._is_second, self._earlier = np.zeros(0, dtype=bool), list[np.ndarray]()  # on rank 0
        if resume_step is not None and view.communicator.rank == 0 and path.exists():
            series = read_series(path)
            self._looks = np.stack([series[name] for name in FLOWS], axis=1).tolist()

    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*COLUMNS, *(SHAPE if self._with_structure else ())]

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective."""
        view = self._view
        of_first, of_second, health = view.model_field(FIRST), view.model_field(SECOND), view.health()
        sums = self._sums.read()
        if of_first is None or of_second is None:
            return None
        units, n_voxels = view.units, int(np.prod(view.header.shape, dtype=np.int64))
        volume_m3 = units.spacing_m**3 / self._full
        first, second = exact_sum(of_first), exact_sum(of_second)
        in_rock = nodes_in_rock(view)
        first_there, second_there = exact_sum(of_first[in_rock]), exact_sum(of_second[in_rock])
        flows = units.velocity_to_si(on_root(sums)[0] / n_voxels).tolist()
        speeds = units.velocity_to_si(np.array([health.mean_speed, health.max_speed])) * self._per_speed
        saturation = second_there / (first_there + second_there)
        self._is_second = of_second > of_first
        return [saturation, first * volume_m3, second * volume_m3, *flows, *speeds.tolist()]

    def rows(self) -> list[list[float]] | None:
        """The numbers, of which the flows are remembered, and at looks 1, 2, 4, 8 and so on where both fluids are."""
        numbers, shape = self.numbers(), structure(self._view) if self._with_structure else None
        if numbers is None:
            return None
        self._looks.append([numbers[COLUMNS.index(name)] for name in FLOWS])
        if self._known_within is not None and len(self._looks).bit_count() == 1:
            self._earlier = [*self._earlier, np.packbits(self._is_second)][-2:]
        return [[*numbers, *on_root(shape).values()] if self._with_structure else numbers]

    def verdict(self) -> str | None:
        """Whether the mean flows are known."""
        is_due = self._known_within is not None and self.every and self._view.step_number % self.every == 0
        if not is_due:
            return None
        communicator = self._view.communicator
        self._is_known = communicator.broadcast(self._are_known() if communicator.rank == 0 else None)
        return STEADY if self._is_known else None

    def _are_known(self) -> bool:
        within = self._known_within
        if len(self._looks) < LEAST_LOOKS or within is None:
            return False
        looks = self._viscosities * np.array(self._looks)
        mean, error = mean_and_error(looks[len(looks) // 2 :])
        before = looks[len(looks) // 4 : len(looks) // 2].mean(axis=0)
        allowed = within * np.abs(mean).sum()
        if error.max() > allowed or np.abs(mean - before).max() > SETTLED * allowed:
            return False
        lengths = self._box_lengths()
        return lengths >= LONG or self._moved_share() <= min(AT_REST * within, OF_FLOW * lengths)

    def _moved_share(self) -> float:
        """Share of the rock whose fluid has changed since a look in the second quarter of the run, or since one behind
        it, if that is more: what goes round a periodic box comes back to where it was; NaN of none."""
        if len(self._earlier) < 2:
            return np.nan
        rock, now = nodes_in_rock(self._view), self._is_second
        before = (np.unpackbits(each, count=now.size).astype(bool) for each in self._earlier)
        return max(float(np.mean((was_second != now)[rock])) for was_second in before)

    def state(self) -> dict | None:
        """Phase of all nodes, eight nodes a byte."""
        return {"earlier": np.array(self._earlier)} if self._earlier else None

    def restore(self, state: dict) -> None:
        """Continue from there."""
        self._earlier = list(state["earlier"])

    @property
    def is_satisfied(self) -> bool:
        """Whether the mean flows are known."""
        return self._is_known

    def finish(self) -> dict | None:
        """The numbers at the end, and mean flows with their errors where there are enough looks, on rank 0."""
        numbers, shape = self.numbers(), structure(self._view)
        if numbers is None:
            return None
        record: dict = dict(zip(COLUMNS, numbers, strict=True)) | on_root(shape)
        if len(self._looks) >= LEAST_LOOKS:
            mean, error = mean_and_error(np.array(self._looks[len(self._looks) // 2 :]))
            record["mean"] = dict(zip(FLOWS, mean.tolist(), strict=True))
            record["standard_error"] = dict(zip(FLOWS, error.tolist(), strict=True))
            record[BOX_LENGTHS] = self._box_lengths()
            if self._known_within is not None:
                record[MOVED] = self._moved_share()
        return record

    def _box_lengths(self) -> float:
        """Lengths of the box, along one axis, that the mean velocity in the pores has gone through so far."""
        header, units = self._view.header, self._view.units
        both = np.mean(self._looks, axis=0).reshape(2, 3).sum(axis=0) * np.prod(header.shape) / header.n_nodes
        gone = np.abs(both) * self._view.step_number * units.time_step_s / units.spacing_m
        return float((gone / np.array(header.shape[::-1])).max())

    def lines(self, summary: Mapping) -> list[str]:
        """The record as lines of text."""
        record = summary[self.name]
        parts = (
            f"{fluid} {record[f'{fluid}_parts']:,}, {record[f'{fluid}_connected_share']:.1%} of it connected"
            for fluid in FLUIDS
        )
        return [
            f"two fluids: saturation of the second {record['second_saturation']:.4g}, capillary number"
            f" {record['capillary_number']:.3g}, at most {record['largest_capillary_number']:.3g}",
            f"parts: {'; '.join(parts)}; interface {record[INTERFACE_AREA]:.4g} m2",
        ]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table."""
        rows = [
            (name.replace("_", " "), value) for name, value in summary[self.name].items() if name in (*COLUMNS, *SHAPE)
        ]
        return ReportPart(tables=(ReportTable("Two fluids", ("", "at the end"), rows),))
