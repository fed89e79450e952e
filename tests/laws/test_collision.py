"""What a collision must keep and what it must change, whoever computes it."""

from itertools import permutations, product

import numpy as np
import pytest

from muphy_lb.backends.cpu.skeletons import node_jit
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.lattice import BASES, D2Q9, LATTICES
from muphy_lb.operators import (
    AFTER_COLLISION,
    BEFORE_COLLISION,
    BGK,
    COMPRESSIBLE,
    CONSTANT,
    CUMULANT,
    EQUILIBRIA,
    INCOMPRESSIBLE,
    MRT,
    RECURSIVE_REGULARISED,
    REGULARISED,
    STOKES,
    TRT,
    macroscopic,
    mrt,
    mrt_for,
)
from muphy_lb.operators.operator import rest_populations
from tests.laws.collisions import (
    OMEGA,
    Case,
    N,
    after,
    at_equilibrium,
    before,
    by_node,
    by_reference,
    cases,
    compiled_cases,
    density_and_velocity,
    moments,
    moving_state,
    non_equilibrium_stress,
    plain,
)

pytestmark = pytest.mark.pairs

# Round-off of sums of some twenty terms of order one.
ROUND_OFF = {None: 1e-14, FP64: 1e-14, FP32: 1e-6}
# Populations are about 1e-2; Newton's method of the closures stops at round-off of tau.
PARITY = {FP64: 1e-14, FP32: 1e-6}
PRECISIONS = pytest.mark.parametrize("precision", [FP64, FP32], ids=lambda precision: precision.name)
ALL = pytest.mark.parametrize("case", cases(), ids=str)
NEWTONIAN = pytest.mark.parametrize("case", cases([CONSTANT]), ids=str)
LINEAR = pytest.mark.parametrize("case", [case for case in cases([CONSTANT]) if case.relaxation.is_linear], ids=str)
ONE_EQUILIBRIUM = pytest.mark.parametrize("case", cases([CONSTANT], [COMPRESSIBLE]), ids=str)
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)


def largest(difference) -> float:
    """Largest absolute value."""
    return float(np.abs(difference).max())


def gained(case: Case, precision=None) -> np.ndarray:
    """(4, n) density and momentum that a collision adds."""
    stored = before(case, (precision or FP64).real)
    return moments(after(case, precision), case.lattice) - moments(stored, case.lattice)


@ALL
def test_collision_conserves_mass_and_changes_momentum_by_exactly_the_force(case):
    assert largest(gained(case) - np.append(0.0, case.force)[:, None]) < ROUND_OFF[None]


@ALL
def test_equilibrium_is_a_fixed_point(case):
    state = at_equilibrium(case)
    assert largest(by_reference(case.undriven, state) - state) < ROUND_OFF[None]


@ONE_EQUILIBRIUM
def test_the_specification_does_not_depend_on_the_nodes_beside_it_bit_by_bit(case):
    stored = before(case)
    alone = [by_reference(case, stored[:, [n]]) for n in range(N)]
    assert np.array_equal(np.concatenate(alone, axis=1), after(case))
    assert np.array_equal(by_reference(case, np.asfortranarray(stored)), after(case))


@ALL
@PRECISIONS
def test_the_node_function_is_the_specification_conserves_mass_and_changes_momentum_by_the_force(case, precision):
    assert largest(after(case, precision) - after(case)) < PARITY[precision]
    expected = np.append(0.0, case.force)[:, None]
    assert largest(gained(case, precision) - expected) < ROUND_OFF[precision]


@ALL
@PRECISIONS
def test_rest_stays_rest(case, precision):
    assert largest(by_node(case.undriven, np.zeros((case.lattice.q, 1)), precision)) == 0.0


@pytest.mark.parametrize("case", compiled_cases(), ids=str)
def test_the_compiled_node_function_is_the_specification(case):
    assert largest(by_node(case, before(case), FP64, node_jit) - after(case)) < PARITY[FP64]


@pytest.mark.parametrize("case", compiled_cases()[-2:], ids=str)
def test_the_node_function_compiled_in_single_precision_is_the_specification(case):
    single = before(case, np.float32)
    assert largest(by_node(case, single, FP32, node_jit) - by_reference(case, single)) < PARITY[FP32]


@NEWTONIAN
def test_velocity_is_the_same_before_and_after_collision(case):
    (rho, u), (rho_after, u_after) = (
        density_and_velocity(case, stored, half_force)
        for stored, half_force in ((before(case), BEFORE_COLLISION), (after(case), AFTER_COLLISION))
    )
    assert max(largest(rho - rho_after), largest(u - u_after)) < 1e-15


@LINEAR
def test_collision_relaxes_the_deviatoric_stress_by_omega(case):
    case, stored = case.undriven, before(case)
    state = density_and_velocity(case, stored, BEFORE_COLLISION)
    stress, stress_after = (non_equilibrium_stress(case, f, *state) for f in (stored, by_reference(case, stored)))
    assert largest(stress) > 1e-3 and largest(stress_after - (1 - OMEGA) * stress) < 1e-15


@LINEAR
def test_the_force_adds_its_power_to_the_deviatoric_stress(case):
    """Guo's second moment: (1 - omega/2) (u F + F u), tensor product; nothing where second order is dropped."""
    equilibrium, (rho, u) = case.equilibrium, moving_state(case.lattice)
    f_eq = equilibrium.populations(rho, u, case.lattice)
    momentum_only = case.lattice.w[:, None] * 3 * (case.lattice.c @ case.force)[:, None]
    stored = f_eq - momentum_only / 2 - rest_populations(case.lattice)
    stress = non_equilibrium_stress(case, by_reference(case, stored), rho, u)
    power = u[:, None] * case.force[:, None] + (u[:, None] * case.force[:, None]).transpose(1, 0, 2)
    axes = np.diag(np.arange(3) < case.lattice.dimension)[:, :, None]
    expected = (1 - OMEGA / 2) * (power - axes * np.trace(power) / case.lattice.dimension)
    assert largest(stress - (0 if equilibrium is STOKES else expected)) < 1e-15


def rotations_and_mirrors(dimension: int) -> list[np.ndarray]:
    """(3, 3) matrices of the cube's symmetries that keep unused axes."""
    signs = product((1, -1), repeat=dimension)
    axes = permutations(range(dimension))
    unused = np.eye(3)[dimension:]
    return [
        np.vstack((np.array(sign)[:, None] * np.eye(3)[list(order)], unused)) for sign, order in product(signs, axes)
    ]


def permutation(lattice, symmetry) -> np.ndarray:
    """(Q,) number of the vector that the symmetry maps vector q to."""
    images = (symmetry @ lattice.c.T).T
    return np.array([lattice.vectors.index(tuple(int(x) for x in image)) for image in images])


@pytest.mark.parametrize("case", cases(equilibria=[COMPRESSIBLE]), ids=str)
def test_collision_commutes_with_rotations_and_mirrors(case):
    for symmetry in rotations_and_mirrors(case.lattice.dimension)[::5]:
        image = permutation(case.lattice, symmetry)
        stored, expected = np.empty((2, case.lattice.q, N))
        stored[image], expected[image] = before(case), after(case)
        assert largest(by_reference(case.turned(symmetry), stored) - expected) < 1e-14


@EVERY_LATTICE
@pytest.mark.parametrize("relaxing", [(BGK, ()), (TRT, (0.25,)), (MRT, (0.25,)), (REGULARISED, ())])
def test_omega_one_without_force_forgets_all_but_density_and_velocity(lattice, relaxing):
    case = Case(lattice, *relaxing, omega=1.0).undriven
    rho, u = density_and_velocity(case, before(case), BEFORE_COLLISION)
    expected = case.equilibrium.populations(rho, u, lattice) - rest_populations(lattice)
    assert largest(by_reference(case, before(case)) - expected) < 1e-15


@EVERY_LATTICE
def test_omega_two_without_force_is_its_own_inverse(lattice):
    case = Case(lattice, BGK, omega=2.0).undriven
    once = by_reference(case, before(case))
    twice = by_reference(case, once)
    assert largest(once - before(case)) > 1e-3 and largest(twice - before(case)) < 1e-15


@EVERY_LATTICE
def test_two_equal_rates_are_one(lattice):
    equal = Case(lattice, TRT, ((1 / OMEGA - 0.5) ** 2,))
    assert largest(after(equal, FP64) - after(Case(lattice, BGK))) < 1e-15


@EVERY_LATTICE
@pytest.mark.parametrize("kind", ["viscosity", "constant"])
def test_equal_rates_of_all_moments_are_one(lattice, kind):
    families = [family for family in BASES[lattice.name].adjustable if family != "shear"]
    constants = () if kind == "viscosity" else (OMEGA,) * len(families)
    equal = Case(lattice, mrt(tuple((family, kind) for family in families)), (0.1, *constants))
    assert largest(after(equal, FP64) - after(Case(lattice, BGK))) < 1e-15


@EVERY_LATTICE
def test_one_rate_of_even_and_one_of_odd_moments_are_two_relaxation_times(lattice):
    assert largest(after(Case(lattice, MRT, (0.1,)), FP64) - after(Case(lattice, TRT, (0.1,)))) < 1e-15


@pytest.mark.parametrize("omega", [0.6, 1.0, 1.9])
def test_toelkes_rate_of_the_energy_flux_is_a_magic_parameter_of_three_sixteenths(omega):
    """Toelke (2008), Eq. (9): s_h = 8 (2 - s_nu) / (8 - s_nu)."""
    relaxation, rates = mrt_for(D2Q9, {"energy_flux": 8 * (2 - omega) / (8 - omega)})
    toelke, trt = Case(D2Q9, relaxation, rates, omega=omega), Case(D2Q9, TRT, (3 / 16,), omega=omega)
    assert largest(after(toelke) - after(trt)) < 1e-15 and largest(after(toelke, FP64) - after(trt)) < 1e-15


@EVERY_LATTICE
@PRECISIONS
def test_every_family_of_moments_relaxes_with_its_own_rate(lattice, precision):
    basis = BASES[lattice.name]
    rates = {family: 0.3 + 0.2 * k for k, family in enumerate(basis.adjustable) if family != "shear"}
    case = Case(lattice, *mrt_for(lattice, rates)).undriven
    rho, u = density_and_velocity(case, before(case), BEFORE_COLLISION)
    f_eq = case.equilibrium.populations(rho, u, lattice) - rest_populations(lattice)
    left, left_after = (basis.matrix @ (f - f_eq) for f in (before(case), after(case, precision)))
    kept = np.array([1 - (rates | {"shear": OMEGA}).get(family, 0.0) for family in basis.families])
    scale = np.abs(basis.matrix).sum(axis=1)[:, None]
    assert largest((left_after - kept[:, None] * left) / scale) < ROUND_OFF[precision] / 10


@ONE_EQUILIBRIUM
def test_regularisations_alone_keep_nothing_but_density_momentum_and_stress(case):
    """A disturbance that these do not see is forgotten by them, and by no other collision but cumulants in space, whose
    rates are 1 at this viscosity."""
    c, axes = case.lattice.c, range(case.lattice.dimension)
    seen = [np.ones(case.lattice.q), *c.T, *(c[:, i] * c[:, j] for i, j in product(axes, axes))]
    unseen = np.linalg.svd(np.array(seen))[2][np.linalg.matrix_rank(seen) :].T
    disturbed = before(case) + 0.01 * unseen @ np.random.default_rng(3).uniform(-1, 1, (unseen.shape[1], N))
    change = largest(by_reference(case, disturbed) - after(case))
    is_cumulant_in_space = case.relaxation is CUMULANT and case.lattice.dimension == 3
    forgets = is_cumulant_in_space or case.relaxation in (REGULARISED, RECURSIVE_REGULARISED)
    assert change < 1e-15 if forgets else change > 1e-4


@pytest.mark.parametrize("case", cases([CONSTANT], [STOKES]), ids=str)
@PRECISIONS
def test_stokes_collisions_superpose(case, precision):
    """Collisions are linear in populations and force: that of 2 a - 3 b is twice that of a less thrice that of b."""
    a, b = before(case), before(case)[:, ::-1]
    driven, free = by_node(case, a[:, :2], precision), by_node(case.undriven, b[:, :2], precision)
    both = by_node(case.turned(2 * np.eye(3)), (2 * a - 3 * b)[:, :2], precision)
    assert largest(both - (2 * driven - 3 * free)) < ROUND_OFF[precision]


@EVERY_LATTICE
@pytest.mark.parametrize("half_force", [BEFORE_COLLISION, AFTER_COLLISION])
@pytest.mark.parametrize("equilibrium", EQUILIBRIA.values(), ids=EQUILIBRIA)
def test_the_node_function_of_moments_is_the_specification(lattice, half_force, equilibrium):
    case, operator = Case(lattice, BGK, (), equilibrium), macroscopic(half_force, equilibrium)
    node, parameters = operator.compile(lattice, FP64, plain), case.stored_parameters(operator, FP64)
    found = np.array([node(f.copy(), n, parameters) for n, f in enumerate(before(case).T)]).T
    assert largest(found - operator.reference(before(case), np.arange(N), lattice, case.parameters)) < 1e-15


@pytest.fixture(
    params=product(LATTICES.values(), EQUILIBRIA.values()), ids=lambda pair: f"{pair[0].name}-{pair[1].name}"
)
def moving(request):
    """Lattice, equilibrium, density (n,), what velocities are multiplied with, velocity (3, n), populations (Q, n)."""
    lattice, equilibrium = request.param
    rho, u = moving_state(lattice)
    inertia = rho if equilibrium.is_compressible else np.ones(N)
    return lattice, equilibrium, rho, inertia, u, equilibrium.populations(rho, u, lattice)


def test_equilibrium_carries_its_density_and_momentum(moving):
    lattice, _, rho, inertia, u, f = moving
    assert largest(f.sum(axis=0) - rho) < 1e-15 and largest(lattice.c.T @ f - inertia * u) < 1e-15


def test_equilibrium_stress_is_pressure_and_advected_momentum(moving):
    lattice, equilibrium, rho, inertia, u, f = moving
    axes = slice(lattice.dimension)
    found = np.einsum("qi,qj,qn->ijn", lattice.c, lattice.c, f)
    advected = 0 if equilibrium is STOKES else inertia * u[:, None] * u[None]
    assert largest((found - np.eye(3)[:, :, None] * rho / 3 - advected)[axes, axes]) < 1e-15


def test_equilibrium_is_galilean_up_to_the_third_moment(moving):
    """Q_ijk = rho cs2 (u_i d_jk + u_j d_ik + u_k d_ij): exact to second order in u, as far as these sets reach."""
    lattice, _, _, inertia, u, f = moving
    momentum, axes, unit = inertia * u, slice(lattice.dimension), np.eye(3)
    found = np.einsum("qi,qj,qk,qn->ijkn", lattice.c, lattice.c, lattice.c, f)
    terms = [np.einsum(f"{a}n,{b}->ijkn", momentum, unit) for a, b in (("i", "jk"), ("j", "ik"), ("k", "ij"))]
    assert largest((found - sum(terms) / 3)[axes, axes, axes]) < 1e-15


@EVERY_LATTICE
def test_equilibria_agree_at_the_reference_density(lattice):
    _, u = moving_state(lattice)
    compressible, incompressible = (e.populations(np.ones(N), u, lattice) for e in (COMPRESSIBLE, INCOMPRESSIBLE))
    assert largest(compressible - incompressible) < 1e-15


@EVERY_LATTICE
def test_a_force_starts_a_stokes_flow_from_rest_with_its_momentum_alone(lattice):
    """f~ = w_q 3 c.F for every omega: half from f^eq at u = F/2, half from the source."""
    case = Case(lattice, BGK, (), STOKES)
    result = by_reference(case, np.zeros((lattice.q, 1)))
    assert largest(result - lattice.w[:, None] * 3 * (lattice.c @ case.force)[:, None]) < 1e-15
