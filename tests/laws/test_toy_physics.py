"""A physics of one's own, through the contract of models alone: a dye that the flow carries and that fades."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from muphy_lb.domain import STEP, BorderValues
from muphy_lb.lattice import D2Q9
from muphy_lb.operators import KEEP_VELOCITY, UNIFORM, Operator
from muphy_lb.physics.isothermal import Fluid, isothermal
from muphy_lb.physics.model import STENCIL, STREAM_COLLIDE, Field, FieldValue, Stage
from tests.support import Setup, advance, build_engine, random_nodes, start_at_rest

CLOSED = BorderValues(np.array([STEP]), np.array([0.0]), n_walls=0)
AXES = [int(np.flatnonzero((D2Q9.c == vector).all(axis=1))[0]) for vector in ((1, 0, 0), (-1, 0, 0))]


def upwind(values, n, lattice, parameters):
    """One-sided differences along x, and fading: the specification."""
    fading, ux = parameters
    u, east, west = ux[n], values[AXES[0]], values[AXES[1]]
    return (1.0 - fading) * values[0] - np.where(u > 0, u * (values[0] - west), u * (east - values[0]))


def upwind_node(lattice, precision, jit):
    """The same for one node."""
    east, west, one = *AXES, precision.real(1)

    def update(values, n, parameters):
        u = parameters[1][n]
        slope = values[0] - values[west] if u > 0 else values[east] - values[0]
        return (one - parameters[0]) * values[0] - u * slope

    return jit(update)


@dataclass(frozen=True)
class DyeSetup(Setup):
    """A flow along x with a dye."""

    def model(self):
        """Isothermal flow, and a stage behind every collision."""
        flow = isothermal(D2Q9, Fluid(self.rates), "pull", (1e-4, 0.0, 0.0), UNIFORM, KEEP_VELOCITY)
        kept = tuple(FieldValue(f"u{axis}") for axis in "xyz")
        dye = [
            Stage(STENCIL, (Operator("dye", upwind, upwind_node),), s.part, "dye", (0.01, kept[0])) for s in flow.stages
        ]
        pairs = zip(flow.stages, dye, strict=True)
        stages = sum(((s, d) if s.skeleton == STREAM_COLLIDE else (s,) for s, d in pairs), ())
        fields = (Field("dye", CLOSED), *(Field(value.field) for value in kept))
        omega, *force = flow.parameters
        return replace(flow, stages=stages, fields=fields, parameters=(omega, *kept, *force))


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_a_dye_fades_as_it_is_told_and_is_carried_along(backend):
    nodes = random_nodes(D2Q9, openings=False, periodic=(True, True, True))
    engine = start_at_rest(build_engine(nodes, DyeSetup(D2Q9, backend=backend)))
    engine.fields.set("dye", np.ones(1))
    assert np.allclose(advance(engine, 30).fields.get("dye", engine.parity), 0.99**30, rtol=1e-12)
    engine.fields.set("dye", nodes.coordinates()[engine.domain.number, 0] == 3)
    spread = advance(engine, 20).fields.get("dye", engine.parity)
    assert spread.max() < 1.0 and np.count_nonzero(spread) > 2 * np.count_nonzero(nodes.coordinates()[:, 0] == 3)
