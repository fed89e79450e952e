"""The power that the whole flow dissipates, beside that which enters it: ``dissipation.csv`` and the summary."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from muphy_lb.lattice.exact_sums import from_two_parts, in_two_parts, scale_of_sums
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.measure.period import PeriodMeans
from muphy_lb.measure.records import OpeningState
from muphy_lb.measure.shear.wall_nodes import wall_surface, wall_volumes
from muphy_lb.output.report_html import ReportPart, ReportTable, series_charts
from muphy_lb.physics.dissipation.section import FIELD, SERIES_FILE

QUANTITIES = {
    "dissipation_w": "viscous dissipation [W]",
    "pressure_power_w": "power of the pressure at the openings [W]",
    "force_power_w": "power of the uniform force [W]",
}


class FlowPower:
    """Measures the power that a flow dissipates, and those that drive it; every call is collective. A node beside a
    wall stands for the fluid up to the wall, whose distance interpolated walls know."""

    def __init__(self, view: FlowView):
        self._view, volumes = view, None
        if view.communicator.rank == 0 and whole_nodes(view).cuts is not None:
            surface = wall_surface(whole_nodes(view), view.lattice.c)
            volumes = surface.voxel, wall_volumes(whole_nodes(view), surface, view.lattice)
        self._beside_walls = view.communicator.broadcast(volumes)
        self._domain, self._volume = view.domain, self._volumes()

    def numbers(self) -> np.ndarray | None:
        """(3,) of :data:`QUANTITIES` [W], on rank 0."""
        view, units = self._view, self._view.units
        dissipated, moved = self._dissipated(), view.mean_velocity_m_s()
        openings = view.openings() if view.header.openings else {}
        if openings is None:
            return None
        volume_m3 = view.header.n_nodes * view.header.spacing_m**3
        force_n_m3 = units.density_kg_m3 * units.acceleration_to_si(view.present_force)
        return np.array([dissipated, _pressure_power_w(openings), float(force_n_m3 @ moved) * volume_m3])

    def _dissipated(self) -> float:
        """The power of all nodes [W], the same on every rank, whatever their number."""
        view = self._view
        if view.domain is not self._domain:  # nodes have moved to other ranks
            self._domain, self._volume = view.domain, self._volumes()
        power = view.local_field(FIELD) * self._volume
        scale = scale_of_sums(view.header.n_nodes)
        whole, rest = (view.communicator.total(part.sum()) for part in in_two_parts(power, scale))
        return view.units.power_density_to_si(float(from_two_parts(whole, rest, scale))) * view.header.spacing_m**3

    def _volumes(self) -> np.ndarray:
        """(n,) volume of each local node [voxels]."""
        voxel = self._view.domain.voxel
        volume = np.ones(voxel.size)
        if self._beside_walls is not None and self._beside_walls[0].size:
            known, extra = self._beside_walls
            at = np.minimum(np.searchsorted(known, voxel), known.size - 1)
            volume += np.where(known[at] == voxel, extra[at], 0.0)
        return volume


def _pressure_power_w(openings: Mapping[str, OpeningState]) -> float:
    """Power [W] of the mean pressures at the openings; what moves through them carries its own energy beside."""
    signs = {"inlet": 1.0, "outlet": -1.0}
    return sum(signs[state.kind] * state.flow_rate_m3_s * state.mean_pressure_pa for state in openings.values())


class DissipationSeries(SeriesObserver):
    """Appends dissipation and driving powers to ``dissipation.csv``."""

    file = SERIES_FILE
    files = (file,)

    def __init__(self, power: FlowPower, view: FlowView, folder: Path, resume_step: int | None):
        self._power = power
        super().__init__(view, folder, resume_step)

    @classmethod
    def create(cls, view, folder, resume_step) -> tuple[Observer, ...]:
        """The series, and what comes of it at the end."""
        power = FlowPower(view)
        return cls(power, view, folder, resume_step), DissipationMean(power, view, folder)

    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(QUANTITIES)

    def numbers(self) -> list[float] | None:
        """The powers, on rank 0; collective."""
        found = self._power.numbers()
        return None if found is None else found.tolist()


class DissipationMean(PeriodMeans):
    """The powers at the end of a run, of a periodic flow their means over its last period."""

    name = "dissipation"

    def record(self, means: np.ndarray) -> dict:
        """The powers by name."""
        return dict(zip(QUANTITIES, means.tolist(), strict=True))

    def lines(self, summary: Mapping) -> list[str]:
        """The powers as a line of text."""
        record = summary[self.name]
        when = f"mean of {record['averaged_over_s']:.4g} s" if record["averaged_over_s"] else "at the end"
        driven = record["pressure_power_w"] + record["force_power_w"]
        return [
            f"viscous dissipation ({when}): {record['dissipation_w']:.5g} W; pressure and force give {driven:.5g} W"
        ]

    def section(self, summary: Mapping) -> ReportPart:
        """A table of the powers, and charts over time."""
        rows: Sequence = [(text, summary[self.name][name]) for name, text in QUANTITIES.items()]
        charts = partial(series_charts, self._folder / SERIES_FILE, "Power", QUANTITIES)
        return ReportPart(tables=(ReportTable("Power", ("", "[W]"), rows),), charts=charts)
