"""The stress that compiled code finds at nodes is that of the specification, of every equilibrium and closure."""

from itertools import cycle

import numpy as np
import pytest

from muphy_lb.base.precision import FP64
from muphy_lb.lattice import D3Q19, LATTICES
from muphy_lb.measure.shear.stress import NodeStress
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import BGK, CLOSURES, CONSTANT, EQUILIBRIA, SMAGORINSKY
from muphy_lb.operators.forces import COMPONENTS, FIELD
from muphy_lb.operators.operator import positions
from muphy_lb.operators.viscous_stress import viscous_stress
from tests.laws.collisions import CLOSING, OMEGA, Case, N, before, plain

# Of populations, which are about 1e-2; of laws, the error of Newton's method.
ROUND_OFF, OF_LAWS = 1e-15, 1e-10


def force(case: Case) -> np.ndarray:
    """(3, N) force that differs from node to node."""
    return case.force[:, None] * np.linspace(0.5, 1.5, N)


def parameters(case: Case) -> dict:
    """Those of the operator by name."""
    closing = zip((p.name for p in case.closure.parameters), CLOSING[case.closure.name], strict=True)
    return {"omega": OMEGA, **dict(closing), **dict(zip(COMPONENTS, force(case), strict=True))}


def specified(case: Case, stored: np.ndarray) -> np.ndarray:
    """(7, N) stress and viscosity by the specification."""
    operator = viscous_stress(case.equilibrium, case.closure, FIELD)
    return operator.reference(stored, np.arange(N), case.lattice, parameters(case))


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
@pytest.mark.parametrize(("equilibrium", "closure"), list(zip(cycle(EQUILIBRIA.values()), CLOSURES.values())))
def test_a_node_has_the_stress_of_the_specification(lattice, equilibrium, closure):
    case = Case(lattice, BGK, (), equilibrium, closure)
    stored, given = before(case), parameters(case)
    operator = viscous_stress(equilibrium, closure, FIELD)
    node = operator.node(lattice, FP64, plain, positions(operator.parameters))
    values = tuple(given[parameter.name] for parameter in operator.parameters)
    found = np.array([node(stored[:, n], n, values) for n in range(N)]).T
    expected = specified(case, stored)
    for rows in (slice(0, 6), slice(6, 7)):
        largest = np.abs(found[rows]).max()
        assert largest > 1e-4
        error = np.abs(found - expected)[rows].max()
        assert error < ROUND_OFF + OF_LAWS * largest * closure.needs_stress


@pytest.mark.parametrize("unit", [1.0, 2.0**15])
@pytest.mark.parametrize("closure", [CONSTANT, SMAGORINSKY], ids=lambda closure: closure.name)
def test_compiled_code_takes_the_mean_of_two_states(closure, unit):
    case = Case(D3Q19, BGK, (), closure=closure)
    first = before(case).astype(np.float32)
    second = np.float32(0.9) * first[:, ::-1]
    fluid = Fluid((OMEGA, *CLOSING[closure.name]), BGK, closure=closure)
    states = [(state * np.float32(unit)).ravel() for state in (first, second)]
    found = NodeStress(fluid, D3Q19).with_viscosity(states, unit, force(case))
    mean = 0.5 * (first.astype(np.float64) + second)
    np.testing.assert_allclose(found, specified(case, mean), atol=ROUND_OFF)
