"""A collision whose equilibrium energy depends on the temperature: e^eq + a T, Obrecht, Kuznik, Tourancheau, Roux,
Comput. Fluids 54, 118 (2012), Eq. (5).

The populations f - a T v collide, where v has a unit of energy and no other moment, and a T v is added again: with any
rate, the energy relaxes to that of the temperature. On D3Q19 this adds a T / 57 to the pressure, which does not affect
the flow once it has settled.

T is that of the buoyancy (:mod:`muphy_lb.physics.thermal.operators.buoyancy`).
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import BASES
from muphy_lb.operators.operator import Operator, joined, named
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.thermal.operators.buoyancy import TEMPERATURE_FIELD

COUPLING = "energy_coupling"


@cache
def with_energy(collide: Operator) -> Operator:
    """The collision with this energy."""

    def reference(stored, n, lattice, parameters):
        shift = _unit_energy(lattice)[:, None] * (parameters[COUPLING] * parameters[TEMPERATURE_FIELD][n])
        return collide.reference(stored - shift, n, lattice, parameters) + shift

    def node(lattice, precision, jit, at):
        onwards, q_count = collide.node(lattice, precision, jit, at), lattice.q
        coupling, field = at[COUPLING], at[TEMPERATURE_FIELD]
        energy = tuple(precision.real(x) for x in _unit_energy(lattice))
        unit = precision.real(precision.unit)

        def shifted(f, share):
            for q in range(q_count):
                f[q] += share * energy[q]

        shift = jit(unroll(shifted))

        def collide_with_energy(f, n, parameters):
            share = unit * parameters[coupling] * parameters[field][n]
            shift(f, -share)
            onwards(f, n, parameters)
            shift(f, share)

        return jit(collide_with_energy)

    parameters = joined(collide.parameters, named(COUPLING, TEMPERATURE_FIELD))
    return Operator(f"{collide.name}-energy", reference, node, parameters)


def _unit_energy(lattice):
    """(Q,) populations of which all moments but the energy vanish, which is 1."""
    basis = BASES[lattice.name]
    return np.array(basis.inverse, float)[:, basis.rows_of("bulk")[0]]
