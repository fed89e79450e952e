"""What is recorded of beads: temperature, displacement, size of chains over time."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.measure.flow_series import SeriesObserver
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.output.report_html import ReportPart
from muphy_lb.physics.model import POSITION
from muphy_lb.physics.particles.beads.names import TRAVELLED, VELOCITY
from muphy_lb.physics.particles.measures import radius_of_gyration
from muphy_lb.units import BOLTZMANN_J_K

if TYPE_CHECKING:
    from muphy_lb.physics.particles.beads.species import BeadSpecies


class BeadSeries(SeriesObserver):
    """Appends mean temperature, mean square displacement, mean velocity and, of chains, mean square radius of gyration
    and end-to-end distance to ``particles_NAME.csv``."""

    def __init__(self, view: FlowView, folder: Path, resume_step: int | None, species: "BeadSpecies"):
        self._species = species
        self.file = f"particles_{species.name}.csv"
        self.name = f"particles_{species.name}"
        super().__init__(view, folder, resume_step)

    @property
    def _beads_per_chain(self) -> int | None:
        return self._species.section.beads_per_chain

    def columns(self) -> list[str]:
        """Names of the columns."""
        own = ["temperature_k", "mean_square_displacement_m2", "mean_velocity_m_s"]
        return own + (["square_radius_of_gyration_m2", "square_end_to_end_m2"] if self._beads_per_chain else [])

    def numbers(self) -> list[float] | None:
        """One number per column, on rank 0; collective.

        Raises:
            DivergedError: a bead has no finite place or velocity, or a bond has broken.
        """
        particles, view, beads = self._view.particles(), self._view, self._species.beads
        if particles is None:
            return None
        self._species.checks.under_way(particles[beads.name])
        columns, units = particles[beads.name], view.units
        velocity, travelled = (np.stack([columns[name] for name in names], axis=1) for names in (VELOCITY, TRAVELLED))
        temperature = beads.mass * float((velocity**2).sum(axis=1).mean()) / view.lattice.dimension
        numbers = [
            temperature * units.energy_j / BOLTZMANN_J_K,
            float((travelled**2).sum(axis=1).mean()) * units.spacing_m**2,
            float(np.linalg.norm(velocity.mean(axis=0))) * units.speed_m_s,
        ]
        length = self._beads_per_chain
        if length is None:
            return numbers
        chains = unfolded(columns, length, view.header) * units.spacing_m
        ends = chains[:, -1] - chains[:, 0]
        return [*numbers, float((radius_of_gyration(chains) ** 2).mean()), float((ends**2).sum(axis=1).mean())]

    def finish(self) -> dict | None:
        """The last row as the record for the summary."""
        numbers = self.numbers()
        return None if numbers is None else dict(zip(self.columns(), numbers, strict=True))

    def lines(self, summary: Mapping) -> list[str]:
        """The record as a line of text."""
        record = summary[self.name]
        text = f"beads {self._species.name}: temperature {record['temperature_k']:.4g} K"
        return [text + f", mean square displacement {record['mean_square_displacement_m2']:.4g} m2"]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as results."""
        record = summary[self.name]
        return ReportPart(results=((f"temperature of the beads {self._species.name}", record["temperature_k"], "K"),))


def unfolded(columns: Mapping[str, np.ndarray], length: int, header) -> np.ndarray:
    """(chains, length, 3) places of the beads of chains, voxels, each bead beside the one before it."""
    place = np.stack([columns[v] + columns[o] for v, o in zip(*POSITION, strict=True)], axis=1).reshape(-1, length, 3)
    size = np.where(header.periodic, np.array(header.shape[::-1], float), np.inf)
    bonds = np.diff(place, axis=1)
    with np.errstate(invalid="ignore"):  # infinity times 0, where an axis does not wrap
        bonds = np.where(np.isfinite(size), bonds - size * np.rint(bonds / size), bonds)
    return np.concatenate((place[:, :1], place[:, :1] + np.cumsum(bonds, axis=1)), axis=1)
