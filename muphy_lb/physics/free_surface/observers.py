"""What is told of a free surface while a run goes on: ``free_surface.csv``, and lines of the summary."""

from collections.abc import Mapping
from math import isnan
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.free_surface.cells import CELL, FLUID
from muphy_lb.physics.free_surface.filling import fill, liquid_mass
from muphy_lb.physics.free_surface.section import SERIES_FILE
from muphy_lb.physics.free_surface.wetting import Wetting

AXES = "xyz"
WETTED_AREAS = ("wetted_area_m2", "ever_wetted_area_m2")
EVER = "ever_wetted"


class SurfaceSeries(SeriesObserver):
    """Appends volume, energies and extent of the liquid, and the area of the walls that it wets.

    Args:
        view: the flow.
        folder: output folder.
        resume_step: as for all series.
        wetting: the walls.
    """

    file = SERIES_FILE
    files = (file,)
    name = "free_surface"

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, wetting: Wetting):
        self._wetting = wetting
        super().__init__(view, folder, resume_step)

    def columns(self) -> list[str]:
        """Names of the columns."""
        bounds = [f"{axis}_{end}_m" for axis in AXES for end in ("min", "max")]
        return ["volume_m3", "kinetic_energy_j", "potential_energy_j", *bounds, *WETTED_AREAS]

    def numbers(self) -> list[float] | None:
        """Volume [m3], kinetic and potential energy [J] (by the uniform body force), and bounds [m] of the voxels with
        liquid, and area of the walls that it touches now and has ever touched [m2], on rank 0; collective."""
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
        return [volume, *energies, *map(float, bounds.T.ravel()), *areas]

    def state(self) -> dict | None:
        """Where liquid has ever been beside walls."""
        return None if self._wetting.ever is None else {EVER: self._wetting.ever}

    def restore(self, state: dict) -> None:
        """Continue from there."""
        self._wetting.ever = state[EVER]

    def finish(self) -> dict | None:
        """The last row as the record for the summary."""
        numbers = self.numbers()
        return None if numbers is None else dict(zip(self.columns(), numbers, strict=True))

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        ends = [(axis, record[f"{axis}_min_m"], record[f"{axis}_max_m"]) for axis in AXES]
        extent = ", ".join(f"{axis} {low:.4g} to {high:.4g} m" for axis, low, high in ends if not isnan(low))
        wet = f"walls wetted: {record[WETTED_AREAS[0]]:.4g} m2, so far {record[WETTED_AREAS[1]]:.4g} m2"
        return [f"liquid: {record['volume_m3']:.6g} m3, {extent or 'in no voxel'}", wet]

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
