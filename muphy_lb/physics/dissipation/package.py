"""Viscous dissipation as a physics package (:mod:`muphy_lb.physics.package`)."""

from functools import partial

import numpy as np

from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.units import Units
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import Field, FieldValue
from muphy_lb.physics.dissipation.observers import DissipationSeries
from muphy_lb.physics.dissipation.operator import POWER, with_dissipation
from muphy_lb.physics.dissipation.section import FIELD
from muphy_lb.physics.package import Physics


class Dissipation(Physics):
    """The power that viscosity dissipates at every node, which the flow does not feel."""

    name = "dissipation"
    needs_flow = True

    def __init__(self, case, header: GeometryHeader, units: Units):
        at_nodes = FromStored((FIELD,), lambda power: units.power_density_to_si(power.astype(np.float64)))
        self.output_fields = {FIELD: OutputField("W/m3", dissipation_w_m3, at_nodes)}

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the stored power."""
        return float(np.dtype(PRECISIONS[case.compute.precision].real).itemsize)

    def extend(self, flow: Flow) -> Flow:
        """The flow, whose collision stores what it dissipates."""
        fluid = flow.fluid
        extension = partial(with_dissipation, equilibrium=fluid.equilibrium, closure=fluid.closure, force=flow.force)
        flow = flow.with_collision(extension, {POWER: FieldValue(FIELD)}, writes=(FIELD,))
        return flow.with_fields(Field(FIELD, is_state=True))  # in checkpoints, for a run that ends where it resumes

    def observers(self, view, folder, resume_step):
        """The time series."""
        return DissipationSeries.create(view, folder, resume_step)


def dissipation_w_m3(view: FlowView) -> np.ndarray | None:
    """(n,) power that viscosity dissipates per volume [W/m3], on rank 0."""
    power = view.model_field(FIELD)
    return None if power is None else view.units.power_density_to_si(power.astype(np.float64))


PHYSICS = Dissipation
