"""The temperature of a fluctuating flow: from the case to lattice units, and measured, in ``fluctuations.csv`` and a
line of the summary."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import BOLTZMANN_J_K, Units
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.fluctuating.section import SERIES_FILE

LARGEST_MACH = 0.1


def thermal_mach(kt: float) -> float:
    """sqrt(3 kT / rho): root mean square of the velocity of a node, lattice units."""
    return sqrt(3.0 * kt)


def lattice_kt(temperature_k: float, units: Units) -> float:
    """kT in lattice units. Raises InputError: nodes fluctuate faster than the method allows."""
    kt = BOLTZMANN_J_K * temperature_k / units.energy_j
    mach = thermal_mach(kt)
    if mach > LARGEST_MACH:
        time_step_s = units.time_step_s * LARGEST_MACH / mach
        raise InputError(
            f"fluid.temperature_k is {temperature_k:g}: voxels of {units.spacing_m:g} m then move with"
            f" {mach:.3g} voxels a time step on average; at most {LARGEST_MACH} is allowed: take a time step of at most"
            f" {time_step_s:.3g} s (lattice.time_step_s), or larger voxels"
        )
    return kt


def measured_kt(nodes: NodeList, momentum: np.ndarray) -> tuple[float, float]:
    """kT from momenta (n, 3) of the nodes in lattice units, density 1, and its standard error.

    The noise is that of density 1 everywhere: momenta have the variance kT, whatever the pressure, velocities do not.
    Second differences along x are used: neighbours fluctuate independently, and a mean flow contributes no more than
    its curvature. Variances of second differences of independent numbers are six times their own.

    Returns:
        NaN twice if nowhere three nodes lie in a row.
    """
    voxel = nodes.voxel
    x = voxel_coordinates(voxel, nodes.shape)[:, 0]
    middle = 1 + np.flatnonzero((voxel[2:] - voxel[:-2] == 2) & (x[2:] - x[:-2] == 2))
    if not middle.size:
        return np.nan, np.nan
    second = momentum[middle - 1] - 2.0 * momentum[middle] + momentum[middle + 1]
    moving = second[:, np.ptp(momentum, axis=0) > 0.0]
    kt = float((moving**2).mean()) / 6.0
    # Of overlapping triples every second number is correlated: 35/18 as many would be needed (sums of rho_k^2).
    return kt, kt * sqrt(2.0 * (1.0 + 2.0 * ((4 / 6) ** 2 + (1 / 6) ** 2)) / moving.size)


class FluctuationSeries(SeriesObserver):
    """Appends the temperature measured from the momenta, and its standard error."""

    file = SERIES_FILE
    files = (file,)
    name = "fluctuations"

    def columns(self) -> list[str]:
        """Names of the columns."""
        return ["temperature_k", "standard_error_k"]

    def numbers(self) -> list[float] | None:
        """Temperature and standard error [K], on rank 0; collective."""
        velocity, density, nodes = self._view.velocity_m_s(), self._view.density(), self._view.nodes
        if velocity is None or density is None or not isinstance(nodes, NodeList):
            return None
        units = self._view.units
        in_k = units.energy_j / BOLTZMANN_J_K
        momentum = density[:, None] * units.velocity_to_lattice(velocity)
        return [in_k * value for value in measured_kt(nodes, momentum)]

    def finish(self) -> dict | None:
        """The last temperature as the record for the summary, beside that of the case."""
        numbers = self.numbers()
        if numbers is None:
            return None
        return {"asked_k": self._view.case.fluid.temperature_k, **dict(zip(self.columns(), numbers, strict=True))}

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        measured = f"{record['temperature_k']:.5g} +- {record['standard_error_k']:.2g} K"
        return [f"fluctuations: temperature {measured}, asked {record['asked_k']:.5g} K"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=(("temperature of the fluctuations", record["temperature_k"], "K"),))
