"""A physics of one's own, through the contract of models alone: a dye that the flow carries and that fades."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from muphy_lb.domain import FLUX, ScalarBoundary
from muphy_lb.lattice import D2Q9
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import AT_NEIGHBOURS, STENCIL, Field, FieldValue, Stage
from muphy_lb.operators import STORE_VELOCITY, UNIFORM, VELOCITY_FIELDS, Operator
from muphy_lb.operators.operator import named
from tests.support import Setup, advance, build_engine, random_nodes, start_at_rest

CLOSED = ScalarBoundary(np.array([FLUX]), np.array([0.0]), n_walls=0)
AXES = [int(np.flatnonzero((D2Q9.c == vector).all(axis=1))[0]) for vector in ((1, 0, 0), (-1, 0, 0))]
SPEED, FADING = VELOCITY_FIELDS[0], "fading"


def upwind(values, n, lattice, parameters):
    """One-sided differences along x, and fading: the specification."""
    u, east, west = parameters[SPEED][n], values[AXES[0]], values[AXES[1]]
    faded = (1.0 - parameters[FADING]) * values[0]
    return faded - np.where(u > 0, u * (values[0] - west), u * (east - values[0]))


def upwind_node(lattice, precision, jit, at):
    """The same for one node."""
    east, west, one = *AXES, precision.real(1)
    fading, speed = at[FADING], at[SPEED]

    def update(values, n, parameters):
        u = parameters[speed][n]
        slope = values[0] - values[west] if u > 0 else values[east] - values[0]
        return (one - parameters[fading]) * values[0] - u * slope

    return jit(update)


DYE = Operator("dye", upwind, upwind_node, named(FADING, SPEED))


@dataclass(frozen=True)
class DyeSetup(Setup):
    """A flow along x with a dye."""

    def model(self):
        """Isothermal flow, and a stage behind its collision."""
        velocity = {name: FieldValue(name) for name in VELOCITY_FIELDS}
        values = velocity | {"force_x": 1e-4, "force_y": 0.0, "force_z": 0.0}
        flow = isothermal(D2Q9, Fluid(self.rates), self.streaming, values, UNIFORM, STORE_VELOCITY)
        parameters = {FADING: 0.01, SPEED: velocity[SPEED]}
        dye = Stage("dye", STENCIL, (DYE,), parameters, "dye", reads=("dye" + AT_NEIGHBOURS, SPEED), writes=("dye",))
        fields = (Field("dye", CLOSED), *(Field(name) for name in VELOCITY_FIELDS))
        return replace(flow, after=(dye,), fields=fields)


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_a_dye_fades_as_it_is_told_and_is_carried_along(backend):
    nodes = random_nodes(D2Q9, openings=False, periodic=(True, True, True))
    engine = start_at_rest(build_engine(nodes, DyeSetup(D2Q9, backend=backend)))
    engine.fields.set("dye", np.ones(1))
    assert np.allclose(advance(engine, 30).fields.get("dye", engine.parity), 0.99**30, rtol=1e-12)
    engine.fields.set("dye", nodes.coordinates()[engine.domain.number, 0] == 3)
    spread = advance(engine, 20).fields.get("dye", engine.parity)
    assert spread.max() < 1.0 and np.count_nonzero(spread) > 2 * np.count_nonzero(nodes.coordinates()[:, 0] == 3)
