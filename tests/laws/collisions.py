"""Every collision that can be put together, with parameters, and its ways to be computed: what the laws range over."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np

from muphy_lb.backends.cpu.skeletons import sweep_jit
from muphy_lb.base.precision import FP64, Precision
from muphy_lb.lattice import LATTICES, Lattice
from muphy_lb.operators import (
    BGK,
    CLOSURES,
    COMPRESSIBLE,
    CONSTANT,
    CUMULANT,
    EQUILIBRIA,
    REGULARISED,
    RELAXATIONS,
    Closure,
    Equilibrium,
    Operator,
    Relaxation,
    collision,
    macroscopic,
    mrt_for,
)
from muphy_lb.operators.operator import rest_populations
from tests.support import random_populations

N = 4
OMEGA = 1.3
FORCE = (1e-2, -2e-2, 3e-2)
ALL_CLOSURES, ALL_EQUILIBRIA = tuple(CLOSURES.values()), tuple(EQUILIBRIA.values())
RATE = 0.1
"""Of every parameter of a relaxation after omega."""
# Chosen so that the viscosities that the random states of these tests call for lie inside the bounds, and on them.
CLOSING = {
    "constant": (),
    "smagorinsky": (0.17,),
    "power_law": (0.02, 0.6, 1e-3, 0.5),
    "carreau_yasuda": (0.3, 0.01, 50.0, 0.64, 0.3, 0.0, 0.2),
    "casson": (0.05, 0.1, 1e-3, 0.5),
}


@dataclass(frozen=True)
class Case:
    """A collision on a lattice; ``rates`` are the relaxation's after omega."""

    lattice: Lattice
    relaxation: Relaxation
    rates: tuple[float, ...] = ()
    equilibrium: Equilibrium = COMPRESSIBLE
    closure: Closure = CONSTANT
    omega: float = OMEGA
    drive: tuple[float, float, float] = FORCE

    @property
    def options(self) -> tuple[str, ...]:
        """Names of what it consists of."""
        relaxing = self.relaxation.name + ("-tuned" if self.relaxation not in RELAXATIONS.values() else "")
        return self.lattice.name, relaxing, self.equilibrium.name, self.closure.name

    def __str__(self):
        return "-".join(self.options)

    @property
    def force(self) -> np.ndarray:
        """(3,) body force, along the axes that the lattice has."""
        return np.array(self.drive) * (np.arange(3) < self.lattice.dimension)

    @property
    def operator(self) -> Operator:
        """The collision."""
        return collision(self.relaxation, self.equilibrium, self.closure)

    @property
    def parameters(self) -> dict[str, float]:
        """Of the collision, by name: rates, closure, force."""
        force = (float(x) for x in self.force)
        return self.operator.by_name((self.omega, *self.rates, *CLOSING[self.closure.name], *force))

    def stored_parameters(self, operator: Operator, precision: Precision) -> tuple:
        """Of the node function of the collision, or of another operator: typed scalars in the operator's order, in
        stored units where it says so."""
        real = precision.real
        units = (real(precision.unit if parameter.in_stored_units else 1.0) for parameter in operator.parameters)
        values = (real(self.parameters[parameter.name]) for parameter in operator.parameters)
        return tuple(unit * value for unit, value in zip(units, values, strict=True))

    @property
    def undriven(self):
        """The same without the force."""
        return replace(self, drive=(0.0, 0.0, 0.0))

    def turned(self, matrix):
        """The same with the force multiplied by a (3, 3) matrix."""
        return replace(self, drive=tuple(matrix @ self.force))


def relaxations(lattice: Lattice) -> list:
    """(relaxation, rates after omega): every relaxation that is for the lattice, and "mrt" with the rates of its
    authors where it has such."""
    relaxation, rates = mrt_for(lattice, magic=RATE)
    tuned = [(relaxation, rates)] if len(rates) > 1 else []
    named = [each for each in RELAXATIONS.values() if lattice.name in (each.lattices or (lattice.name,))]
    return [*((each, (RATE,) * (len(each.parameters) - 1)) for each in named), *tuned]


def cases(closures=ALL_CLOSURES, equilibria=ALL_EQUILIBRIA) -> list[Case]:
    """Every combination of lattice, relaxation, equilibrium and closure that there is."""
    return [
        Case(lattice, *relaxing, equilibrium, closure)
        for lattice in LATTICES.values()
        for relaxing, equilibrium, closure in product(relaxations(lattice), equilibria, closures)
        if relaxing[0].is_for(lattice.name, equilibrium.name)
    ]


def compiled_cases() -> list[Case]:
    """Few enough to compile; every relaxation, equilibrium, closure and lattice is among them."""
    firsts = {case.relaxation.name: case for case in reversed(cases())}  # the smallest lattice is the first
    turning = zip(ALL_EQUILIBRIA, ALL_CLOSURES, strict=False)
    tuned, rates = mrt_for(LATTICES["D3Q19"])
    return [
        *reversed(firsts.values()),
        *(Case(LATTICES["D2Q9"], BGK, (), *pair) for pair in turning),
        Case(LATTICES["D3Q27"], CUMULANT),
        Case(LATTICES["D3Q15"], BGK, (), COMPRESSIBLE, CLOSURES["casson"]),
        Case(LATTICES["D3Q19"], tuned, rates, COMPRESSIBLE, CLOSURES["carreau_yasuda"]),
        Case(LATTICES["D3Q27"], REGULARISED, (), EQUILIBRIA["incompressible"]),
    ]


def by_reference(case: Case, stored: np.ndarray) -> np.ndarray:
    """After collision, by the vectorised specification."""
    return case.operator.reference(stored, np.arange(stored.shape[1]), case.lattice, case.parameters)


def plain(function):
    """No compiler."""
    return function


def by_node(case: Case, stored: np.ndarray, precision: Precision = FP64, jit=plain) -> np.ndarray:
    """After collision, by the node function in a precision, node by node; in and out with rho_0 = 1."""
    collide = case.operator.compile(case.lattice, precision, jit)
    parameters = case.stored_parameters(case.operator, precision)
    result = stored.astype(precision.real) * precision.real(precision.unit)
    for_each_node(collide, plain if jit is plain else sweep_jit)(result, parameters)
    return result / precision.real(precision.unit)


@cache
def for_each_node(collide, jit):
    """A function of (Q, n) populations and parameters that calls a node function for every column."""

    @jit
    def each_node(populations, parameters):
        for n in range(populations.shape[1]):
            f = populations[:, n].copy()
            collide(f, n, parameters)
            populations[:, n] = f

    return each_node


def before(case: Case, real=np.float64) -> np.ndarray:
    """(Q, N) stored populations far from equilibrium, with rho_0 = 1."""
    return random_populations(case.lattice, N).astype(real)


@cache
def after(case: Case, precision: Precision | None = None) -> np.ndarray:
    """After the collision of :func:`before`: by the specification, or in plain Python in a precision."""
    if precision is None:
        return by_reference(case, before(case))
    return by_node(case, before(case, precision.real), precision)


def moving_state(lattice: Lattice, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Random density (n,) and velocity (3, n), along the axes that the lattice has."""
    rng = np.random.default_rng(2)
    axes = (np.arange(3) < lattice.dimension)[:, None]
    return rng.uniform(0.9, 1.1, n), rng.uniform(-0.1, 0.1, (3, n)) * axes


def at_equilibrium(case: Case) -> np.ndarray:
    """(Q, N) stored populations in equilibrium with random density and velocity."""
    rho, velocity = moving_state(case.lattice)
    populations = case.equilibrium.populations if case.relaxation.is_linear else gaussian
    return populations(rho, velocity, case.lattice) - rest_populations(case.lattice)


def gaussian(rho: np.ndarray, u: np.ndarray, lattice: Lattice) -> np.ndarray:
    """(Q, n) populations with all moments that the set has of a Gaussian of variance 1/3 about the velocity."""
    one_axis = [np.ones_like(u), u, u**2 + 1 / 3]
    powers = lattice.c % 3
    moments = [rho * np.prod([one_axis[e][axis] for axis, e in enumerate(power)], axis=0) for power in powers]
    monomials = [np.prod(lattice.c**power, axis=1) for power in powers]
    return np.linalg.solve(np.array(monomials, float), np.array(moments))


def moments(stored: np.ndarray, lattice: Lattice) -> np.ndarray:
    """Density deviation and momentum (4, n) in double precision."""
    f = np.asarray(stored, np.float64)
    return np.concatenate((f.sum(axis=0)[None], lattice.c.T @ f))


def density_and_velocity(case: Case, stored: np.ndarray, half_force: float) -> tuple[np.ndarray, np.ndarray]:
    """(n,) density and (3, n) velocity of populations ``BEFORE_COLLISION`` or ``AFTER_COLLISION``."""
    operator = macroscopic(half_force, case.equilibrium)
    deviation, *u = operator.reference(stored, np.arange(stored.shape[1]), case.lattice, case.parameters)
    return 1.0 + deviation, np.array(u)


def non_equilibrium_stress(case: Case, stored: np.ndarray, rho: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(3, 3, n) sum c c (f - f^eq) without its trace."""
    f_neq = stored + rest_populations(case.lattice) - case.equilibrium.populations(rho, u, case.lattice)
    axes = np.diag(np.arange(3) < case.lattice.dimension).astype(float)
    stress = np.einsum("qi,qj,qn->ijn", case.lattice.c, case.lattice.c, f_neq)
    return stress - axes[:, :, None] * np.trace(stress) / case.lattice.dimension
