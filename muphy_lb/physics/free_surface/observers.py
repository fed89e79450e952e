"""What is told of a free surface while a run goes on: ``free_surface.csv``, and lines of the summary."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.free_surface.cells import CELL, FLUID
from muphy_lb.physics.free_surface.filling import liquid_mass
from muphy_lb.physics.free_surface.section import SERIES_FILE

AXES = "xyz"


class SurfaceSeries(SeriesObserver):
    """Appends volume, energies and extent of the liquid."""

    file = SERIES_FILE
    files = (file,)
    name = "free_surface"

    def columns(self) -> list[str]:
        """Names of the columns."""
        bounds = [f"{axis}_{end}_m" for axis in AXES for end in ("min", "max")]
        return ["volume_m3", "kinetic_energy_j", "potential_energy_j", *bounds]

    def numbers(self) -> list[float] | None:
        """Volume [m3], kinetic and potential energy [J] (by the uniform body force), and bounds [m] of the voxels with
        liquid, on rank 0; collective."""
        view = self._view
        cell, mass, velocity, nodes = view.model_field(CELL), liquid_mass(view), view.velocity_m_s(), view.nodes
        if cell is None or mass is None or velocity is None or not isinstance(nodes, NodeList):
            return None
        units, place = view.units, nodes.coordinates()
        speed = units.velocity_to_lattice(velocity)
        kinetic = 0.5 * float(mass @ (speed**2).sum(axis=1))
        potential = -float(mass @ (place @ view.present_force))
        wet = place[(cell & FLUID) != 0]
        low, high = wet.min(axis=0) - 0.5, wet.max(axis=0) + 0.5
        bounds = np.asarray(nodes.origin_m) + nodes.spacing_m * np.stack((low, high))
        energies = (units.energy_j * kinetic, units.energy_j * potential)
        return [float(mass.sum()) * units.spacing_m**3, *energies, *map(float, bounds.T.ravel())]

    def finish(self) -> dict | None:
        """The last row as the record for the summary."""
        numbers = self.numbers()
        return None if numbers is None else dict(zip(self.columns(), numbers, strict=True))

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        extent = ", ".join(f"{axis} {record[f'{axis}_min_m']:.4g} to {record[f'{axis}_max_m']:.4g} m" for axis in AXES)
        return [f"liquid: {record['volume_m3']:.6g} m3, {extent}"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(
            results=(
                ("volume of the liquid", record["volume_m3"], "m3"),
                ("kinetic energy of the liquid", record["kinetic_energy_j"], "J"),
            )
        )
