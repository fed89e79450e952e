"""A physics of one's own, through the contract of models alone: a dye that the flow carries and that fades; and
several scalars at once, each some numbers of a :class:`muphy_lb.physics.scalar.CarriedScalar`."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, ScalarBoundary
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import AT_NEIGHBOURS, Field, FieldValue, Stage
from muphy_lb.operators import STORE_VELOCITY, UNIFORM, VELOCITY_FIELDS, Operator
from muphy_lb.operators.operator import named
from muphy_lb.physics.scalar import CarriedScalar, Condition, scalar_boundary
from tests.support import (
    THROUGH_FLOW,
    Ranks,
    Setup,
    advance,
    build_engine,
    plain_flow,
    random_nodes,
    random_owner,
    start_at_rest,
)

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
        dye = Stage("dye", (DYE,), parameters, reads=("dye" + AT_NEIGHBOURS, SPEED), writes=("dye",))
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


THROUGH = ScalarBoundary(np.array([FLUX, FIXED, OUTFLOW]), np.array([0.0, 2.0, 0.0]), n_walls=0)
ENTERING = ScalarBoundary(np.array([FLUX, FLUX, OUTFLOW]), np.zeros(3), n_walls=0)
AGE = CarriedScalar("age", 3, 0.05, ENTERING, production=1.0)
SALT = CarriedScalar("salt", 3, 0.02, THROUGH, initial=1.0)
RADON = CarriedScalar("radon", 3, 0.1, THROUGH, decay=0.03, initial=0.5)


@dataclass(frozen=True)
class CarryingSetup(Setup):
    """A flow with scalars."""

    scalars: tuple[CarriedScalar, ...] = (AGE, SALT, RADON)

    def model(self):
        """Isothermal flow, and a stage behind its collision for each scalar."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        for scalar in self.scalars:
            flow = flow.extended(scalar.name, scalar.carried_by)
        return flow.model()


def carried(nodes, setup, owner, n_steps=40, frozen_from=inf):
    """Values (n,) of every scalar and of its carrier in node-list order after some steps, by name."""
    ranks, found = Ranks(nodes, setup, owner), {}

    def start(engine):
        start_at_rest(engine)
        engine.frozen_from = frozen_from
        for scalar in setup.scalars:
            fields = scalar.carrier_start() | scalar.start(np.full(1, scalar.initial))
            for name, values in fields.items():
                engine.fields.set(name, values)

    ranks.each(start)
    ranks.step(n_steps)
    for name in (name for scalar in setup.scalars for name in (scalar.name, scalar.carrier)):
        found[name] = np.empty(nodes.n_nodes)
        for engine in ranks.engines:
            found[name][engine.domain.number] = engine.fields.get(name, engine.parity)
    return found


def test_several_scalars_go_together_on_any_ranks_bit_by_bit():
    nodes = random_nodes(D3Q19)
    setup, alone = CarryingSetup(D3Q19, "cpu", conditions=THROUGH_FLOW), np.zeros(nodes.n_nodes, int)
    together = carried(nodes, setup, alone)
    on_two, specified = (
        carried(nodes, setup, random_owner(nodes, 2)),
        carried(nodes, replace(setup, backend="numpy"), alone),
    )
    for scalar in setup.scalars:
        values = together[scalar.name]
        single = carried(nodes, replace(setup, scalars=(scalar,)), alone)[scalar.name]
        assert np.ptp(values) > 0.1 and np.array_equal(values, on_two[scalar.name]) and np.array_equal(values, single)
        np.testing.assert_allclose(specified[scalar.name], values, rtol=1e-11, atol=1e-13)


def test_a_frozen_flow_carries_on_any_ranks_bit_by_bit():
    nodes, setup = random_nodes(D3Q19), CarryingSetup(D3Q19, "cpu", conditions=THROUGH_FLOW)
    alone, on_two = (
        carried(nodes, setup, owner, frozen_from=17) for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 2))
    )
    flowing = carried(nodes, setup, np.zeros(nodes.n_nodes, int))
    for scalar in setup.scalars:
        assert np.array_equal(alone[scalar.name], on_two[scalar.name])
        assert not np.array_equal(alone[scalar.name], flowing[scalar.name])


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_a_scalar_decays_and_another_grows_exactly_as_the_scheme_does(backend):
    """The amounts in all fluid change by p - k T from the first step on: each step is the trapezoidal rule."""
    nodes = random_nodes(D2Q9, openings=False, periodic=(True, True, True))
    scalars = (
        CarriedScalar("radon", 2, 0.1, CLOSED, decay=0.03, initial=0.5),
        CarriedScalar("salt", 2, 0.05, CLOSED, production=0.2, initial=1.0),
    )
    setup = CarryingSetup(D2Q9, backend, force=(1e-4, 0.0, 0.0), scalars=scalars)
    found = carried(nodes, setup, np.zeros(nodes.n_nodes, int), 50)
    radon, salt = ((found[name] * (1.0 + found[f"{name}_carrier"])).mean() for name in ("radon", "salt"))
    assert radon == pytest.approx(0.5 * (0.985 / 1.015) ** 50, rel=1e-12)
    assert salt == pytest.approx(1.0 + 0.2 * 50, rel=1e-12)


def test_a_carrier_is_held_at_an_opening_even_where_scalars_flow_out_freely():
    def kinds(*at_openings):
        boundary = ScalarBoundary(np.array([FLUX, *at_openings]), np.zeros(3), n_walls=0)
        model = CarryingSetup(D3Q19, scalars=(replace(AGE, boundary=boundary),)).model()
        return next(field for field in model.fields if field.streaming).streaming.sets[0].boundary.kind.tolist()

    assert kinds(FLUX, OUTFLOW) == [FLUX, FIXED, OUTFLOW] and kinds(OUTFLOW, OUTFLOW) == [FLUX, FIXED, FIXED]


def test_two_physics_that_write_one_field_are_refused():
    other = replace(SALT, diffusivity=0.07, group="other", stored="other")
    with pytest.raises(InputError, match=r"\[salt\] writes salt, salt_memory, which another physics"):
        CarryingSetup(D3Q19, scalars=(SALT, other)).model()


def test_two_physics_that_declare_a_field_or_a_parameter_otherwise_are_refused():
    flow = plain_flow(D2Q9, Fluid([1.2]), "pull", (0.0,) * 3).with_fields(Field("dye")).given({FADING: 0.1})
    for extend, what in (
        (lambda flow: flow.with_fields(Field("dye", is_state=True)), "declares the field 'dye' otherwise"),
        (lambda flow: flow.given({FADING: 0.2}), "gives the parameter 'fading' another value"),
    ):
        with pytest.raises(InputError, match=rf"\[ink\] {what} than another physics of the case; keep one of them"):
            flow.extended("ink", extend)


def test_what_a_scalar_cannot_have_is_refused():
    nodes = random_nodes(D3Q19)
    given = scalar_boundary(nodes, {"in": Condition(FIXED, 2.0)})
    assert np.array_equal(given.kind, THROUGH.kind) and np.array_equal(given.value, THROUGH.value)
    with pytest.raises(InputError, match="'salt': carried by fluid, and nodes of the case lie in walls"):
        SALT.carried_by(replace(plain_flow(D3Q19, Fluid((1.0,)), "pull"), solid=np.zeros(1, int)))
