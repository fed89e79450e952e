"""A porous medium as a physics package (:mod:`muphy_lb.physics.package`)."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.units import Units
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.nodes import GeometryHeader, box_told
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField, whole_nodes
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import Field
from muphy_lb.operators.darcy import DRAG, RATES, drag_rates
from muphy_lb.operators.trt import MAGIC, MAGIC_HALF_WAY
from muphy_lb.parallel import from_root
from muphy_lb.physics.package import Physics
from muphy_lb.physics.porous_medium.observers import PorousRecord, Region
from muphy_lb.physics.porous_medium.regions import Place, Regions
from muphy_lb.physics.porous_medium.section import FIELD, KEY

INERTIA, LEAST_ODD_RATE = 1.0, 1.0
"""cell Reynolds number from which on the rate of odd moments is at least so large."""


class PorousMedium(Physics):
    """Parts of the fluid with a permeability, whose drag the flow feels."""

    name = KEY
    needs_flow = True
    excludes = frozenset({"fluctuating", "particles", "free_surface", "two_fluid", "dissipation"})
    goes_on_in_frozen_flow = True  # what the flow carries continues with the velocity in the medium

    def __init__(self, case, header: GeometryHeader, units: Units):
        _refuse(case)
        self._regions, self._units = Regions(case, header), units
        self._viscosity = float(units.viscosity_to_lattice(case.fluid.viscosity_m2_s))
        self._known: tuple[LocalDomain, np.ndarray] | None = None
        self._whole_m2: np.ndarray | None = None  # of all nodes, on rank 0, until its own are known
        self._told: Sequence[Region] = ()
        stored = FromStored((DRAG,), self._permeability_m2)
        self.output_fields = {FIELD: OutputField("m2", self._at_all_nodes, stored)}
        self._least_odd_rate = 0.0

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the drag's rates and of the stored momentum."""
        return 6.0 * np.dtype(PRECISIONS[case.compute.precision].real).itemsize

    def check(self, view) -> None:
        """Find the nodes of every part, on rank 0; bound the rates of a flow with inertia."""
        self._least_odd_rate = LEAST_ODD_RATE if (view.numerics.cell_reynolds or 0.0) > INERTIA else 0.0
        self._told = from_root(view.communicator, lambda: self._found(whole_nodes(view)))

    def _found(self, nodes) -> list[Region]:
        place = Place.of_all(nodes)
        number, self._whole_m2 = self._regions.numbers(place), self._regions.permeabilities_m2(place)
        found = []
        for k, section in enumerate(self._regions.sections):
            inside = number == k
            if not inside.any():
                raise InputError(
                    f"{KEY}.{section.name} holds no fluid node, or only those of later tables of {KEY};"
                    f" {box_told(nodes)}: move it into the fluid, or leave it out"
                )
            own_m2 = self._whole_m2[inside]
            bounds_m2 = float(own_m2.min()), float(own_m2.max())
            found.append(Region(section.name, int(inside.sum()), bounds_m2, nodes.spacing_m, 2 + (nodes.shape[0] > 1)))
        return found

    def extend(self, flow: Flow) -> Flow:
        """The flow with the drag."""
        magic = flow.fluid.parameters.get(MAGIC, MAGIC_HALF_WAY)
        fields = (Field(name, fixed=partial(self._rate, row, magic)) for row, name in enumerate(RATES))
        return flow.dragged_by(fields)

    def _rate(self, row: int, magic: float, domain: LocalDomain) -> np.ndarray:
        """(n,) one of the rates at the nodes of a rank; all three are computed at once."""
        if self._known is None or self._known[0] is not domain:
            whole_m2, self._whole_m2 = self._whole_m2, None
            own_m2 = (
                self._regions.permeabilities_m2(Place.of_rank(domain)) if whole_m2 is None else whole_m2[domain.number]
            )
            rates = drag_rates(own_m2 / self._units.spacing_m**2, self._viscosity, magic, self._least_odd_rate)
            self._known = domain, rates
        return self._known[1][row]

    def _permeability_m2(self, rate: np.ndarray) -> np.ndarray:
        """The permeability [m2] of stored rates of the drag, 0 where there is no medium."""
        inverse = np.divide(1.0, rate, out=np.zeros(rate.shape), where=rate > 0.0)
        return self._viscosity * self._units.spacing_m**2 * inverse

    def _at_all_nodes(self, view: FlowView) -> np.ndarray | None:
        rate = view.model_field(DRAG)
        return None if rate is None else self._permeability_m2(rate)

    def describe(self) -> str:
        """The parts, as text."""
        return f"porous medium: {'; '.join(map(str, self._told))}"

    def warnings(self) -> tuple[str, ...]:
        """Parts whose Brinkman layers voxels do not resolve."""
        return tuple(
            f"the Brinkman layer of {KEY}.{region.name} is {region.layers_voxels[0]:.2g} voxels thick, less than one:"
            " velocities beside its surface are of first order in the voxel"
            for region in self._told
            if region.layers_voxels[0] < 1.0
        )

    def observers(self, view, folder, resume_step):
        """The record of every part."""
        return (PorousRecord(view, self._regions, self._told),)


def _refuse(case) -> None:
    """Raise InputError for what a porous medium does not go with."""
    if case.fluid.law:
        raise InputError(
            f"fluid.{case.fluid.law} is given with [[{KEY}]], in which the shear between the grains is not known: leave"
            " it out, and give a constant viscosity"
        )


PHYSICS = PorousMedium
