"""What is told of a free surface while a run goes on: ``free_surface.csv``, and lines of the summary."""

from collections.abc import Mapping
from math import isnan, sqrt
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart
from muphy_lb.output.series import read_series
from muphy_lb.physics.free_surface.cells import CELL, FLUID, LIQUID
from muphy_lb.physics.free_surface.filling import fill, liquid_mass
from muphy_lb.physics.free_surface.section import SERIES_FILE
from muphy_lb.physics.free_surface.wetting import Wetting

AXES = "xyz"
WETTED_AREAS = ("wetted_area_m2", "ever_wetted_area_m2")
LARGEST_SPEED = "max_velocity_m_s"
EVER = "ever_wetted"


class SurfaceSeries(SeriesObserver):
    """Appends volume, energies and extent of the liquid, and the area of the walls that it wets.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: as for all series.
        wetting: the walls.
        fall_m: height of the liquid at the start above the lowest point of the box [m]; 0 without gravity.
        gravity_m_s2: that of the case.
    """

    file = SERIES_FILE
    files = (file,)
    name = "free_surface"

    def __init__(
        self,
        view: FlowView,
        folder: Path,
        resume_step: int | None,
        wetting: Wetting,
        fall_m: float,
        gravity_m_s2: float,
    ):
        self._wetting, self._fall_m, self._gravity_m_s2 = wetting, fall_m, gravity_m_s2
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        bounds = [f"{axis}_{end}_m" for axis in AXES for end in ("min", "max")]
        return ["volume_m3", "kinetic_energy_j", "potential_energy_j", *bounds, *WETTED_AREAS, LARGEST_SPEED]

    def numbers(self) -> list[float] | None:
        """Volume [m3], kinetic and potential energy [J] (by the uniform body force), and bounds [m] of the voxels with
        liquid, area of the walls that it touches now and has ever touched [m2], and largest speed in voxels that are
        full of it [m/s], on rank 0; collective."""
        view = self._view
        cell, share, nodes = view.model_field(CELL), fill(view), view.nodes
        mass, velocity = liquid_mass(view), view.velocity_m_s()
        if cell is None or share is None or mass is None or velocity is None or not isinstance(nodes, NodeList):
            return None
        units, place = view.units, nodes.coordinates()
        speed = units.velocity_to_lattice(velocity)
        kinetic = 0.5 * float(mass @ (speed**2).sum(axis=1))
        potential = -float(mass @ (place @ view.present_force))
        wet = place[(cell & FLUID) != 0]
        nowhere = np.full(3, np.nan)  # what is left fills no voxel's centre
        low, high = (wet.min(axis=0) - 0.5, wet.max(axis=0) + 0.5) if len(wet) else (nowhere, nowhere)
        bounds = np.asarray(nodes.origin_m) + nodes.spacing_m * np.stack((low, high))
        energies = (units.energy_j * kinetic, units.energy_j * potential)
        volume, areas = float(mass.sum()) * units.spacing_m**3, self._wetting.areas_m2(view, share)
        fastest = float(np.linalg.norm(velocity[cell == LIQUID], axis=1).max(initial=0.0))
        return [volume, *energies, *map(float, bounds.T.ravel()), *areas, fastest]

    def state(self) -> dict | None:
        """Where liquid has ever been beside walls."""
        return None if self._wetting.ever is None else {EVER: self._wetting.ever}

    def restore(self, state: dict) -> None:
        """Continue from there."""
        self._wetting.ever = state[EVER]

    def finish(self) -> dict | None:
        """The last row as the record for the summary, with the largest speed of all rows, and the Reynolds and Froude
        number that follow from it and the height of the liquid at the start."""
        numbers = self.numbers()
        if numbers is None:
            return None
        record = dict(zip(self.columns(), numbers, strict=True))
        rows = read_series(self._folder / self.file)[LARGEST_SPEED]
        fastest_m_s = float(np.fmax.reduce([record[LARGEST_SPEED], *rows]))
        record |= {"largest_velocity_m_s": fastest_m_s}
        if self._fall_m:
            record["reynolds"] = fastest_m_s * self._fall_m / self._view.case.fluid.viscosity_m2_s
            record["froude"] = fastest_m_s / sqrt(self._gravity_m_s2 * self._fall_m)
        return record

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        ends = [(axis, record[f"{axis}_min_m"], record[f"{axis}_max_m"]) for axis in AXES]
        extent = ", ".join(f"{axis} {low:.4g} to {high:.4g} m" for axis, low, high in ends if not isnan(low))
        wet = f"walls wetted: {record[WETTED_AREAS[0]]:.4g} m2, so far {record[WETTED_AREAS[1]]:.4g} m2"
        fast = f"largest speed in full voxels, of all rows: {record['largest_velocity_m_s']:.4g} m/s"
        if "froude" in record:
            fast += f", Reynolds number {record['reynolds']:.4g}, Froude number {record['froude']:.3g}"
        return [f"liquid: {record['volume_m3']:.6g} m3, {extent or 'in no voxel'}", wet, fast]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(
            results=(
                ("volume of the liquid", record["volume_m3"], "m3"),
                ("kinetic energy of the liquid", record["kinetic_energy_j"], "J"),
                ("area of wetted walls", record[WETTED_AREAS[0]], "m2"),
                ("area of walls that have been wetted", record[WETTED_AREAS[1]], "m2"),
            )
        )
