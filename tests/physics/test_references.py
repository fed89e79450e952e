"""Reference solutions obey what they must obey for reasons other than the formula they are written in."""

from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.validation import flows
from muphy_lb.validation.flow import cavity, cylinders, rheology, schaefer_turek, spheres
from muphy_lb.validation.flow.couette import TaylorCouette
from muphy_lb.validation.flow.rheology import CarreauYasuda, Casson, PowerLaw
from muphy_lb.validation.flow.vortices import TaylorGreen
from muphy_lb.validation.flow.womersley import PipeWomersley, PlaneWomersley
from tests.physics import references

CARREAU = CarreauYasuda(at_rest=5.0, at_infinity=0.3, time=8.0, a=0.64, n=0.2128)
CASSON = Casson(k0=0.3, k1=0.7)
DERIVATIVE_STEP = 1e-3


def derivative(function, x, order=1, h=DERIVATIVE_STEP):
    """Central difference of sixth order (first derivative) or fourth (second)."""
    if order == 1:
        weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
        return sum(w * (function(x + k * h) - function(x - k * h)) for k, w in weights.items()) / h
    weights = {0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
    return sum(w * (function(x + k * h) + function(x - k * h)) / (1 + (k == 0)) for k, w in weights.items()) / h**2


def spline_integral(x, y):
    """Integral of the natural cubic spline through points in rising order of x."""
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    matrix = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    curvature = np.concatenate(([0.0], np.linalg.solve(matrix, 6.0 * np.diff(slope)), [0.0]))
    return np.sum(h * (y[:-1] + y[1:]) / 2.0 - h**3 * (curvature[:-1] + curvature[1:]) / 24.0)


def with_walls(coordinate, velocity, at_start, at_end):
    """Columns in rising order from 0 to 1, the walls added."""
    order = np.argsort(coordinate)
    return np.r_[0.0, coordinate[order], 1.0], np.r_[at_start, velocity[order], at_end]


# Poiseuille


def test_duct_flow_rate_is_the_integral_of_the_sine_series_of_the_velocity():
    m, n = np.ix_(*(np.pi * (2.0 * np.arange(500) + 1.0),) * 2)
    rate = np.sum(64.0 * 3.0 * 2.0 / (m * n) ** 2 / ((m / 3.0) ** 2 + (n / 2.0) ** 2))
    assert flows.duct_flow_rate(3.0, 2.0) == pytest.approx(rate, rel=1e-7)


def test_flat_duct_is_a_channel():
    flow = flows.duct_flow_rate(1e6, 2.0) / 2e6
    assert flow == pytest.approx(references.channel_mean_velocity(2.0, 1.0, 1.0), rel=1e-5)


def test_means_of_channel_and_pipe_are_those_of_their_profiles():
    points, weights = np.polynomial.legendre.leggauss(5)
    channel = flows.channel_velocity(points + 1.0, 2.0, 3.0, 0.7) @ weights / 2.0
    radius = 0.5 * (points + 1.0)
    pipe = np.pi * (radius * flows.pipe_velocity(radius, 1.0, 3.0, 0.7)) @ weights
    assert channel == pytest.approx(references.channel_mean_velocity(2.0, 3.0, 0.7))
    assert pipe == pytest.approx(flows.pipe_flow_rate(1.0, 3.0, 0.7))


# Womersley


def test_plane_womersley_obeys_the_momentum_balance():
    flow, y, time = PlaneWomersley(1.3, 0.2, 0.7, 2.0), np.array([-1.1, 0.0, 0.6]), 0.4
    change = derivative(lambda t: flow.velocity(y, t), time)
    friction = 0.2 * derivative(lambda s: flow.velocity(s, time), y, 2)
    np.testing.assert_allclose(change - friction, 0.7 * np.cos(2.0 * time), rtol=1e-8)


def test_pipe_womersley_obeys_the_momentum_balance():
    flow, r, time = PipeWomersley(1.3, 0.2, 0.7, 2.0), np.array([0.2, 0.6, 1.2]), 0.4
    slope = derivative(lambda s: flow.velocity(s, time), r)
    friction = 0.2 * (derivative(lambda s: flow.velocity(s, time), r, 2) + slope / r)
    change = derivative(lambda t: flow.velocity(r, t), time)
    np.testing.assert_allclose(change - friction, 0.7 * np.cos(2.0 * time), rtol=1e-8)


@pytest.mark.parametrize("kind", [PlaneWomersley, PipeWomersley])
@pytest.mark.parametrize("number", [0.5, 8.0, 25.0])
def test_womersley_sticks_to_the_wall(kind, number):
    flow = kind(1.0, 1.0, 1.0, number**2)
    assert np.abs([flow.velocity(1.0, time) for time in np.linspace(0.0, 1.0, 7)]).max() < 1e-15


@pytest.mark.parametrize("kind", [PlaneWomersley, PipeWomersley])
def test_mean_of_womersley_is_that_of_its_profile(kind):
    points, weights = np.polynomial.legendre.leggauss(40)
    flow, position = kind(1.0, 0.05, 1.0, 3.0), 0.5 * (points + 1.0)
    area = np.pi * position if kind is PipeWomersley else 0.5 * np.ones(40)
    mean = (area * flow.velocity(position, 0.7)) @ weights / (np.pi if kind is PipeWomersley else 1.0)
    assert flow.mean_velocity(0.7) == pytest.approx(mean, rel=1e-10)


def test_slow_womersley_is_poiseuille():
    position = np.linspace(0.0, 1.0, 5)
    plane, pipe = (kind(1.0, 1.0, 1.0, 1e-4) for kind in (PlaneWomersley, PipeWomersley))
    np.testing.assert_allclose(
        plane.velocity(position, 0.0), flows.channel_velocity(position + 1.0, 2.0, 1.0, 1.0), atol=1e-7
    )
    np.testing.assert_allclose(pipe.velocity(position, 0.0), flows.pipe_velocity(position, 1.0, 1.0, 1.0), atol=1e-7)


def test_fast_womersley_lags_a_quarter_period_in_the_core():
    flow = PlaneWomersley(1.0, 1.0, 3.0, 1e4)
    assert flow.velocity(0.0, 0.25 * 2.0 * np.pi / 1e4) == pytest.approx(3.0 / 1e4, rel=1e-6)


def test_womersley_refuses_a_flow_that_does_not_oscillate():
    with pytest.raises(InputError, match="frequency is 0.0; allowed: above 0"):
        PipeWomersley(1.0, 1.0, 1.0, 0.0)


# Rheology


@pytest.mark.parametrize("law", [CARREAU, Casson(0.3, 0.7, largest=50.0), PowerLaw(0.4, 0.6)])
def test_generalised_newtonian_flow_obeys_the_stress_balance(law):
    y = np.array([0.35, 0.6, 0.93])
    rate = -derivative(lambda s: rheology.channel_velocity(s, 1.0, 2.0, law), y)
    np.testing.assert_allclose(law(rate) * rate, 2.0 * y, rtol=1e-8)


def test_newtonian_limit_of_carreau_yasuda_is_poiseuille():
    y = np.linspace(-1.0, 1.0, 7)
    velocity = rheology.channel_velocity(y, 1.0, 2.0, CarreauYasuda(0.3, 0.3, 8.0, 0.64, 0.2))
    np.testing.assert_allclose(velocity, flows.channel_velocity(y + 1.0, 2.0, 2.0, 0.3), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [0.5, 0.7, 1.0, 1.6])
def test_power_law_formula_agrees_with_quadrature(n):
    law, y = PowerLaw(0.4, n), np.linspace(0.0, 1.0, 6)
    formula, general = references.power_law_channel_velocity, rheology.channel_velocity
    np.testing.assert_allclose(formula(y, 1.0, 2.0, law), general(y, 1.0, 2.0, law), rtol=1e-7, atol=1e-13)


def test_casson_formula_is_the_limit_of_a_large_largest_viscosity():
    y = np.linspace(0.0, 1.0, 6)
    limit = rheology.channel_velocity(y, 1.0, 2.0, Casson(0.3, 0.7, largest=1e9))
    np.testing.assert_allclose(references.casson_channel_velocity(y, 1.0, 2.0, CASSON), limit, rtol=1e-5)


def test_shear_rate_inverts_the_stress():
    rate = np.array([0.0, 1e-6, 1.0, 1e5])
    np.testing.assert_allclose(rheology.shear_rate(CARREAU(rate) * rate, CARREAU), rate, rtol=1e-12, atol=1e-20)


def test_limits_of_viscosity():
    assert CARREAU(0.0) == 5.0 and CARREAU(1e12) == pytest.approx(0.3, rel=1e-6)
    assert Casson(0.3, 0.7, 50.0)(0.0) == 50.0 and Casson(0.3, 0.7)(1e12) == pytest.approx(0.49, rel=1e-5)


# Taylor-Green, Taylor-Couette


@pytest.fixture
def vortices():
    """Vortices of unlike wave lengths, and points and a time at which to look."""
    x, y = np.array([0.1, 0.7, 2.0]), np.array([0.3, -0.4, 1.1])
    return SimpleNamespace(flow=TaylorGreen((1.0, 2.0), 0.6, 0.05), x=x, y=y, time=0.8)


def gradients(vortices, field):
    """Derivatives along x and y of a field of the vortices."""
    flow = getattr(vortices.flow, field)
    along_x = derivative(lambda s: flow(s, vortices.y, vortices.time), vortices.x)
    along_y = derivative(lambda s: flow(vortices.x, s, vortices.time), vortices.y)
    return along_x, along_y


def test_taylor_green_conserves_mass(vortices):
    along_x, along_y = gradients(vortices, "velocity")
    np.testing.assert_allclose(along_x[0] + along_y[1], 0.0, atol=1e-10)


def test_taylor_green_obeys_the_momentum_balance(vortices):
    v = vortices
    change = derivative(lambda t: v.flow.velocity(v.x, v.y, t), v.time)
    u_x, u_y = gradients(v, "velocity")
    stress_x, stress_y = gradients(v, "stress")
    friction = np.stack((stress_x[0] + stress_y[2], stress_x[2] + stress_y[1]))
    speed = v.flow.velocity(v.x, v.y, v.time)
    carried = speed[0] * u_x + speed[1] * u_y
    np.testing.assert_allclose(change + carried, friction - np.stack(gradients(v, "pressure")), atol=1e-9)


def test_taylor_green_strain_is_the_symmetric_velocity_gradient(vortices):
    v, (u_x, u_y) = vortices, gradients(vortices, "velocity")
    strain = np.stack((u_x[0], u_y[1], 0.5 * (u_y[0] + u_x[1])))
    np.testing.assert_allclose(v.flow.strain_rate(v.x, v.y, v.time), strain, atol=1e-10)


RINGS = TaylorCouette(10.6, 25.2, 0.7, -0.2, viscosity=0.3, density=1.2)


def test_taylor_couette_sticks_to_both_cylinders():
    np.testing.assert_allclose(RINGS.velocity([10.6, 25.2]), [0.7 * 10.6, -0.2 * 25.2], rtol=1e-14)


@pytest.mark.parametrize("r", [10.6, 15.0, 25.2])
def test_torque_is_the_same_through_every_ring(r):
    stress = -1.2 * 0.3 * r * derivative(lambda s: RINGS.velocity(s) / s, r)
    assert 2.0 * np.pi * r**2 * stress == pytest.approx(RINGS.torque_per_length(), rel=1e-9)


# Cavities


@pytest.mark.parametrize("reynolds", cavity.REYNOLDS_NUMBERS)
def test_no_net_flow_through_the_centre_lines_of_ghia(reynolds):
    """Both are closed walls: what rises on one side falls on the other. The gaps of the tables limit the sum."""
    through_u = spline_integral(*with_walls(*cavity.centre_line_u(reynolds), 0.0, 1.0))
    through_v = spline_integral(*with_walls(*cavity.centre_line_v(reynolds), 0.0, 0.0))
    assert abs(through_u) < 0.01 and abs(through_v) < 0.01


def test_the_misprint_of_ghia_breaks_the_balance_that_the_others_keep():
    x, v = cavity.centre_line_v(400)
    good = abs(spline_integral(*with_walls(x, v, 0.0, 0.0)))
    _, place, printed = cavity.MISPRINT
    assert place not in x
    assert abs(spline_integral(*with_walls(np.r_[x, place], np.r_[v, printed], 0.0, 0.0))) > 3.0 * good


@pytest.mark.parametrize("reynolds", [100, 1000])
def test_ghia_and_the_spectral_solution_agree_on_the_extrema_and_where_they_are(reynolds):
    best, (y, u), (x, v) = (
        find(reynolds) for find in (cavity.spectral_extrema, cavity.centre_line_u, cavity.centre_line_v)
    )
    for value, place, at, column in (
        (best.u_min, best.y_of_u_min, y[u.argmin()], u.min()),
        (best.v_max, best.x_of_v_max, x[v.argmax()], v.max()),
        (best.v_min, best.x_of_v_min, x[v.argmin()], v.min()),
    ):
        assert 0.96 < column / value < 1.0 and abs(at - place) < 0.01


def test_what_the_tables_lack_is_said():
    with pytest.raises(InputError, match="no spectral extrema at Reynolds number 400; allowed: 100, 1000"):
        cavity.spectral_extrema(400)
    with pytest.raises(InputError, match="lack Reynolds number 3200; allowed: 100, 400, 1000"):
        cavity.centre_line_u(3200)


def test_cubic_cavity_tends_to_its_walls():
    """Straight on from the last two points towards the wall, half the wall's distance further."""
    (x, v), (y, u) = cavity.velocity_along_lid(), cavity.velocity_normal_to_lid()
    assert np.all(np.diff(x) > 0.0) and np.all(np.diff(y) > 0.0)
    assert np.interp(-0.5, x, v) < 1.0 and 0.8 < v[0] + (v[1] - v[0]) / (x[1] - x[0]) * (-0.5 - x[0]) < 1.1
    assert abs(u[-1] + (u[-1] - u[-2]) / (y[-1] - y[-2]) * (0.5 - y[-1])) < 0.05


def test_lattice_solutions_of_the_cubic_cavity_converge_to_the_tables():
    coarse, fine = cavity.LATTICE_SOLUTIONS[48], cavity.LATTICE_SOLUTIONS[64]
    assert 1.7 < np.log(coarse.largest_v / fine.largest_v) / np.log(64 / 48) < 2.4
    assert 1.7 < np.log(coarse.largest_u / fine.largest_u) / np.log(64 / 48) < 2.4


# Cylinder in a channel, step


@pytest.mark.parametrize(("case", "reynolds"), [("2D-1", 20.0), ("2D-2", 100.0), ("2D-3", 100.0), ("3D-1Z", 20.0)])
def test_reynolds_numbers_of_the_benchmark(case, reynolds):
    assert references.reynolds(case) == pytest.approx(reynolds)


def test_converged_values_lie_in_the_intervals_of_1996():
    """But for the lift at Re 100, whose converged value is known to lie below its interval."""
    tables = (
        schaefer_turek.STEADY_2D,
        schaefer_turek.PERIODIC_2D,
        schaefer_turek.BEATING_2D,
        schaefer_turek.STEADY_3D,
    )
    outside = [
        name
        for table in tables
        for name, number in table.items()
        if number.value and number.interval and not number.interval[0] <= number.value <= number.interval[1]
    ]
    assert outside == ["largest_lift"]


# Cylinder and sphere arrays


@pytest.mark.parametrize("lattice", [spheres.SIMPLE, spheres.BODY])
def test_first_terms_of_the_series_of_spheres_are_hasimotos(lattice):
    """1 / K = 1 - A c^(1/3) + c + O(c^2): the powers 2/3, 4/3 and 5/3 are absent."""
    a = spheres.series_coefficients(lattice)
    inverse = [1.0]
    for order in range(1, 6):
        inverse.append(-sum(a[k] * inverse[order - k] for k in range(1, order + 1)))
    densest = spheres.DENSEST[lattice]
    expected = [1.0, -references.HASIMOTO[lattice] * densest ** (1.0 / 3.0), 0.0, densest, 0.0, 0.0]
    np.testing.assert_allclose(inverse, expected, atol=1e-4)


@pytest.mark.parametrize("fraction", [c for c in spheres.ZICK_HOMSY if c < 0.3])
def test_series_of_spheres_agrees_with_zick_and_homsy(fraction):
    assert spheres.series(spheres.SIMPLE, fraction) == pytest.approx(spheres.ZICK_HOMSY[fraction], abs=1.5e-3)


def known_drag():
    """(lattice, solid fraction, K, relative tolerance) where another solution than the lattice's is known."""
    yield from ((spheres.SIMPLE, c, spheres.ZICK_HOMSY[c], 0.005) for c in (0.125, 0.216, 0.5236))
    yield from ((spheres.BODY, c, spheres.series(spheres.BODY, c), 0.005) for c in (0.125, 0.216))


@pytest.mark.parametrize(("lattice", "fraction", "drag", "tolerance"), list(known_drag()))
def test_lattice_solutions_of_spheres_are_near_the_multipole_solutions(lattice, fraction, drag, tolerance):
    assert spheres.LATTICE_K[lattice, fraction][48] == pytest.approx(drag, rel=tolerance)


def test_series_of_spheres_refuses_spheres_that_nearly_touch():
    with pytest.raises(InputError, match="at solid fraction 0.5; allowed: 0 to 0.322"):
        spheres.series(spheres.SIMPLE, 0.5)


def test_permeability_of_dilute_spheres_is_that_of_stokes_drag():
    n_per_volume = 1e-4 / (4.0 / 3.0 * np.pi * 0.1**3)
    assert spheres.permeability(0.1, 1e-4, 1.0) == pytest.approx(1.0 / (6.0 * np.pi * 0.1 * n_per_volume))


@pytest.mark.parametrize("fraction", [c for c in cylinders.COLLOCATION if c in references.SANGANI_ACRIVOS])
def test_the_two_solutions_of_cylinders_agree(fraction):
    assert cylinders.COLLOCATION[fraction] == pytest.approx(references.SANGANI_ACRIVOS[fraction], rel=3e-4)


@pytest.mark.parametrize("fraction", [c for c in cylinders.COLLOCATION if c <= references.FITTED_LIMIT])
def test_series_of_cylinders_agrees_with_collocation(fraction):
    k = cylinders.permeability_number(fraction)
    if fraction <= references.FITTED_LIMIT:
        assert references.fitted_series(fraction) == pytest.approx(k, rel=3e-4)
    if fraction <= references.SERIES_LIMIT:
        assert references.toelke_series(fraction) == pytest.approx(k, rel=5e-4)


def test_toelkes_cylinders_fill_the_fraction_of_his_radius():
    assert pytest.approx(np.pi * 2.0**2 / 10.0**2) == cylinders.TOELKE_FRACTION
    assert cylinders.permeability_number(cylinders.TOELKE_FRACTION) == pytest.approx(0.4140398, abs=1e-7)
