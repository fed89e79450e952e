"""Thermal flow as a physics package (:mod:`muphy_lb.physics.package`)."""

from functools import partial
from types import MappingProxyType

import numpy as np

from muphy_lb.base.precision import PRECISIONS
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import scalar_lattice
from muphy_lb.measure.flow_view import FromStored, OutputField, ProbedScalar
from muphy_lb.physics.package import Physics
from muphy_lb.physics.thermal.model import DIFFERENCES, NAME, heated, temperature_fields
from muphy_lb.physics.thermal.observers import HeatSeries, TemperaturePicture
from muphy_lb.physics.thermal.setup import thermal_setup
from muphy_lb.physics.thermal.temperature import set_temperature_k, temperature_k, wall_gradients_k_m
from muphy_lb.setup.advice.costs import BYTES_PER_DIRECTION
from muphy_lb.setup.initial import initial_values


class Thermal(Physics):
    """A temperature that the flow advects, and that drives it by buoyancy.

    Attributes:
        setup: the temperatures of the case.
        heat: what the model of this rank takes of them.
        wall_heat, wall_fluxes: links into walls of fixed temperature, on rank 0; None until they are asked for.
    """

    name = "thermal"
    follows_darcy = False  # buoyancy drives it, too
    excludes = frozenset({"age", "dissipation"})
    cut_field = "temperature"
    methods = MappingProxyType({"temperature_k": temperature_k, "set_temperature_k": set_temperature_k})

    def __init__(self, case, header: GeometryHeader, units):
        self.setup, self.wall_heat, self.wall_fluxes = thermal_setup(case, header, units), None, None
        self.heat = self.setup.heat
        at_nodes = FromStored((NAME,), lambda values: self.setup.zero_k + values)
        self.output_fields = {"temperature": OutputField("K", temperature_k, at_nodes)}
        self.probed = (ProbedScalar(NAME, "temperature_k", at_nodes.in_si),)
        self._reference_k = case.thermal.reference_k
        self._method = case.thermal.method

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the stored velocity, of two copies of the temperature (or of its populations, itself and the
        buoyant temperature), and of the stencil table."""
        q_count = scalar_lattice(lattice.dimension).q
        numbers, n_entries = (7 + 2 * q_count, q_count - 1)
        if case.thermal.method == DIFFERENCES:
            numbers, n_entries = (5, lattice.q - 1)
        real = PRECISIONS[case.compute.precision].real
        return numbers * np.dtype(real).itemsize + n_entries * BYTES_PER_DIRECTION

    @classmethod
    def monitored_in(cls, case) -> tuple[str, ...]:
        """The gradients at walls, if a wall has a temperature, or the mean temperature, if what enters has one."""
        places = (*case.walls, *case.openings)
        return ("heat",) if any(place.temperature_k is not None for place in places) else ()

    def extend(self, flow):
        """The flow with a temperature."""
        self.heat = self.setup.heat_in(flow.solid)
        return heated(flow, self.heat)

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """The temperature of [initial], else the reference temperature everywhere."""
        found_k = initial_values(view.case, NAME, "k", view.header, view.domain)
        start_k = np.full(1, self._reference_k) if found_k is None else found_k[:, 0]
        return temperature_fields(self.heat, view.lattice, start_k - self.setup.zero_k)

    def describe(self) -> str:
        """The method for the temperature, as text."""
        return f"temperature: {self._method}"

    def monitored(self, view):
        """The function that measures the gradients at walls, or the mean temperature above that of reference."""
        if any(wall.temperature_k is not None for wall in view.case.walls):
            return {"heat": partial(wall_gradients_k_m, view)}
        return {"heat": partial(self._mean_above, view)}

    def _mean_above(self, view) -> dict[str, float]:
        values = temperature_k(view)
        return {} if values is None else {"mean_k": float(np.mean(values - self._reference_k, dtype=np.float64))}

    def observers(self, view, folder, resume_step):
        """The time series of heat, and the picture."""
        series = HeatSeries(view, folder, resume_step)
        return (series, TemperaturePicture(view, folder)) if view.case.output.picture else (series,)


PHYSICS = Thermal
