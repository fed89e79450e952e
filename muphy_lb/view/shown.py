"""The scalars that can be looked at: of the flow, and those of the physics that follow at every node alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from muphy_lb.engine.engine import Engine
from muphy_lb.engine.transfers import NodeMoments, NodeValues
from muphy_lb.measure.flow_view import FlowView

WALL_SHEAR = "wall shear stress"


class NodeReader:
    """Moments and fields of selected nodes of a rank, at the present step.

    Args:
        engine: engine of the rank.
        nodes: (k,) ascending local nodes.
    """

    def __init__(self, engine: Engine, nodes: np.ndarray):
        self.size = nodes.size
        self._engine, self._moments, self._values = engine, NodeMoments(engine, nodes), NodeValues(engine, nodes)

    def moments(self) -> np.ndarray:
        """(4, k) rows rho - 1, ux, uy, uz, lattice units."""
        return self._moments.read()

    def stored(self, name: str) -> np.ndarray:
        """(k,) values of a field of the model."""
        self._engine.backend.synchronise()
        return self._values.field(name, self._engine.parity)

    def has_fluid(self) -> np.ndarray | None:
        """(k,) mask of the nodes with fluid; None if all have."""
        name = self._engine.model.occupied
        return self.stored(name) != 0.0 if name else None


class ShownField(NamedTuple):
    """A scalar at nodes.

    Attributes:
        unit: its SI unit.
        values: its (k,) SI values at the nodes of a reader.
        is_below_wall: whether the body shows the largest value below its surface, instead of the value at the surface.
    """

    unit: str
    values: Callable[[NodeReader], np.ndarray]
    is_below_wall: bool = False


def shown_fields(view: FlowView) -> dict[str, ShownField]:
    """The scalars of a flow by name."""
    units = view.units
    at_rest_pa, scale_pa = units.reference_pressure_pa, units.pascals_per_density(float(view.lattice.cs2))

    def speed(nodes: NodeReader) -> np.ndarray:
        return units.velocity_to_si(np.sqrt((nodes.moments()[1:] ** 2).sum(axis=0)))

    def pressure(nodes: NodeReader) -> np.ndarray:
        return at_rest_pa + scale_pa * nodes.moments()[0]

    fields = {"speed": ShownField("m/s", speed, is_below_wall=True), "pressure": ShownField("Pa", pressure)}
    for axis, name in enumerate("xyz"[: 2 if view.header.shape[0] == 1 else 3]):
        fields[f"velocity along {name}"] = ShownField("m/s", _component(units, 1 + axis), is_below_wall=True)
    for physics in view.physics:
        for name, output in physics.output_fields.items():
            if output.at_nodes:
                fields[name] = ShownField(output.unit, _from_stored(output.at_nodes))
    return fields


def has_wall_shear(view: FlowView) -> bool:
    """Whether the wall shear stress can be measured: not where nodes may be without fluid."""
    return not view.engine.model.occupied


def _component(units, row: int) -> Callable[[NodeReader], np.ndarray]:
    return lambda nodes: units.velocity_to_si(nodes.moments()[row])


def _from_stored(source) -> Callable[[NodeReader], np.ndarray]:
    return lambda nodes: source.in_si(*(nodes.stored(name) for name in source.fields))
