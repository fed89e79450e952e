"""The record of every porous part at the end of a run: its nodes, permeability, mean velocity, and drag."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.measure.observer import Observer
from muphy_lb.operators import MOMENTUM_FIELDS
from muphy_lb.operators.darcy import DRAG
from muphy_lb.output.report_html import ReportPart, ReportTable
from muphy_lb.physics.porous_medium.regions import Place, Regions
from muphy_lb.physics.porous_medium.section import KEY


class Region(NamedTuple):
    """A porous part in the geometry of a case."""

    name: str
    n_nodes: int
    permeability_m2: tuple[float, float]  #: the least and the largest
    spacing_m: float
    dimension: int

    @property
    def layers_voxels(self) -> tuple[float, float]:
        """Least and largest thickness sqrt(K) of the Brinkman layer [voxels]."""
        low_m2, high_m2 = self.permeability_m2
        return low_m2**0.5 / self.spacing_m, high_m2**0.5 / self.spacing_m

    @property
    def darcy_number(self) -> float:
        """The largest permeability over the square of the edge of a cube (in a plane, of a square) of its volume."""
        return self.permeability_m2[1] / (self.n_nodes ** (1.0 / self.dimension) * self.spacing_m) ** 2

    def record(self) -> dict:
        """All numbers by name, for files."""
        least_m2, most_m2 = self.permeability_m2
        own = {"nodes": self.n_nodes, "least_permeability_m2": least_m2, "permeability_m2": most_m2}
        return own | {"darcy_number": self.darcy_number, "brinkman_layer_voxels": self.layers_voxels[0]}

    def __str__(self):
        return f"{self.name} {_range(*self.permeability_m2)} m2, {self.n_nodes:,} nodes, Da {self.darcy_number:.3g}"


def _range(low: float, high: float) -> str:
    return f"{high:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


class PorousRecord(Observer):
    """Reports every part at the end. ``told``: what is known of each beforehand."""

    name = KEY

    def __init__(self, view: FlowView, regions: Regions, told: Sequence[Region]):
        self._view, self._regions, self._told = view, regions, told

    def finish(self) -> dict | None:
        """The parts by name, on rank 0: mean velocity [m/s] over the whole part, grains included, and the force of the
        fluid on it [N]; of a plane flow on one layer of voxels."""
        view = self._view
        fields = [view.model_field(name) for name in (DRAG, *MOMENTUM_FIELDS)]
        velocity_m_s = view.velocity_m_s()
        if velocity_m_s is None:
            return None
        number = self._regions.numbers(Place.of_all(whole_nodes(view)))
        rate, *momentum = (np.asarray(field, dtype=np.float64) for field in fields)
        found = {}
        for k, region in enumerate(self._told):
            inside = number == k
            drag = [float((rate[inside] * component[inside]).sum()) * view.units.force_n for component in momentum]
            mean_m_s = velocity_m_s[inside].mean(axis=0, dtype=np.float64).tolist()
            found[region.name] = region.record() | {"mean_velocity_m_s": mean_m_s, "force_n": drag}
        return found

    def lines(self, summary: Mapping) -> list[str]:
        """A line for each part."""
        return [
            f"porous medium {region}: mean velocity {_vector(own['mean_velocity_m_s'])} m/s, force of the fluid on it"
            f" {_vector(own['force_n'])} N"
            for region, own in zip(self._told, summary[self.name].values(), strict=True)
        ]

    def section(self, summary: Mapping) -> ReportPart:
        """The record as a table."""
        rows = [
            (region.name, region.n_nodes, _range(*region.permeability_m2), f"{region.darcy_number:.3g}")
            + (_vector(own["mean_velocity_m_s"]), _vector(own["force_n"]))
            for region, own in zip(self._told, summary[self.name].values(), strict=True)
        ]
        columns = ("", "nodes", "permeability [m2]", "Darcy number", "mean velocity [m/s]", "force on it [N]")
        return ReportPart(tables=(ReportTable("Porous medium", columns, rows),))


def _vector(numbers: Sequence[float]) -> str:
    return f"({', '.join(f'{number:.4g}' for number in numbers)})"
